package registrars

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/miekg/dns"
	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/effects/registrars/account"
	"fediversity.eu/slipway/effects/registrars/fake"
	"fediversity.eu/slipway/groups"
	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/report"
	"fediversity.eu/slipway/targets/task"
)

// scene is a domain at a registrar, with its name servers and those of its parent.
type scene struct {
	t         *testing.T
	registry  *fake.Registry
	first     *fake.Zone // at 127.0.0.11
	second    *fake.Zone // at 127.0.0.12
	key       *fake.SigningKey
	group     groups.Group
	variables map[string]string
	said      strings.Builder
	heard     func(text string) // what a run says, as it does
	out       bytes.Buffer
	record    *report.Record
}

// Take takes what a run says.
func (s *scene) Take(e report.Event) {
	fmt.Fprintln(&s.said, e.Level, e.Text)
	if s.heard != nil {
		s.heard(e.Text)
	}
}

const domain = "example.org"

func newScene(t *testing.T, registrar string) *scene {
	t.Helper()
	key, err := fake.NewKey(domain, true)
	assert.NilError(t, err)
	names := []string{"ns1.example.org", "ns2.example.org"}
	s := &scene{
		t: t, key: key, registry: fake.NewRegistry(domain, "a.other.net", "b.other.net"),
		first:  &fake.Zone{Domain: domain, Servers: names, Keys: []*fake.SigningKey{key}},
		second: &fake.Zone{Domain: domain, Servers: names, Keys: []*fake.SigningKey{key}},
		group:  groups.Group{Name: "operator", Delegations: []groups.Delegation{{}}},
	}
	servers, err := fake.Serve(map[string]dns.Handler{"127.0.0.11": s.first, "127.0.0.12": s.second, "127.0.0.13": fake.Parent{Registry: s.registry}})
	assert.NilError(t, err)
	t.Cleanup(servers.Close)
	api := fake.Start(registrar, s.registry)
	t.Cleanup(api.Close)
	s.variables = map[string]string{
		"DNS_DOMAIN": domain, "REGISTRAR": registrar, "REGISTRAR_TIMEOUT": "5s",
		"DELEGATION_NAME_SERVERS": "ns1.example.org 127.0.0.11\nns2 127.0.0.12", "DELEGATION_DNSKEY": key.Data(),
		"DELEGATION_PORT": fmt.Sprint(servers.Port), "DELEGATION_PARENT": "127.0.0.13", "DELEGATION_TIMEOUT": "5s",
	}
	maps.Copy(s.variables, api.Environment)
	return s
}

// run makes one run of a verb, as a program would.
func (s *scene) run(verb string) error {
	s.t.Helper()
	return s.runContext(s.t.Context(), verb)
}

func (s *scene) runContext(ctx context.Context, verb string) error {
	s.t.Helper()
	made := New().Task(s.group, verb)
	switch verb := made.(type) {
	case *apply:
		verb.pause = 5 * time.Millisecond
	case *plan:
		verb.pause = 5 * time.Millisecond
	case *verify:
		verb.pause = 20 * time.Millisecond
	}
	environment := env.Map(s.variables)
	if err := environment.Load(ctx, env.For{Alone: true}, made.Coordinates()...); err != nil {
		return &report.Fault{Code: report.Usage, What: "read the coordinates", Why: err}
	}
	if checker, ok := made.(task.Checker); ok {
		if err := checker.Check(environment); err != nil {
			return err
		}
	}
	s.said.Reset()
	s.record = &report.Record{}
	s.out.Reset()
	return made.Run(ctx, &task.Run{Program: "operator-registrars", Environment: environment, Log: report.NewLog(s), Out: &s.out, Record: s.record})
}

// expect runs a verb and looks at how it ends.
func (s *scene) expect(verb string, code report.Code, says string) {
	s.t.Helper()
	err := s.run(verb)
	assert.Equal(s.t, report.CodeOf(err), code, "%s: %v\n%s", verb, err, s.said.String())
	if says != "" {
		assert.ErrorContains(s.t, err, says)
	}
}

