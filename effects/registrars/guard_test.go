package registrars

import (
	"fmt"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/effects/registrars/fake"
	"fediversity.eu/slipway/targets/report"
)

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
		{"a key that is served, and signs nothing while another does", func(s *scene) {
			other, err := fake.NewKey(domain, true)
			assert.NilError(s.t, err)
			s.key.Active = false
			s.first.Keys, s.second.Keys = append(s.first.Keys, other), append(s.second.Keys, other)
		}, report.Refused, "no valid signature of its keys by one of algorithm 13 that the parent is to vouch for"},
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
