package env_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/targets/env"
)

// shownKeys are keys of each kind.
type shownKeys struct {
	Host   env.Host   `env:"SSH_HOST,required" desc:"name or address" scope:"machine"`
	Port   env.Port   `env:"SSH_PORT,default=22" desc:"port" scope:"machine"`
	User   string     `env:"SSH_USER,default=root" desc:"user"`
	Key    env.Secret `env:"SSH_KEY,required" desc:"key"`
	Report env.Path   `env:"REPORT" desc:"file" scope:"run"`
}

func TestShow(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "key")
	assert.NilError(t, os.WriteFile(file, []byte("hush-hush-hush\n"), 0o600))
	for name, c := range map[string]struct {
		scope  env.For
		values map[string]string
		want   string
	}{
		"nothing set":               {env.For{}, nil, "REPORT=; SSH_HOST= missing; SSH_KEY= missing; SSH_PORT=; SSH_USER="},
		"set":                       {alone, map[string]string{"SSH_HOST": "a.example", "DB_1_SSH_PORT": "23", "SSH_KEY": "hush-hush-hush"}, `DB_1_SSH_PORT="23"; REPORT=; SSH_HOST="a.example"; SSH_KEY=[redacted]; SSH_USER=`},
		"as a file":                 {alone, map[string]string{"SSH_KEY_FILE": file}, `REPORT=; SSH_HOST= missing; SSH_KEY_FILE=[redacted]; SSH_PORT=; SSH_USER=`},
		"malformed":                 {alone, map[string]string{"SSH_PORT": "x", "SSH_KEY": "abc", "SSH_HOST": "a b"}, `REPORT=; SSH_HOST="a b" "a b" is neither a host name nor an address; SSH_KEY=[redacted] shorter than 4 bytes; SSH_PORT="x" "x" is not made of digits alone; SSH_USER=`},
		"in a run of several":       {together, map[string]string{"SSH_HOST": "a", "SSH_USER": "u", "REPORT": "/tmp/r"}, `DB_1_SSH_HOST= missing; SSH_HOST counts only in a run of one machine; DB_1_SSH_PORT=; REPORT="/tmp/r"; SSH_KEY= missing; SSH_USER="u"`},
		"a secret in another value": {alone, map[string]string{"SSH_KEY": "hush-hush-hush", "REPORT": "/tmp/hush-hush-hush", "SSH_HOST": "a"}, `REPORT="/tmp/[redacted]"; SSH_HOST="a"; SSH_KEY=[redacted]; SSH_PORT=; SSH_USER=`},
		"a file that is not there":  {alone, map[string]string{"SSH_KEY_FILE": "/nonexistent/key", "SSH_HOST": "a"}, `REPORT=; SSH_HOST="a"; SSH_KEY_FILE= "/nonexistent/key" does not exist; SSH_PORT=; SSH_USER=`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			list, err := env.Map(c.values).Show(t.Context(), c.scope, &shownKeys{})
			assert.NilError(t, err)
			var got []string
			for _, one := range list {
				text := one.Variable + "=" + one.Value
				if one.Problem != nil {
					text += " " + one.Problem.What
				}
				got = append(got, text)
			}
			assert.Equal(t, strings.Join(got, "; "), c.want)
			assert.Assert(t, !strings.Contains(fmt.Sprintf("%+v", list), "hush"))
		})
	}
}
