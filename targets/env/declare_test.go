package env_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"fediversity.eu/slipway/targets/env"
)

// layers is a Value of a package's own.
type layers struct{ resources string }

func (l *layers) EnvDecode(value string) error {
	if value != "operator" && value != "provider" {
		return fmt.Errorf("is no side: %w", errors.ErrUnsupported)
	}
	l.resources = value
	return nil
}

func (l *layers) Valid() string { return "operator or provider" }

func TestDeclaredListsNestedAndMergedKeysByName(t *testing.T) {
	t.Parallel()
	type port struct {
		Port env.Port `env:"SSH_PORT,default=22" desc:"port of its ssh server" scope:"machine"`
	}
	type outer struct {
		port // embedded and unexported, with an exported field
		More struct {
			Layers layers `env:"VERSION_LAYERS,required" desc:"which side a layer comes from"`
		}
		Token env.Secret `env:"A_TOKEN" desc:"token, with commas, too"`
		cache map[string]string
		Plain int
	}
	keys, err := env.Declared(outer{}, &port{}, (*port)(nil))
	assert.NilError(t, err)
	assert.DeepEqual(t, keys, []env.Key{
		{Name: "A_TOKEN", Description: "token, with commas, too", Secret: true, Scope: env.ScopeAll, Type: "secret text of at least 4 bytes"},
		{Name: "SSH_PORT", Description: "port of its ssh server", Default: "22", Scope: env.ScopeMachine, Type: "port number from 1 to 65535"},
		{Name: "VERSION_LAYERS", Description: "which side a layer comes from", Required: true, Scope: env.ScopeAll, Type: "operator or provider"},
	})
	assert.Assert(t, outer{}.cache == nil)
}