// zones changes what the name servers say while they serve.
func (s *scene) zones(change func()) {
	s.first.Lock()
	defer s.first.Unlock()
	s.second.Lock()
	defer s.second.Unlock()
	change()
}

// unsigned says that the domain is not signed.
func (s *scene) unsigned() { s.variables["DELEGATION_DNSKEY"] = "none" }

func every(t *testing.T, do func(t *testing.T, name string)) {
	t.Helper()
	for _, r := range table {
		t.Run(r.name, func(t *testing.T) { do(t, r.name) })
	}
}

func TestTheTableIsSorted(t *testing.T) {
	assert.Assert(t, slices.IsSortedFunc(table, func(a, b registrar) int { return strings.Compare(a.name, b.name) }))
	assert.Equal(t, valid(), "gandi, inwx, openprovider, ovh, porkbun, transip")
}

func TestEveryRegistrarDelegates(t *testing.T) {
	every(t, func(t *testing.T, name string) {
		s := newScene(t, name)
		s.expect("plan", report.Healthy, "")
		assert.Assert(t, s.record.Plan.Changes && !s.record.Changed)
		assert.Assert(t, strings.Contains(s.out.String(), "+ server ns1.example.org"), s.out.String())
		assert.Equal(t, len(s.registry.Writes()), 0, "a plan changes nothing")

		s.expect("apply", report.Healthy, "")
		assert.Assert(t, s.record.Changed)
		order := s.registry.Writes()
		if name == "transip" {
			assert.DeepEqual(t, order, []string{"servers", "keys"})
		} else {
			assert.DeepEqual(t, order[:3], []string{"host ns1.example.org", "host ns2.example.org", "servers"})
			assert.Equal(t, len(order), 4)
		}
		holds := s.registry.Holds()
		assert.DeepEqual(t, holds.Servers, []string{"ns1.example.org", "ns2.example.org"})
		assert.DeepEqual(t, holds.Hosts, map[string][]string{"ns1.example.org": {"127.0.0.11"}, "ns2.example.org": {"127.0.0.12"}})
		assert.Equal(t, len(holds.Keys)+len(holds.DS), 1)

		s.expect("apply", report.Healthy, "")
		assert.Assert(t, !s.record.Changed)
		assert.Equal(t, len(s.registry.Writes()), len(order), "a second run changes nothing")
		assert.Assert(t, strings.Contains(s.said.String(), "no changes"), "and says so")
		s.expect("plan", report.Healthy, "")
		assert.Equal(t, s.out.String(), "no changes: example.org is delegated as declared\n")
		assert.Assert(t, !s.record.Plan.Changes)
		s.expect("verify", report.Healthy, "")
	})
}

func TestEveryRegistrarTakesBack(t *testing.T) {
	every(t, func(t *testing.T, name string) {
		s := newScene(t, name)
		s.expect("apply", report.Healthy, "")
		before := len(s.registry.Writes())
		// ns2 goes, and the keys; the zone stays signed until nobody asks for it.
		s.unsigned()
		s.variables["DELEGATION_NAME_SERVERS"] = "ns1.example.org 127.0.0.11"
		s.expect("apply", report.Healthy, "")
		order := s.registry.Writes()[before:]
		want := map[string][]string{
			"transip": {"keys", "servers"}, "gandi": {"no key", "servers", "no host ns2.example.org"}, "inwx": {"no key", "servers", "no host ns2.example.org"},
			"openprovider": {"keys", "servers", "no host ns2.example.org"}, "ovh": {"keys", "servers", "no host ns2.example.org"},
			"porkbun": {"no ds", "servers", "no host ns2.example.org"},
		}
		assert.DeepEqual(t, order, want[name])
		holds := s.registry.Holds()
		assert.Equal(t, len(holds.Keys)+len(holds.DS), 0)
		assert.Equal(t, len(holds.Hosts), 1)
		s.expect("apply", report.Healthy, "")
		assert.Assert(t, !s.record.Changed)
	})
}

