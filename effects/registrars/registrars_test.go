package registrars

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/effects/registrars/fake"
	"fediversity.eu/slipway/targets/report"
)

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

func TestAddressesThatArePublic(t *testing.T) {
	for text, want := range map[string]bool{"192.0.2.1": true, "2001:db8::1": true, "10.0.0.1": false, "127.0.0.1": false, "fe80::1": false, "fd00::1": false, "::1": false} {
		assert.Equal(t, public(netip.MustParseAddr(text)), want, text)
	}
}