func TestDeclaredReportsEveryFault(t *testing.T) {
	t.Parallel()
	type hidden struct {
		port env.Port `env:"P" desc:"d"`
	}
	type elsewhere struct {
		Port env.Port `env:"P" desc:"d"`
	}
	type sneaky struct{ env.Secret }
	for name, c := range map[string]struct {
		structs []any
		faults  []string
	}{
		"nothing described": {[]any{struct {
			A string `env:"A"`
		}{}}, []string{"A A: needs a desc tag of one line"}},
		"described in lines": {[]any{struct {
			A string `env:"A" desc:"a\nb"`
		}{}}, []string{"A A: needs a desc tag of one line"}},
		"names off the grammar": {
			[]any{struct {
				A string `env:"a_b" desc:"d"`
				B string `env:"A__B" desc:"d"`
				C string `env:"1A" desc:"d"`
				D string `env:"A_" desc:"d"`
				E string `env:"" desc:"d"`
				F string `env:" A" desc:"d"`
			}{}},
			[]string{
				"A a_b: the name does not match ^[A-Z][A-Z0-9]*(_[A-Z0-9]+)*$",
				"B A__B: the name does not match ^[A-Z][A-Z0-9]*(_[A-Z0-9]+)*$",
				"C 1A: the name does not match ^[A-Z][A-Z0-9]*(_[A-Z0-9]+)*$",
				"D A_: the name does not match ^[A-Z][A-Z0-9]*(_[A-Z0-9]+)*$",
				"E: the name does not match ^[A-Z][A-Z0-9]*(_[A-Z0-9]+)*$",
				"F  A: the name does not match ^[A-Z][A-Z0-9]*(_[A-Z0-9]+)*$",
			},
		},
		"a name that children get anyway": {
			[]any{struct {
				A env.Path `env:"HOME" desc:"d"`
			}{}},
			[]string{"A HOME: the name belongs to what every child process gets"},
		},
		"several faults of one field": {
			[]any{struct {
				A env.Secret `env:"a,required,default=x" scope:"node"`
			}{}},
			[]string{
				"A a: the name does not match ^[A-Z][A-Z0-9]*(_[A-Z0-9]+)*$",
				"A a: needs a desc tag of one line",
				`A a: has the scope "node"; there are machine and run, or no tag for all`,
				"A a: is required and has a default",
				"A a: is secret and has a default",
			},
		},
		"options": {
			[]any{struct {
				A string `env:"A,overwrite" desc:"d"`
				B string `env:"B,prefix=X_" desc:"d"`
				C string `env:"C,default=" desc:"d"`
				D string `env:"D,default=$HOME" desc:"d"`
				E string `env:"E, required" desc:"d"`
			}{}},
			[]string{
				`A A: has the option "overwrite"; there are required and default=`,
				`B B: has the option "prefix=X_"; there are required and default=`,
				"C C: has an empty default",
				`D D: has a $ or a \ in its default, which go-envconfig would expand`,
				`E E: has the option " required"; there are required and default=`,
			},
		},
		"defaults that are not valid": {
			[]any{struct {
				A env.Port `env:"A,default=22,required" desc:"d"`
				B string   `env:"B,default=maybe" desc:"d" oneof:"yes,no"`
			}{}},
			[]string{
				`A A: has the default "22,required", which is not made of digits alone`,
				`B B: has the default "maybe", which is none of them`,
			},
		},
		"types without a grammar": {
			[]any{struct {
				A int          `env:"A" desc:"d"`
				B *env.Port    `env:"B" desc:"d"`
				C []string     `env:"C" desc:"d"`
				D []env.Secret `env:"D" desc:"d"`
				E sneaky       `env:"E" desc:"d"`
			}{}},
			[]string{
				"A A: has the unsupported type int; there are string and the types of env",
				"B B: has the unsupported type *env.Port; there are string and the types of env",
				"C C: has the unsupported type []string; there are string and the types of env",
				"D D: has the unsupported type []env.Secret; there are string and the types of env",
				"E E: has the type env_test.sneaky, which holds a Secret and would be shown; use env.Secret",
			},
		},
		"choices": {
			[]any{struct {
				A env.Port `env:"A" desc:"d" oneof:"1,2"`
				B string   `env:"B" desc:"d" oneof:"a,,b"`
				C string   `env:"C" desc:"d" oneof:"a,a"`
			}{}},
			[]string{
				"A A: has a oneof tag, which is for plain strings, not for env.Port",
				`B B: has the oneof tag "a,,b", whose words are not all there and different`,
				`C C: has the oneof tag "a,a", whose words are not all there and different`,
			},
		},
		"keys out of reach": {
			[]any{hidden{}, struct {
				Inner struct{ hidden hidden }
				A     *elsewhere
				B     []elsewhere
				C     string `desc:"d"`
			}{}},
			[]string{
				"env_test.hidden.port: declares a key, but is not exported",
				"Inner.hidden.port: declares a key, but is not exported",
				"A: declares keys behind a ptr; nest the struct itself",
				"B: declares keys behind a slice; nest the struct itself",
				"C: is described, but has no env tag",
			},
		},
		"no structs": {[]any{nil, 7}, []string{"<nil>: is not a struct", "int: is not a struct"}},
		"one key with two meanings": {
			[]any{elsewhere{}, struct {
				A env.Count  `env:"P,default=2" desc:"e" scope:"machine"`
				B env.Secret `env:"P,required" desc:"d"`
			}{}},
			[]string{
				"A P: differs from env_test.elsewhere.Port in its description, default, scope, type",
				"B P: differs from env_test.elsewhere.Port in its type",
			},
		},
		"a secret named like a file": {
			[]any{struct {
				A env.Secret `env:"KEY_FILE" desc:"d"`
			}{}},
			[]string{"A KEY_FILE: is secret and ends in _FILE, as the variable does that names a secret's file"},
		},
		"a key named like a secret's file": {
			[]any{struct {
				A env.Secret `env:"KEY" desc:"d"`
				B env.Path   `env:"KEY_FILE" desc:"d"`
			}{}},
			[]string{"B KEY_FILE: is the file form of the secret KEY"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			keys, err := env.Declared(c.structs...)
			got := faultsOf(t, err)
			assert.DeepEqual(t, got, c.faults)
			assert.Assert(t, is.Len(keys, 0))
		})
	}
	_ = hidden{}.port
}

