package env_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/targets/env"
)

var (
	alone    = env.For{Machine: "db-1", Alone: true}
	together = env.For{Machine: "db-1"}
)

func TestLoadFillsEveryField(t *testing.T) {
	t.Parallel()
	var one ssh
	var two struct {
		Inner struct {
			Layers layers `env:"VERSION_LAYERS" desc:"which side a layer comes from"`
		}
		Port  env.Port `env:"SSH_PORT,default=22" desc:"port of its ssh server" scope:"machine"`
		Other int
	}
	err := env.Map(map[string]string{
		"SSH_HOST": "[2001:db8::1]", "SSH_PORT": "2222", "SSH_KEY": "line one\nline two\n", "SSH_CONFIRM_TIMEOUT": "0",
		"SSH_REBOOT": "always", "VERSION_LAYERS": "operator", "UNDECLARED": "\x00",
	}).Load(t.Context(), env.For{}, &one, &two)
	assert.NilError(t, err)
	assert.Equal(t, one.Key.Reveal(), "line one\nline two\n")
	one.Key = env.Secret{}
	assert.Equal(t, one, ssh{
		Host: "2001:db8::1", Port: 2222, User: "root", Timeout: env.Duration(30 * time.Second), Reboot: "always",
	})
	assert.Equal(t, two.Inner.Layers.resources, "operator")
	assert.Equal(t, two.Port, env.Port(2222))
}

func TestLoadLeavesUnsetFieldsAlone(t *testing.T) {
	t.Parallel()
	coordinates := struct {
		A env.Names `env:"A" desc:"d"`
		B env.Port  `env:"B,default=22" desc:"d"`
		C env.Port  `env:"C" desc:"d"`
	}{A: env.Names{"kept"}, B: 1, C: 2}
	err := env.Map(map[string]string{"A": "", "C": "3"}).Load(t.Context(), env.For{}, &coordinates)
	assert.NilError(t, err)
	assert.DeepEqual(t, coordinates.A, env.Names{"kept"})
	assert.Equal(t, coordinates.B, env.Port(22))
	assert.Equal(t, coordinates.C, env.Port(3))
}

func TestLoadChoosesTheVariableByScope(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		scope  env.For
		values map[string]string
		host   env.Host // of scope machine
		user   string   // of scope all
	}{
		"plain names without a machine": {
			env.For{}, map[string]string{"SSH_HOST": "plain", "DB_1_SSH_HOST": "scoped", "SSH_USER": "u", "DB_1_SSH_USER": "s"}, "plain", "u",
		},
		"the machine's form wins alone": {
			alone, map[string]string{"SSH_HOST": "plain", "DB_1_SSH_HOST": "scoped", "SSH_USER": "u", "DB_1_SSH_USER": "s"}, "scoped", "s",
		},
		"the plain form serves alone": {
			alone, map[string]string{"SSH_HOST": "plain", "SSH_USER": "u"}, "plain", "u",
		},
		"together the plain form serves only keys for all": {
			together, map[string]string{"SSH_HOST": "plain", "DB_1_SSH_HOST": "scoped", "SSH_USER": "u"}, "scoped", "u",
		},
		"together the machine's form wins for keys for all": {
			together, map[string]string{"DB_1_SSH_HOST": "scoped", "SSH_USER": "u", "DB_1_SSH_USER": "s"}, "scoped", "s",
		},
		"an empty machine's form hides nothing": {
			alone, map[string]string{"SSH_HOST": "plain", "DB_1_SSH_HOST": "", "SSH_USER": "u", "DB_1_SSH_USER": ""}, "plain", "u",
		},
		"another machine's form is nothing": {
			alone, map[string]string{"SSH_HOST": "plain", "DB_SSH_HOST": "other", "DB_2_SSH_USER": "s"}, "plain", "root",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got ssh
			assert.NilError(t, env.Map(c.values).Load(t.Context(), c.scope, &got))
			assert.Equal(t, got.Host, c.host)
			assert.Equal(t, got.User, c.user)
		})
	}
}

func TestAKeyOfTheRunHasNoMachinesForm(t *testing.T) {
	t.Parallel()
	for _, scope := range []env.For{{}, alone, together} {
		var got struct {
			Limit env.Count `env:"LIMIT" scope:"run" desc:"d"`
		}
		assert.NilError(t, env.Map(map[string]string{"LIMIT": "3", "DB_1_LIMIT": "4"}).Load(t.Context(), scope, &got))
		assert.Equal(t, got.Limit, env.Count(3))
	}
}