func TestEveryRegistrarChangesKeysAndAddresses(t *testing.T) {
	every(t, func(t *testing.T, name string) {
		s := newScene(t, name)
		s.expect("apply", report.Healthy, "")
		next, err := fake.NewKey(domain, true)
		assert.NilError(t, err)
		s.zones(func() { s.first.Keys, s.second.Keys = append(s.first.Keys, next), append(s.second.Keys, next) })
		s.variables["DELEGATION_DNSKEY"] = s.key.Data() + "\n" + next.Data()
		s.expect("apply", report.Healthy, "")
		s.expect("verify", report.Healthy, "")
		s.variables["DELEGATION_DNSKEY"] = next.Data()
		s.variables["DELEGATION_NAME_SERVERS"] = "ns1.example.org 127.0.0.11\nns2.example.org 127.0.0.12 ::1"
		s.expect("apply", report.Healthy, "")
		holds := s.registry.Holds()
		assert.Equal(t, len(holds.Keys)+len(holds.DS), 1)
		assert.Assert(t, slices.Contains(holds.Hosts["ns2.example.org"], "::1"))
		s.expect("apply", report.Healthy, "")
		assert.Assert(t, !s.record.Changed)
	})
}

func TestADSOfAKeyThatNobodyServesIsRefused(t *testing.T) {
	every(t, func(t *testing.T, name string) {
		s := newScene(t, name)
		other, err := fake.NewKey(domain, true)
		assert.NilError(t, err)
		s.variables["DELEGATION_DNSKEY"] = other.Data()
		for _, verb := range []string{"plan", "apply"} {
			says := "does not serve the DNSKEY %d"
			if name == "porkbun" {
				says = "serves no DNSKEY for the DS %d"
			}
			s.expect(verb, report.Refused, fmt.Sprintf(says, other.KeyTag()))
			assert.Equal(t, len(s.registry.Writes()), 0, "nothing is changed")
			assert.Assert(t, !s.record.Changed)
		}
	})
}

func TestTheNameServersAreAskedFirst(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*scene)
		code   report.Code
		says   string
	}{
		{"one that does not serve the domain", func(s *scene) { s.second.Lame = true }, report.Refused, "ns2.example.org (127.0.0.12) does not serve example.org: it answers REFUSED"},
		{"one without keys", func(s *scene) { s.second.Keys = nil }, report.Refused, "ns2.example.org (127.0.0.12) does not serve the DNSKEY"},
		{"a key that signs nothing", func(s *scene) { s.key.Active = false }, report.Refused, "no valid signature"},
		{"a signature of the past", func(s *scene) { s.first.Expired = true }, report.Refused, "ns1.example.org (127.0.0.11) has no valid signature"},
		{"one that says nothing", func(s *scene) {
			s.variables["DELEGATION_NAME_SERVERS"] = "ns1 127.0.0.11\nns2 127.0.0.14" // nobody listens there
		}, report.Unknown, "ns2.example.org (127.0.0.14) gives no answer"},
		{"one that says nothing, and one that is wrong", func(s *scene) {
			s.first.Lame = true
			s.variables["DELEGATION_NAME_SERVERS"] = "ns1 127.0.0.11\nns2 127.0.0.14"
		}, report.Refused, "does not serve example.org"},
		{"one that nobody finds", func(s *scene) {
			s.variables["DELEGATION_NAME_SERVERS"] = "ns1 127.0.0.11\nns2.example.net"
			s.variables["DELEGATION_RESOLVER"] = "127.0.0.14"
		}, report.Unknown, "find the addresses of ns2.example.net"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScene(t, "gandi")
			s.zones(func() { c.change(s) })
			s.expect("apply", c.code, c.says)
			assert.Equal(t, len(s.registry.Writes()), 0)
		})
	}
	t.Run("one with two addresses, of which one says nothing", func(t *testing.T) {
		s := newScene(t, "gandi")
		s.variables["DELEGATION_NAME_SERVERS"] = "ns1 127.0.0.11\nns2 127.0.0.12 127.0.0.14"
		s.expect("apply", report.Healthy, "")
		assert.Assert(t, strings.Contains(s.said.String(), "127.0.0.14"), "and it is said")
	})
	t.Run("an answer that does not fit", func(t *testing.T) {
		s := newScene(t, "gandi")
		s.zones(func() { s.first.Truncated = true })
		s.expect("apply", report.Healthy, "")
	})
}

