package env_test

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/fs"

	"fediversity.eu/slipway/targets/env"
)

var (
	several = env.Group{Name: "hosting-provider", Among: true}
	sole    = env.Group{Name: "hypervisor", Sole: true, Among: true}
)

func TestLoadChoosesTheVariableByGroup(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		group  env.Group
		values map[string]string
		host   env.Host // of scope machine
		user   string   // of scope all
	}{
		"the machine's form wins over both": {
			several, map[string]string{"DB_1_SSH_USER": "machine", "HOSTING_PROVIDER_SSH_USER": "group", "SSH_USER": "plain"}, "h", "machine",
		},
		"the group's form wins over the plain one": {
			several, map[string]string{"HOSTING_PROVIDER_SSH_USER": "group", "SSH_USER": "plain"}, "h", "group",
		},
		"the machine's form wins over the group's": {
			several, map[string]string{"DB_1_SSH_USER": "machine", "HOSTING_PROVIDER_SSH_USER": "group"}, "h", "machine",
		},
		"the plain form serves every group": {several, map[string]string{"SSH_USER": "plain"}, "h", "plain"},
		"the group's form serves alone":     {several, map[string]string{"HOSTING_PROVIDER_SSH_USER": "group"}, "h", "group"},
		"an empty group's form hides nothing": {
			several, map[string]string{"HOSTING_PROVIDER_SSH_USER": "", "SSH_USER": "plain"}, "h", "plain",
		},
		"an empty machine's form does not hide the group's": {
			several, map[string]string{"DB_1_SSH_USER": "", "HOSTING_PROVIDER_SSH_USER": "group"}, "h", "group",
		},
		"another group's form is nothing": {
			several, map[string]string{"OPERATOR_SSH_USER": "other", "PROVIDER_SSH_USER": "other"}, "h", "root",
		},
		"a machine's own key of a group with one machine": {
			sole, map[string]string{"DB_1_SSH_HOST": "", "HYPERVISOR_SSH_HOST": "group", "SSH_HOST": "plain"}, "group", "root",
		},
		"and there the machine's form wins as well": {
			sole, map[string]string{"HYPERVISOR_SSH_HOST": "group"}, "h", "root",
		},
		"a machine's own key has no form of a group with several": {
			several, map[string]string{"HOSTING_PROVIDER_SSH_HOST": "group"}, "h", "root",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, ok := c.values["DB_1_SSH_HOST"]; !ok {
				c.values["DB_1_SSH_HOST"] = "h"
			}
			var byScope, byView ssh
			e := env.Map(c.values)
			assert.NilError(t, e.Load(t.Context(), env.For{Machine: "db-1", Group: c.group}, &byScope))
			assert.NilError(t, e.Within(c.group).Load(t.Context(), together, &byView))
			for _, got := range []ssh{byScope, byView} {
				assert.Equal(t, got.Host, c.host)
				assert.Equal(t, got.User, c.user)
			}
		})
	}
}

func TestVariablesOfAGroup(t *testing.T) {
	t.Parallel()
	host, key := env.Key{Name: "SSH_HOST", Scope: env.ScopeMachine}, env.Key{Name: "SSH_KEY", Scope: env.ScopeAll, Secret: true}
	for _, c := range []struct {
		scope env.For
		key   env.Key
		want  string
	}{
		{env.For{Group: several, Machine: "db-1"}, host, "DB_1_SSH_HOST"},
		{env.For{Group: several, Machine: "db-1", Alone: true}, host, "DB_1_SSH_HOST SSH_HOST"},
		{env.For{Group: sole, Machine: "db-1"}, host, "DB_1_SSH_HOST HYPERVISOR_SSH_HOST"},
		{env.For{Group: sole, Machine: "db-1", Alone: true}, host, "DB_1_SSH_HOST HYPERVISOR_SSH_HOST SSH_HOST"},
		{
			env.For{Group: several, Machine: "db-1"},
			key,
			"DB_1_SSH_KEY DB_1_SSH_KEY_FILE HOSTING_PROVIDER_SSH_KEY HOSTING_PROVIDER_SSH_KEY_FILE SSH_KEY SSH_KEY_FILE",
		},
		{env.For{Group: several}, key, "HOSTING_PROVIDER_SSH_KEY HOSTING_PROVIDER_SSH_KEY_FILE SSH_KEY SSH_KEY_FILE"},
		{env.For{Group: several}, host, "SSH_HOST"},
		{env.For{Group: several, Machine: "db-1"}, env.Key{Name: "LIMIT", Scope: env.ScopeRun}, "LIMIT"},
	} {
		assert.Equal(t, strings.Join(c.scope.Variables(c.key), " "), c.want)
	}
}

func TestSecretsOfAGroup(t *testing.T) {
	t.Parallel()
	dir := fs.NewDir(t, "secrets", fs.WithFile("key", "from file"))
	for name, c := range map[string]struct {
		values map[string]string
		want   string
		fault  string
	}{
		"a file of the group wins over the plain value": {
			values: map[string]string{"HOSTING_PROVIDER_SSH_KEY_FILE": dir.Join("key"), "SSH_KEY": "plain"}, want: "from file",
		},
		"a value of the group wins over the plain file": {
			values: map[string]string{"HOSTING_PROVIDER_SSH_KEY": "group", "SSH_KEY_FILE": dir.Join("key")}, want: "group",
		},
		"a value of the machine wins over the group's file": {
			values: map[string]string{"DB_1_SSH_KEY": "machine", "HOSTING_PROVIDER_SSH_KEY_FILE": dir.Join("key")}, want: "machine",
		},
		"both of one group": {
			values: map[string]string{"HOSTING_PROVIDER_SSH_KEY": "group", "HOSTING_PROVIDER_SSH_KEY_FILE": dir.Join("key")},
			fault:  "HOSTING_PROVIDER_SSH_KEY: set together with HOSTING_PROVIDER_SSH_KEY_FILE",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.values["DB_1_SSH_HOST"] = "web"
			var got ssh
			e := env.Map(c.values).Within(several)
			err := e.Load(t.Context(), together, &got)
			if c.fault != "" {
				assert.DeepEqual(t, problemsOf(t, err), []string{c.fault})
				return
			}
			assert.NilError(t, err)
			assert.Equal(t, got.Key.Reveal(), c.want)
			assert.Equal(t, e.Redactor().String("a "+c.want), "a [redacted]", "one redactor knows the secrets of all groups")
		})
	}
}