func TestVariablesOfAScope(t *testing.T) {
	t.Parallel()
	host, user := env.Key{Name: "SSH_HOST", Scope: env.ScopeMachine}, env.Key{Name: "SSH_USER", Scope: env.ScopeAll}
	key, limit := env.Key{Name: "SSH_KEY", Scope: env.ScopeAll, Secret: true}, env.Key{Name: "LIMIT", Scope: env.ScopeRun}
	for _, c := range []struct {
		scope env.For
		key   env.Key
		want  string
	}{
		{env.For{}, host, "SSH_HOST"},
		{alone, host, "DB_1_SSH_HOST SSH_HOST"},
		{together, host, "DB_1_SSH_HOST"},
		{together, user, "DB_1_SSH_USER SSH_USER"},
		{together, key, "DB_1_SSH_KEY DB_1_SSH_KEY_FILE SSH_KEY SSH_KEY_FILE"},
		{env.For{}, key, "SSH_KEY SSH_KEY_FILE"},
		{alone, limit, "LIMIT"},
	} {
		assert.Equal(t, strings.Join(c.scope.Variables(c.key), " "), c.want)
	}
}

func TestLoadReportsWhatIsWrong(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		scope    env.For
		values   map[string]string
		problems []string
	}{
		"missing":                     {env.For{}, nil, []string{"SSH_HOST: missing"}},
		"missing alone":               {alone, nil, []string{"SSH_HOST: missing"}},
		"missing together":            {together, nil, []string{"DB_1_SSH_HOST: missing"}},
		"empty":                       {env.For{}, map[string]string{"SSH_HOST": ""}, []string{"SSH_HOST: empty"}},
		"empty in the machine's form": {alone, map[string]string{"DB_1_SSH_HOST": ""}, []string{"DB_1_SSH_HOST: empty"}},
		"plain where it does not count": {
			together,
			map[string]string{"SSH_HOST": "web"},
			[]string{"DB_1_SSH_HOST: missing; SSH_HOST counts only in a run of one machine"},
		},
		"everything at once, in the order of declaration": {
			together,
			map[string]string{
				"DB_1_SSH_PORT": "70000", "SSH_USER": "a\nb", "SSH_KEY": "abc", "SSH_CONNECT_TIMEOUT": "60",
				"DB_1_SSH_CONFIRM_TIMEOUT": "-1s", "SSH_REBOOT": "Always",
			},
			[]string{
				"DB_1_SSH_HOST: missing",
				`DB_1_SSH_PORT: "70000" is above 65535`,
				`SSH_USER: "a\nb" holds a line end or another control character`,
				"SSH_KEY: shorter than 4 bytes",
				`SSH_CONNECT_TIMEOUT: "60" has no unit`,
				`DB_1_SSH_CONFIRM_TIMEOUT: "-1s" is negative`,
				`SSH_REBOOT: "Always" is none of them`,
			},
		},
		"a long value": {
			env.For{},
			map[string]string{"SSH_HOST": strings.Repeat("ü", 61)},
			[]string{`SSH_HOST: "` + strings.Repeat("ü", 60) + `"… (61 characters) is neither a host name nor an address`},
		},
		"a secret in another variable, too": {
			env.For{},
			map[string]string{"SSH_HOST": "x y s3cr3t", "SSH_KEY": "s3cr3t"},
			[]string{`SSH_HOST: "x y [redacted]" is neither a host name nor an address`},
		},
		"a NUL in a secret": {
			env.For{}, map[string]string{"SSH_HOST": "web", "SSH_KEY": "s3cr\x003t"}, []string{"SSH_KEY: holds a NUL byte"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := env.Map(c.values).Load(t.Context(), c.scope, &ssh{})
			assert.DeepEqual(t, problemsOf(t, err), c.problems)
		})
	}
}

func TestLoadKeepsTheWholeErrorOfADecoder(t *testing.T) {
	t.Parallel()
	// layers is a struct, for which go-envconfig does not name the field.
	_, err := load[layers](t, "both")
	assert.DeepEqual(t, problemsOf(t, err), []string{`X: "both" is no side: unsupported operation`})
}

func TestProblemsReadLikeThis(t *testing.T) {
	t.Parallel()
	err := env.Map(map[string]string{"SSH_PORT": "abc", "SSH_KEY": "abc"}).Load(t.Context(), env.For{}, &ssh{})
	assert.Error(t, err, `3 environment keys are missing or malformed:
  SSH_HOST: missing
      valid: host name, IPv4 or IPv6 address
      meaning: name or address of the machine
  SSH_PORT: "abc" is not made of digits alone
      valid: port number from 1 to 65535
      meaning: port of its ssh server
  SSH_KEY: shorter than 4 bytes
      valid: secret text of at least 4 bytes, or in SSH_KEY_FILE the path of a file that holds it
      meaning: private key that opens the machine`)
	err = env.Map(nil).Load(t.Context(), env.For{}, &ssh{})
	assert.ErrorContains(t, err, "1 environment key is missing or malformed:\n")
}