func TestKeysDoNotStayBehind(t *testing.T) {
	s := newScene(t, "openprovider")
	s.expect("apply", report.Healthy, "")
	writes := len(s.registry.Writes())
	// The domain is to move to servers that sign with keys of their own.
	other, err := fake.NewKey(domain, true)
	assert.NilError(t, err)
	s.zones(func() { s.first.Keys = []*fake.SigningKey{other} })
	s.variables["DELEGATION_NAME_SERVERS"] = "ns1 127.0.0.11"
	for _, key := range []string{other.Data(), "none"} {
		s.variables["DELEGATION_DNSKEY"] = key
		s.expect("apply", report.Refused, "does not sign with a key that the parent vouches for now")
		assert.Equal(t, len(s.registry.Writes()), writes)
	}
	// The same holds where a name server that stays gets another address.
	s.variables["DELEGATION_DNSKEY"] = s.key.Data()
	s.variables["DELEGATION_NAME_SERVERS"] = "ns1 127.0.0.12\nns2 127.0.0.11"
	s.expect("apply", report.Refused, "ns2.example.org (127.0.0.11) does not serve the DNSKEY")
	assert.Equal(t, len(s.registry.Writes()), writes)
	s.variables["DELEGATION_NAME_SERVERS"] = "ns1 127.0.0.11"
	// With both keys, it may move.
	s.zones(func() { s.first.Keys = []*fake.SigningKey{other, s.key} })
	s.variables["DELEGATION_DNSKEY"] = other.Data()
	s.expect("apply", report.Healthy, "")
}