func TestWhatIsMissingIsToldForAllGroupsAtOnce(t *testing.T) {
	t.Parallel()
	type keys struct {
		Address env.Host `env:"INCUS_ADDRESS,required" desc:"address of the server"`
		Host    env.Host `env:"SSH_HOST,required" desc:"name of the machine" scope:"machine"`
	}
	e := env.Map(map[string]string{"SSH_HOST": "x"})
	var errs []error
	for _, c := range []struct {
		group    env.Group
		machines string
	}{{sole, "hv1"}, {several, "gateway state"}} {
		for machine := range strings.FieldsSeq(c.machines) {
			errs = append(errs, e.Within(c.group).Load(t.Context(), env.For{Machine: machine}, &keys{}))
		}
	}
	assert.Error(t, env.Join(errs...), `4 environment keys are missing or malformed:
  INCUS_ADDRESS: missing
      or, for one group: HYPERVISOR_INCUS_ADDRESS, HOSTING_PROVIDER_INCUS_ADDRESS
      valid: host name, IPv4 or IPv6 address
      meaning: address of the server
  HV1_SSH_HOST: missing; SSH_HOST counts only in a run of one machine
      or, for one group: HYPERVISOR_SSH_HOST
      valid: host name, IPv4 or IPv6 address
      meaning: name of the machine
  GATEWAY_SSH_HOST: missing; SSH_HOST counts only in a run of one machine
      valid: host name, IPv4 or IPv6 address
      meaning: name of the machine
  STATE_SSH_HOST: missing; SSH_HOST counts only in a run of one machine
      valid: host name, IPv4 or IPv6 address
      meaning: name of the machine`)
	quiet := env.Group{Name: "operator"}
	assert.Assert(t, !strings.Contains(e.Within(quiet).Load(t.Context(), env.For{Machine: "web"}, &keys{}).Error(), "OPERATOR_"))
	empty := env.Map(map[string]string{"HYPERVISOR_INCUS_ADDRESS": ""}).Within(sole)
	assert.DeepEqual(t, problemsOf(t, empty.Load(t.Context(), env.For{Machine: "hv1"}, &keys{})),
		[]string{"HYPERVISOR_INCUS_ADDRESS: empty", "HV1_SSH_HOST: missing"})
}

func TestShowTellsOfAGroupsForm(t *testing.T) {
	t.Parallel()
	list, err := env.Map(map[string]string{"HYPERVISOR_SSH_HOST": "a.example", "HYPERVISOR_SSH_USER": "u", "SSH_USER": "v"}).
		Within(sole).Show(t.Context(), env.For{Machine: "hv1"}, &shownKeys{})
	assert.NilError(t, err)
	var got []string
	for _, one := range list {
		got = append(got, one.Variable+"="+one.Value)
	}
	assert.Equal(t, strings.Join(got, " "), `HV1_SSH_PORT= HYPERVISOR_SSH_HOST="a.example" HYPERVISOR_SSH_USER="u" REPORT= SSH_KEY=`)
}

func TestAGivenValueCountsBeforeTheGroups(t *testing.T) {
	t.Parallel()
	keys, err := env.Declared(ssh{})
	assert.NilError(t, err)
	user := keys[len(keys)-1]
	e := env.Map(map[string]string{"SSH_HOST": "h"}).Within(several)
	given, err := e.Give(alone, user, "me")
	assert.NilError(t, err)
	var got ssh
	assert.NilError(t, given.Load(t.Context(), alone, &got))
	assert.Equal(t, got.User, "me")
	_, err = env.Map(map[string]string{"HOSTING_PROVIDER_SSH_USER": "other"}).Within(several).Give(alone, user, "me")
	assert.DeepEqual(t, problemsOf(t, err), []string{`HOSTING_PROVIDER_SSH_USER: "other", and "me" as an argument`})
}

func TestTyposInAGroupsForm(t *testing.T) {
	t.Parallel()
	declared := []env.Key{{Name: "SSH_HOST"}, {Name: "OPERATOR_MODULE_SOURCE"}, {Name: "SELF_MODULE_SOURCE"}}
	e := env.Map(map[string]string{
		"HOSTING_PROVIDER_SSH_HOTS": "x", "HOSTING_PROVIDER_SSH_HOST": "x", "OPERATOR_SELF_MODULE_SOURCE": "x",
		"OPERATOR_MODULE_SOURCE": "x", "OPERATOR_MODULE_SOURC": "x", "OTHER_SSH_HOTS": "x",
	})
	assert.DeepEqual(t, e.Typos(declared, []string{"web", "operator", "hosting-provider"}), []env.Typo{
		{"HOSTING_PROVIDER_SSH_HOTS", "HOSTING_PROVIDER_SSH_HOST"},
		{"OPERATOR_MODULE_SOURC", "OPERATOR_MODULE_SOURCE"},
	})
}
