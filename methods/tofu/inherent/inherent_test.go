package inherent

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"fediversity.eu/slipway/groups"
	"fediversity.eu/slipway/methods/tofu"
	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/report"
)

// full is a machine with both, and its coordinates.
func full(t *testing.T) *State {
	t.Helper()
	s := Of(groups.Machine{Name: "forge", Database: &groups.Database{Name: "forge", Owner: "forgejo"}, Mount: &groups.Mount{Path: "operator/forge", Version: 1}})
	e := env.Map(map[string]string{
		"DATABASE_HOST": "db.example.org", "DATABASE_ADMIN_PASSWORD": "of-the-admin", "DATABASE_PASSWORD": "of-the-owner",
		"VAULT_ADDR": "https://bao.example.org", "VAULT_TOKEN": "of-the-mounts",
	})
	assert.NilError(t, e.Load(t.Context(), env.For{Machine: "forge", Alone: true}, s.Coordinates(true)...))
	return s
}

func empty() tofu.Deployment {
	return tofu.Deployment{Files: map[string][]byte{}, Vars: map[string]env.Secret{}}
}

func TestWhatIsNotDeclaredIsNotThere(t *testing.T) {
	s := Of(groups.Machine{Name: "web"})
	d := empty()
	assert.NilError(t, s.Add(&d, true))
	assert.Equal(t, len(d.Files)+len(d.Vars)+len(s.Addresses())+len(s.Providers()), 0)
	assert.Equal(t, len(s.Coordinates(true)), 1, "where providers come from, for what a state may still hold")
	assert.Assert(t, !d.Keeps)
}

func TestSecretsAreInVariablesAlone(t *testing.T) {
	s, d := full(t), empty()
	assert.NilError(t, s.Add(&d, true))
	text := string(d.Files[file])
	for name, secret := range map[string]string{"database_admin_password": "of-the-admin", "database_password": "of-the-owner", "vault_token": "of-the-mounts"} {
		assert.Equal(t, d.Vars[name].Reveal(), secret)
		assert.Assert(t, !strings.Contains(text, secret))
		assert.Assert(t, cmp.Contains(text, `"`+name+`":{"default":null,"ephemeral":true,"sensitive":true,"type":"string"}`))
	}
	assert.Assert(t, cmp.Contains(text, `"password_wo":"${var.database_password}"`))
	_, there := d.Vars["database_ca"]
	assert.Assert(t, !there, "what is not given is null")

	quiet := empty()
	assert.NilError(t, s.Add(&quiet, false))
	assert.Equal(t, len(quiet.Vars), 0)
	assert.Assert(t, quiet.Reach == nil, "it asks nobody")
	assert.Equal(t, string(quiet.Files[file]), text, "one configuration serves all verbs")
}

func TestResources(t *testing.T) {
	s, d := full(t), empty()
	assert.NilError(t, s.Add(&d, true))
	var c struct {
		Provider map[string]map[string]any
		Resource map[string]map[string]map[string]any
	}
	assert.NilError(t, json.Unmarshal(d.Files[file], &c))
	assert.DeepEqual(t, c.Resource["postgresql_database"]["forge"], map[string]any{
		"name": "forge", "owner": "${postgresql_role.forge.name}", "lifecycle": map[string]any{"destroy": false},
	})
	assert.DeepEqual(t, c.Resource["vault_mount"]["forge"], map[string]any{
		"path": "operator/forge", "type": "kv", "options": map[string]any{"version": "1"}, "lifecycle": map[string]any{"destroy": false},
	})
	for kind, named := range c.Resource {
		assert.Equal(t, named["forge"]["lifecycle"].(map[string]any)["destroy"], false, kind)
	}
	assert.DeepEqual(t, s.Addresses(), []string{"postgresql_database.forge", "vault_mount.forge"})
	for name, p := range s.Providers() {
		version := p.(object)["version"].(string)
		assert.Assert(t, strings.HasPrefix(version, "= "), "%s %s", name, version)
		assert.Assert(t, c.Provider[name] != nil)
	}
	assert.Assert(t, d.Keeps)
	limit, err := time.ParseDuration(d.Env["VAULT_CLIENT_TIMEOUT"])
	assert.NilError(t, err)
	assert.Equal(t, c.Provider["postgresql"]["connect_timeout"], limit.Seconds())
	assert.Assert(t, d.Reach != nil)

	other := Of(groups.Machine{Name: "web", Mount: &groups.Mount{Path: "keys", Type: "transit"}})
	d = empty()
	assert.NilError(t, other.Add(&d, false))
	assert.Assert(t, !strings.Contains(string(d.Files[file]), "options"))
	assert.Assert(t, !strings.Contains(string(d.Files[file]), "postgresql"))
}

func TestCoordinates(t *testing.T) {
	s := Of(groups.Machine{Name: "web", Database: &groups.Database{Name: "web"}})
	names := func(speaks bool) []string {
		keys, err := env.Declared(s.Coordinates(speaks)...)
		assert.NilError(t, err)
		var list []string
		for _, key := range keys {
			list = append(list, key.Name)
		}
		return list
	}
	assert.DeepEqual(t, names(false), []string{"TOFU_PROVIDER_MIRROR"})
	assert.Assert(t, slices.Contains(names(true), "DATABASE_PASSWORD"))
	assert.Assert(t, !slices.Contains(names(true), "VAULT_TOKEN"))
}

func TestPasswordsThatTheProviderDoesNotSetAreRefused(t *testing.T) {
	for _, c := range []struct{ name, password, says string }{
		{"a word", "of-the-owner", ""},
		{"other signs", `o'w"n%e$r/ {}`, ""},
		{"the word within", "nullify", ""},
		{"a backslash", `of\the-owner`, "DATABASE_PASSWORD: holds a backslash"},
		{"one at the end", `owner\`, "DATABASE_PASSWORD: holds a backslash"},
		{"the word", "null", "DATABASE_PASSWORD: is the word for none"},
		{"in any case", "NuLL", "DATABASE_PASSWORD: is the word for none"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := full(t)
			s.database.Password = env.NewSecret(c.password)
			assert.NilError(t, s.Check(false), "a verb that does not speak with the server has none")
			err := s.Check(true)
			if c.says == "" {
				assert.NilError(t, err)
				return
			}
			assert.ErrorContains(t, err, c.says)
			assert.Equal(t, report.CodeOf(err), report.Usage)
			assert.Assert(t, len(report.Hints(err)) > 0)
			assert.Assert(t, c.says == "DATABASE_PASSWORD: is the word for none" || !strings.Contains(err.Error(), c.password))
		})
	}
	assert.NilError(t, Of(groups.Machine{Name: "web", Mount: &groups.Mount{Path: "keys"}}).Check(true))
}

func TestTheHostOfADatabaseIsWrittenAsInAURL(t *testing.T) {
	for host, want := range map[string]string{
		"db.example.org": "db.example.org", "192.0.2.7": "192.0.2.7", "2001:db8::7": "[2001:db8::7]", "::1": "[::1]", "fe80::7%eth0": "[fe80::7%25eth0]",
	} {
		s, d := full(t), empty()
		s.database.Host = env.Host(host)
		assert.NilError(t, s.Add(&d, true))
		assert.Equal(t, d.Vars["database_host"].Reveal(), want)
	}
}
