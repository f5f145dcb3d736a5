package registrars

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/effects/registrars/fake"
	"fediversity.eu/slipway/targets/report"
)

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
			t.Parallel()
			s := newScene(t, "gandi")
			s.expect("apply", report.Healthy, "")
			s.variables["DELEGATION_TIMEOUT"] = "50ms"
			s.zones(func() { c.change(s) })
			s.expect("verify", c.code, c.says)
		})
	}
	t.Run("before anything is delegated, however short the wait", func(t *testing.T) {
		s := newScene(t, "gandi")
		s.variables["DELEGATION_TIMEOUT"] = "1ns"
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