func TestWhatARegistrarAnswers(t *testing.T) {
	every(t, func(t *testing.T, name string) {
		trouble := func(status int, when func(n int) bool) func(string, string) int {
			var mu sync.Mutex
			n := 0
			return func(string, string) int {
				mu.Lock()
				defer mu.Unlock()
				n++
				if when(n) {
					return status
				}
				return 0
			}
		}
		t.Run("rate limits at first", func(t *testing.T) {
			s := newScene(t, name)
			s.registry.Trouble = trouble(429, func(n int) bool { return n%3 != 0 })
			s.expect("apply", report.Healthy, "")
		})
		t.Run("rate limits for ever", func(t *testing.T) {
			s := newScene(t, name)
			s.variables["REGISTRAR_TIMEOUT"] = "100ms"
			s.registry.Trouble = trouble(429, func(int) bool { return true })
			s.expect("apply", report.Unknown, "HTTP 429")
			assert.Assert(t, !s.record.Changed)
		})
		t.Run("errors of its own when it reads", func(t *testing.T) {
			s := newScene(t, name)
			s.variables["REGISTRAR_TIMEOUT"] = "100ms"
			s.registry.Trouble = trouble(500, func(int) bool { return true })
			s.expect("plan", report.Unknown, "HTTP 500")
		})
		t.Run("nothing", func(t *testing.T) {
			s := newScene(t, name)
			s.variables["REGISTRAR_TIMEOUT"] = "100ms"
			s.registry.Trouble = trouble(fake.Hang, func(int) bool { return true })
			s.expect("plan", report.Unknown, "not available")
		})
		t.Run("an error in the midst of a change", func(t *testing.T) {
			if name == "inwx" {
				return // all of its methods have one path
			}
			s := newScene(t, name)
			writes := 0
			s.registry.Trouble = func(method, path string) int {
				// The third change of any kind: the name servers, or the keys.
				if len(s.registry.Writes()) == 1 && method != "GET" && !strings.Contains(path, "get") && !strings.Contains(path, "auth") {
					writes++
					return 500
				}
				return 0
			}
			s.expect("apply", report.Unknown, "HTTP 500")
			assert.Assert(t, s.record.Changed)
			assert.Equal(t, writes, 1, "a change whose outcome is not known is not repeated")
			s.registry.Trouble = nil
			s.expect("apply", report.Healthy, "")
			s.expect("verify", report.Healthy, "")
		})
		t.Run("a page", func(t *testing.T) {
			s := newScene(t, name)
			s.registry.Trouble = trouble(302, func(int) bool { return true })
			s.expect("plan", report.Unknown, "not understood")
		})
		t.Run("no, to its credentials", func(t *testing.T) {
			s := newScene(t, name)
			for variable := range s.variables {
				if strings.HasPrefix(variable, strings.ToUpper(name)) && (strings.HasSuffix(variable, "TOKEN") || strings.HasSuffix(variable, "PASSWORD") || strings.HasSuffix(variable, "SECRET_KEY") || strings.HasSuffix(variable, "CONSUMER_KEY") || strings.HasSuffix(variable, "LOGIN")) {
					s.variables[variable] = "another-one"
				}
			}
			s.expect("apply", report.Refused, "denied")
			assert.Assert(t, !s.record.Changed)
		})
		t.Run("no such domain", func(t *testing.T) {
			s := newScene(t, name)
			s.registry.Domain = "example.net"
			s.expect("apply", report.Refused, "")
			assert.Equal(t, len(s.registry.Writes()), 0)
		})
		t.Run("later", func(t *testing.T) {
			s := newScene(t, name)
			s.registry.Delay = 5
			s.expect("apply", report.Healthy, "")
			s.expect("verify", report.Healthy, "")
		})
		t.Run("much later", func(t *testing.T) {
			s := newScene(t, name)
			s.variables["REGISTRAR_TIMEOUT"] = "200ms"
			s.registry.Delay = 1 << 30
			s.expect("apply", report.Unknown, "pending")
			assert.Assert(t, s.record.Changed)
		})
	})
}

func TestARegistryWithoutHosts(t *testing.T) {
	s := newScene(t, "ovh")
	s.registry.Joint = true
	s.expect("apply", report.Healthy, "")
	assert.DeepEqual(t, s.registry.Writes(), []string{"servers", "keys"})
	s.expect("apply", report.Healthy, "")
	assert.Assert(t, !s.record.Changed)
	s.expect("verify", report.Healthy, "")
	s.variables["DELEGATION_NAME_SERVERS"] = "ns1 127.0.0.11\nns2 127.0.0.12 ::1"
	s.expect("apply", report.Refused, "ns2.example.org has several addresses, and this registry takes one")
}