func TestLoadRefusesWhatItCannotFill(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		into any
		want string
	}{
		"a struct":      {ssh{}, "env_test.ssh: is not a pointer to a struct to fill"},
		"a nil pointer": {(*ssh)(nil), "*env_test.ssh: is not a pointer to a struct to fill"},
		"a faulty one": {&struct {
			A int `env:"A" desc:"d"`
		}{}, "A A: has the unsupported type int; there are string and the types of env"},
		"a pointer to a map": {&map[string]string{}, "*map[string]string: is not a struct"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := env.Map(map[string]string{"SSH_HOST": "web"}).Load(t.Context(), env.For{}, c.into)
			assert.DeepEqual(t, faultsOf(t, err), []string{c.want})
		})
	}
}

func TestJoinMergesProblems(t *testing.T) {
	t.Parallel()
	e := env.Map(map[string]string{"SSH_CONNECT_TIMEOUT": "60"})
	var errs []error
	for _, machine := range []string{"web", "db-1"} {
		errs = append(errs, e.Load(t.Context(), env.For{Machine: machine}, &ssh{}))
	}
	want := []string{"WEB_SSH_HOST: missing", `SSH_CONNECT_TIMEOUT: "60" has no unit`, "DB_1_SSH_HOST: missing"}
	assert.DeepEqual(t, problemsOf(t, env.Join(errs[0], nil, fmt.Errorf("load db-1: %w", errs[1]))), want)

	other := errors.New("something else")
	both := env.Join(errs[0], other, errs[1])
	assert.DeepEqual(t, problemsOf(t, both), want)
	assert.ErrorIs(t, both, other)

	assert.ErrorIs(t, env.Join(other), other)
	assert.NilError(t, env.Join())
	assert.NilError(t, env.Join(nil, nil))
}

func TestLoadsRunSideBySide(t *testing.T) {
	t.Parallel()
	e := env.Map(map[string]string{"SSH_KEY": "line one is long\nline two is long", "SSH_HOST": "web"})
	out := e.Redactor().Writer(&strings.Builder{})
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			assert.Check(t, e.Load(context.WithoutCancel(t.Context()), env.For{}, &ssh{}) == nil)
			_, err := out.Write([]byte("line one is long"))
			assert.Check(t, err == nil)
		})
	}
	all.Wait()
}

// FuzzLoadNeverEchoesASecret holds every error text to the secrets of its load.
func FuzzLoadNeverEchoesASecret(f *testing.F) {
	f.Add("s3cr3t", "s3cr3t", "a s3cr3t b")
	f.Add("line one\nline two", "line one\nline two", "70000")
	f.Add("abc\x00def", "x", "\"abc\\x00def\"")
	f.Add(strings.Repeat("long", 40), "y", "0"+strings.Repeat("long", 40))
	f.Fuzz(func(t *testing.T, secret, host, other string) {
		if len(secret) < 4 || strings.Contains("[redacted]", secret) {
			return
		}
		values := map[string]string{
			"SSH_HOST": host, "SSH_PORT": other, "SSH_USER": host + secret, "SSH_KEY": secret, "SSH_CONNECT_TIMEOUT": secret,
			"SSH_CONFIRM_TIMEOUT": other + secret, "SSH_REBOOT": secret + other,
		}
		err := env.Map(values).Load(t.Context(), env.For{}, &ssh{})
		var problems *env.Problems
		if !errors.As(err, &problems) {
			return
		}
		for _, p := range problems.List {
			// The sentence around the value is the loader's own, and a fuzzer finds
			// secrets in it; so does it in the escapes of quoting.
			quoted, err := strconv.QuotedPrefix(p.What)
			if err != nil {
				continue
			}
			value, err := strconv.Unquote(quoted)
			if err != nil {
				t.Fatal(err)
			}
			for piece := range strings.SplitSeq(value, "[redacted]") {
				if strings.Contains(piece, secret) {
					t.Fatalf("%s echoes the secret: %s", p.Variable, p.What)
				}
			}
		}
	})
}

func BenchmarkLoad30Keys(b *testing.B) {
	type ten struct {
		A ssh
		H env.Names `env:"VERDICT_TOLERATE,default=a" desc:"d"`
		I env.Count `env:"PARALLELISM,default=10" desc:"d"`
		J env.Path  `env:"REPORT,default=/x" desc:"d"`
	}
	e := env.Map(map[string]string{"SSH_HOST": "web", "WEB_SSH_PORT": "2222", "SSH_KEY": "line one is long"})
	var a, c, d ten
	b.ReportAllocs()
	for b.Loop() {
		if err := e.Load(b.Context(), env.For{Machine: "web", Alone: true}, &a, &c, &d); err != nil {
			b.Fatal(err)
		}
	}
}