func TestKeyHasStableFieldNamesInJSON(t *testing.T) {
	t.Parallel()
	keys, err := env.Declared(struct {
		Host env.Host `env:"SSH_HOST,required" desc:"name or address" scope:"machine"`
	}{})
	assert.NilError(t, err)
	text, err := json.Marshal(keys)
	assert.NilError(t, err)
	assert.Equal(t, string(text), `[{"name":"SSH_HOST","description":"name or address","default":"","required":true,`+
		`"secret":false,"scope":"machine","type":"host name, IPv4 or IPv6 address"}]`)
}

func TestKeyNamesItsVariables(t *testing.T) {
	t.Parallel()
	assert.Equal(t, env.Key{Name: "SSH_HOST"}.Scoped("db-1"), "DB_1_SSH_HOST")
	assert.DeepEqual(t, env.Key{Name: "SSH_HOST"}.Variables(), []string{"SSH_HOST"})
	assert.DeepEqual(t, env.Key{Name: "SSH_KEY", Secret: true}.Variables(), []string{"SSH_KEY", "SSH_KEY_FILE"})
}

func TestCollisionsNamesEveryVariableWithTwoMeanings(t *testing.T) {
	t.Parallel()
	host := env.Key{Name: "SSH_HOST"}
	secret := env.Key{Name: "KEY", Secret: true}
	for name, c := range map[string]struct {
		keys     []env.Key
		machines []string
		groups   []string
		faults   []string
	}{
		"none":                   {[]env.Key{host, secret}, []string{"web", "db-1", "db"}, []string{"operator", "hosting-provider"}, nil},
		"no machine":             {[]env.Key{host, {Name: "WEB_SSH_HOST"}}, nil, nil, nil},
		"the same machine twice": {[]env.Key{host}, []string{"web", "web"}, nil, nil},
		"a key like a machine's form of another": {
			[]env.Key{host, {Name: "WEB_SSH_HOST"}},
			[]string{"web"},
			nil,
			[]string{`WEB_SSH_HOST: means ["SSH_HOST of machine web" "WEB_SSH_HOST"]`},
		},
		"machines whose forms meet": {
			[]env.Key{{Name: "A_B"}, {Name: "B"}},
			[]string{"db", "db-a"},
			nil,
			[]string{`DB_A_B: means ["A_B of machine db" "B of machine db-a"]`},
		},
		"a key like a group's form of another": {
			[]env.Key{{Name: "MODULE_SOURCE"}, {Name: "OPERATOR_MODULE_SOURCE"}},
			nil,
			[]string{"operator"},
			[]string{`OPERATOR_MODULE_SOURCE: means ["MODULE_SOURCE of group operator" "OPERATOR_MODULE_SOURCE"]`},
		},
		"a machine and a group of one name": {
			[]env.Key{host, {Name: "REPORT", Scope: env.ScopeRun}},
			[]string{"web"},
			[]string{"web"},
			[]string{`WEB_SSH_HOST: means ["SSH_HOST of group web" "SSH_HOST of machine web"]`},
		},
		"a key like a machine's secret file": {
			[]env.Key{secret, {Name: "WEB_KEY_FILE"}},
			[]string{"web"},
			nil,
			[]string{`WEB_KEY_FILE: means ["WEB_KEY_FILE" "the file of KEY of machine web"]`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := env.Collisions(c.keys, c.machines, c.groups)
			if c.faults == nil {
				assert.NilError(t, err)
				return
			}
			assert.DeepEqual(t, faultsOf(t, err), c.faults)
		})
	}
}

func TestAKeyIsRequiredWhereOneNeedsIt(t *testing.T) {
	type needs struct {
		Key env.Host `env:"SSH_HOST,required" desc:"d"`
	}
	type takes struct {
		Key env.Host `env:"SSH_HOST" desc:"d"`
	}
	for _, structs := range [][]any{{needs{}, takes{}}, {takes{}, needs{}}, {takes{}, needs{}, takes{}}} {
		keys, err := env.Declared(structs...)
		assert.NilError(t, err)
		assert.Equal(t, len(keys), 1)
		assert.Assert(t, keys[0].Required)
	}
}