func TestVerify(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*scene)
		code   report.Code
		says   string
	}{
		{"another name server at the child", func(s *scene) { s.first.Servers = []string{"ns1.example.org", "ns3.example.org"} }, report.Failed, "has other name servers in example.org: ns1.example.org, ns3.example.org; there should be ns1.example.org, ns2.example.org"},
		{"a name server more than declared", func(s *scene) { s.variables["DELEGATION_NAME_SERVERS"] = "ns1 127.0.0.11" }, report.Failed, "127.0.0.13 delegates example.org elsewhere: to ns1.example.org, ns2.example.org; it should be ns1.example.org"},
		{"another address", func(s *scene) { s.variables["DELEGATION_NAME_SERVERS"] = "ns1 127.0.0.11\nns2 127.0.0.11" }, report.Failed, "has the address ns2.example.org 127.0.0.12; it should be ns2.example.org 127.0.0.11"},
		{"keys at the parent of what is not signed", func(s *scene) { s.unsigned() }, report.Failed, "has a DS of a key that is not declared"},
		{"a key that the parent has no DS of", func(s *scene) {
			other, err := fake.NewKey(domain, true)
			assert.NilError(s.t, err)
			s.first.Keys, s.second.Keys = append(s.first.Keys, other), append(s.second.Keys, other)
			s.variables["DELEGATION_DNSKEY"] += "\n" + other.Data()
		}, report.Failed, "127.0.0.13 has no DS of the key"},
		{"a key that the child lost", func(s *scene) { s.second.Keys = nil }, report.Failed, "does not serve the DNSKEY"},
		{"a name server that says nothing", func(s *scene) { s.second.Silent = true }, report.Unknown, "gives no answer"},
		{"a parent that says nothing", func(s *scene) { s.variables["DELEGATION_PARENT"] = "127.0.0.14" }, report.Unknown, "127.0.0.14 gives no answer"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScene(t, "gandi")
			s.expect("apply", report.Healthy, "")
			s.variables["DELEGATION_TIMEOUT"] = "100ms"
			if strings.Contains(c.name, "says nothing") {
				s.variables["DELEGATION_TIMEOUT"] = "1s"
			}
			s.zones(func() { c.change(s) })
			s.expect("verify", c.code, c.says)
		})
	}
	t.Run("before anything is delegated", func(t *testing.T) {
		s := newScene(t, "gandi")
		s.variables["DELEGATION_TIMEOUT"] = "100ms"
		s.expect("verify", report.Failed, "delegates example.org elsewhere")
	})
}

func TestVerifyWaits(t *testing.T) {
	s := newScene(t, "gandi")
	s.expect("apply", report.Healthy, "")
	zone := s.second
	s.zones(func() { zone.Servers = []string{"ns1.example.org"} })
	s.variables["DELEGATION_TIMEOUT"] = "1m"
	s.heard = func(text string) {
		if strings.Contains(text, "not yet") {
			zone.Lock()
			defer zone.Unlock()
			zone.Servers = []string{"ns1.example.org", "ns2.example.org"}
		}
	}
	s.expect("verify", report.Healthy, "")
	assert.Assert(t, strings.Contains(s.said.String(), "not yet"), "it did not wait")
}

func TestAnInterruptionIsOne(t *testing.T) {
	s := newScene(t, "gandi")
	ctx, cancel := context.WithCancelCause(t.Context())
	s.registry.Trouble = func(string, string) int {
		cancel(&report.Interruption{})
		return fake.Hang
	}
	assert.Equal(t, report.CodeOf(s.runContext(ctx, "apply")), report.Interrupted)
}

func TestSecretsAreNotSaid(t *testing.T) {
	every(t, func(t *testing.T, name string) {
		s := newScene(t, name)
		s.registry.Trouble = func(string, string) int { return 400 }
		err := s.run("apply")
		assert.Assert(t, err != nil)
		r, _ := find(name)
		keys, failed := env.Declared(r.credentials().keys)
		assert.NilError(t, failed)
		secrets := 0
		for _, k := range keys {
			if k.Secret {
				secrets++
				secret := s.variables[k.Name]
				assert.Assert(t, secret != "" && !strings.Contains(err.Error()+s.said.String()+s.out.String(), secret), k.Name)
			}
		}
		assert.Assert(t, secrets > 0)
	})
}

