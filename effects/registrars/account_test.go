package registrars

import (
	"context"
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
)

// briefly is how long a registrar may take that never does what it should. Its
// first answer must come within that.
const briefly = "1s"

func TestWhatARegistrarAnswers(t *testing.T) {
	every(t, func(t *testing.T, name string) {
		t.Parallel()
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
			s.variables["REGISTRAR_TIMEOUT"] = briefly
			s.registry.Trouble = trouble(429, func(int) bool { return true })
			s.expect("apply", report.Unknown, "HTTP 429")
			assert.Assert(t, !s.record.Changed)
		})
		t.Run("errors of its own when it reads", func(t *testing.T) {
			s := newScene(t, name)
			s.variables["REGISTRAR_TIMEOUT"] = briefly
			s.registry.Trouble = trouble(500, func(int) bool { return true })
			s.expect("plan", report.Unknown, "HTTP 500")
		})
		t.Run("nothing", func(t *testing.T) {
			s := newScene(t, name)
			s.variables["REGISTRAR_TIMEOUT"] = briefly
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
			s.variables["REGISTRAR_TIMEOUT"] = briefly
			s.registry.Delay = 1 << 30
			s.expect("apply", report.Unknown, "pending")
			assert.Assert(t, s.record.Changed)
		})
	})
}

func TestAnotherDigestOfTheSameKey(t *testing.T) {
	s := newScene(t, "porkbun")
	s.expect("apply", report.Healthy, "")
	before := len(s.registry.Writes())
	// Porkbun knows a record by its key tag alone, which both digests have.
	longer := s.key.ToDS(dns.SHA384)
	s.variables["DELEGATION_DNSKEY"], s.variables["DELEGATION_DS"] = "", strings.ToUpper(longer.String())
	s.expect("apply", report.Healthy, "")
	assert.DeepEqual(t, s.registry.Writes()[before:], []string{"no ds", "ds"})
	assert.Equal(t, s.registry.Holds().DS[0].Kind, int64(4))
	s.expect("verify", report.Healthy, "")
	s.expect("apply", report.Healthy, "")
	assert.Assert(t, !s.record.Changed)
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
		s.expect("apply", report.Refused, "the account has one-time passwords, and INWX_TOTP_SECRET is missing")
	})
}

func TestAOneTimePasswordServesOnce(t *testing.T) {
	t.Run("for all domains of a run", func(t *testing.T) {
		s := newScene(t, "inwx")
		s.registry.Others = []*fake.Registry{fake.NewRegistry("example.net", "a.other.net")}
		s.group.Delegations = append(s.group.Delegations, groups.Delegation{Domain: "example.net", NameServers: []groups.NameServer{{Name: "a.other.net"}}, Unsigned: true})
		for _, verb := range []string{"plan", "apply", "plan"} {
			began := s.clock.Load()
			s.expect(verb, report.Healthy, "")
			assert.Assert(t, s.clock.Load() < began+60, "nobody waited for another one")
		}
		assert.Assert(t, len(s.registry.Writes()) > 0)
		assert.Equal(t, len(s.registry.Others[0].Writes()), 0)
	})
	t.Run("so that the next run waits for another", func(t *testing.T) {
		s := newScene(t, "inwx")
		s.expect("plan", report.Healthy, "")
		s.hasty = true
		s.expect("apply", report.Healthy, "")
		s.expect("plan", report.Healthy, "")
	})
	t.Run("but a wrong secret is one", func(t *testing.T) {
		s := newScene(t, "inwx")
		s.variables["INWX_TOTP_SECRET"] = "MFRGGZDFMZTWQ2LK"
		s.expect("apply", report.Refused, "account.unlock: denied")
		assert.Assert(t, !s.record.Changed)
	})
}

// TestAChangeIsOfItsDomain has one account for two domains: that the first was
// changed says nothing of the second.
func TestAChangeIsOfItsDomain(t *testing.T) {
	s := newScene(t, "inwx")
	s.group.Delegations = append(s.group.Delegations, groups.Delegation{Domain: "example.net", NameServers: []groups.NameServer{{Name: "a.other.net"}}, Unsigned: true})
	err := s.run("apply")
	assert.Equal(t, report.CodeOf(err), report.Failed, "for the run as a whole: %v", err)
	assert.ErrorContains(t, err, "1 of 2 domains")
	assert.ErrorContains(t, err, "inwx: domain.info: not there")
	assert.Assert(t, s.record.Changed)
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
