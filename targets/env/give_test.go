package env_test

import (
	"os"
	"path/filepath"
	"testing"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/targets/env"
)

func TestGive(t *testing.T) {
	web, alone, nobody := env.For{Machine: "web"}, env.For{Machine: "web", Alone: true}, env.For{}
	for _, c := range []struct {
		name    string
		set     map[string]string
		scope   env.For
		value   string
		port    env.Port
		problem string
	}{
		{"instead of a default", nil, alone, "2200", 2200, ""},
		{"for one machine of several", nil, web, "2200", 2200, ""},
		{"for no machine", nil, nobody, "2200", 2200, ""},
		{"alike in both places", map[string]string{"SSH_PORT": "2200"}, alone, "2200", 2200, ""},
		{"alike in the machine's form", map[string]string{"WEB_SSH_PORT": "2200"}, web, "2200", 2200, ""},
		{"beside a plain form that does not count", map[string]string{"SSH_PORT": "2201"}, web, "2200", 2200, ""},
		{"beside an empty variable", map[string]string{"WEB_SSH_PORT": ""}, web, "2200", 2200, ""},
		{"against the variable", map[string]string{"SSH_PORT": "2201"}, alone, "2200", 0, `SSH_PORT: "2201", and "2200" as an argument`},
		{"against the machine's form", map[string]string{"WEB_SSH_PORT": "2201", "SSH_PORT": "2200"}, web, "2200", 0, `WEB_SSH_PORT: "2201", and "2200" as an argument`},
	} {
		t.Run(c.name, func(t *testing.T) {
			keys, err := env.Declared(ssh{})
			assert.NilError(t, err)
			var port env.Key
			for _, k := range keys {
				if k.Name == "SSH_PORT" {
					port = k
				}
			}
			before := env.Map(c.set)
			after, err := before.Give(c.scope, port, c.value)
			if c.problem != "" {
				assert.DeepEqual(t, problemsOf(t, err), []string{c.problem})
				return
			}
			assert.NilError(t, err)
			var loaded struct {
				Port env.Port `env:"SSH_PORT,default=22" desc:"port of its ssh server" scope:"machine"`
			}
			assert.NilError(t, after.Load(t.Context(), c.scope, &loaded))
			assert.Equal(t, loaded.Port, c.port)
			var untouched struct {
				Port env.Port `env:"SSH_PORT,default=22" desc:"port of its ssh server" scope:"machine"`
			}
			assert.NilError(t, before.Load(t.Context(), env.For{Machine: "other", Alone: true}, &untouched))
			assert.Assert(t, untouched.Port != 2200 || c.set["SSH_PORT"] == "2200", "the environment itself is as it was")
		})
	}
}

func TestGiveSharesSecrets(t *testing.T) {
	const hush = "hush-hush-0123456789"
	file := filepath.Join(t.TempDir(), "key")
	assert.NilError(t, os.WriteFile(file, []byte(hush), 0o600))
	before := env.Map(map[string]string{"SSH_KEY_FILE": file})
	after, err := before.Give(env.For{}, env.Key{Name: "SSH_PORT"}, "2200")
	assert.NilError(t, err)
	var loaded struct {
		Key env.Secret `env:"SSH_KEY" desc:"private key that opens the machine"`
	}
	assert.NilError(t, after.Load(t.Context(), env.For{}, &loaded))
	assert.Equal(t, before.Redactor().String("it is "+hush), "it is [redacted]")
	assert.NilError(t, os.Remove(file)) // a pipe can be read once
	assert.NilError(t, before.Load(t.Context(), env.For{}, &loaded))
}