func TestCredentialsAreChecked(t *testing.T) {
	every(t, func(t *testing.T, name string) {
		s := newScene(t, name)
		r, _ := find(name)
		lacking := r.credentials().held().Lacks()
		keys, err := env.Declared(r.credentials().keys)
		assert.NilError(t, err)
		for _, variable := range lacking {
			assert.Assert(t, slices.ContainsFunc(keys, func(k env.Key) bool { return k.Name == variable }), variable)
			delete(s.variables, variable)
		}
		for _, verb := range []string{"apply", "plan"} {
			s.expect(verb, report.Usage, lacking[0]+": missing, and the registrar is "+name)
			s.expect(verb, report.Usage, lacking[len(lacking)-1]+": missing")
		}
		s.expect("validate", report.Healthy, "")
		s.variables["DELEGATION_TIMEOUT"] = "50ms"
		s.expect("verify", report.Failed, "delegates example.org elsewhere")
	})
	t.Run("in the clear", func(t *testing.T) {
		s := newScene(t, "gandi")
		s.variables["GANDI_URL"] = "http://api.example.com"
		s.expect("apply", report.Usage, "http://api.example.com: credentials go only over https")
	})
	t.Run("a key of TransIP", func(t *testing.T) {
		s := newScene(t, "transip")
		s.variables["TRANSIP_KEY"] = "no key at all"
		s.expect("apply", report.Usage, "TRANSIP_KEY is not in PEM form")
	})
	t.Run("one-time passwords of INWX", func(t *testing.T) {
		s := newScene(t, "inwx")
		s.variables["INWX_TOTP_SECRET"] = "0189 is not base32"
		s.expect("apply", report.Usage, "INWX_TOTP_SECRET is not base32")
		delete(s.variables, "INWX_TOTP_SECRET")
		s.expect("apply", report.Refused, "the account has one-time passwords")
	})
}

func TestRegistrarsThatHaveTheirLimits(t *testing.T) {
	keys := func(t *testing.T, n int) string {
		t.Helper()
		var lines []string
		for range n {
			k, err := fake.NewKey(domain, true)
			assert.NilError(t, err)
			lines = append(lines, k.Data())
		}
		return strings.Join(lines, "\n")
	}
	for _, c := range []struct {
		registrar string
		change    func(t *testing.T, s *scene)
		says      string
	}{
		{"ovh", func(t *testing.T, s *scene) { s.variables["DELEGATION_DNSKEY"] = keys(t, 5) }, "5 keys are given, and ovh takes 4"},
		{"inwx", func(_ *testing.T, s *scene) {
			s.variables["DELEGATION_DNSKEY"] = "256" + strings.TrimPrefix(s.key.Data(), "257")
		}, "flags are 256, and inwx takes only keys with 257"},
		{"transip", func(_ *testing.T, s *scene) {
			s.variables["DELEGATION_NAME_SERVERS"] = "ns1 127.0.0.1 127.0.0.2"
		}, "ns1.example.org has several addresses of one kind; transip takes one IPv4 and one IPv6 address"},
		{"openprovider", func(_ *testing.T, s *scene) {
			s.variables["DELEGATION_NAME_SERVERS"] = "ns1 ::1 ::2"
		}, "openprovider takes one IPv4 and one IPv6 address"},
		{"transip", func(_ *testing.T, s *scene) {
			s.group.Delegations[0].Hosts = []groups.NameServer{{Name: "ns9", Addresses: []string{"127.0.0.1"}}}
		}, "transip has addresses only for name servers of the domain"},
	} {
		t.Run(c.registrar+": "+c.says, func(t *testing.T) {
			s := newScene(t, c.registrar)
			c.change(t, s)
			s.expect("validate", report.Usage, c.says)
			s.expect("apply", report.Usage, c.says)
		})
	}
}

func TestOneTimePasswordsOfTheRFC(t *testing.T) {
	// RFC 6238 appendix B, of which these are the last six digits.
	for at, want := range map[int64]string{59: "287082", 1111111109: "081804", 1234567890: "005924", 20000000000: "353130"} {
		got, err := account.OneTime("GEZD GNBV GY3T QOJQ GEZD GNBV GY3T QOJQ", time.Unix(at, 0))
		assert.NilError(t, err)
		assert.Equal(t, got, want)
	}
}

func TestAddressesThatArePublic(t *testing.T) {
	for text, want := range map[string]bool{"192.0.2.1": true, "2001:db8::1": true, "10.0.0.1": false, "127.0.0.1": false, "fe80::1": false, "fd00::1": false, "::1": false} {
		assert.Equal(t, public(netip.MustParseAddr(text)), want, text)
	}
}
