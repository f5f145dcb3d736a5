package address

import (
	"net/netip"
	"testing"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/groups"
	"fediversity.eu/slipway/targets/env"
)

func TestAddressesAreOnesThatOthersCanReach(t *testing.T) {
	for value, want := range map[string]string{
		"192.0.2.7, 2001:db8::7": "", "": "",
		"192.0.2.7,192.0.2.7": "has 192.0.2.7 twice",
		"web":                 "has an address that is none", "192.0.2.7,": "has an address that is none",
		"127.0.0.1": "nobody else can reach", "fe80::1": "nobody else can reach", "0.0.0.0": "nobody else can reach",
		"::ffff:192.0.2.7": "not in its plain form", "fe80::1%eth0": "not in its plain form",
	} {
		_, err := Of(t.Context(), env.Map(map[string]string{"WEB_ADDRESSES": value}), groups.Machine{Name: "web"}, false)
		if want == "" {
			assert.NilError(t, err, value)
		} else {
			assert.ErrorContains(t, err, want, value)
		}
	}
}

func TestTheEnvironmentWinsOverWhatIsDeclared(t *testing.T) {
	declared := groups.Machine{Name: "web", Addresses: []string{"192.0.2.8", "2001:db8::8"}}
	for _, c := range []struct {
		name  string
		vars  map[string]string
		alone bool
		want  string
	}{
		{"declared", nil, false, "192.0.2.8"},
		{"given", map[string]string{"WEB_ADDRESSES": "192.0.2.7"}, false, "192.0.2.7"},
		{"given to another", map[string]string{"DB_ADDRESSES": "192.0.2.7"}, false, "192.0.2.8"},
		{"given to nobody in particular", map[string]string{"ADDRESSES": "192.0.2.7"}, false, "192.0.2.8"},
		{"given to the only one", map[string]string{"ADDRESSES": "192.0.2.7"}, true, "192.0.2.7"},
		{"given empty", map[string]string{"WEB_ADDRESSES": ""}, false, "192.0.2.8"},
	} {
		t.Run(c.name, func(t *testing.T) {
			list, err := Of(t.Context(), env.Map(c.vars), declared, c.alone)
			assert.NilError(t, err)
			assert.Equal(t, list[0], netip.MustParseAddr(c.want))
		})
	}
}

func TestDeclaredAddressesAreChecked(t *testing.T) {
	_, err := Declared(groups.Machine{Name: "web", Addresses: []string{"192.0.2.8", "::1"}})
	assert.Error(t, err, `machine web: the address "::1" nobody else can reach`)
	_, err = Declared(groups.Machine{Name: "web", Addresses: []string{"2001:db8::8", "2001:db8:0::8"}})
	assert.Error(t, err, "machine web: its list of addresses has 2001:db8::8 twice")
}

func TestOnlyReachableAddressesAreKept(t *testing.T) {
	assert.DeepEqual(t, Reachable([]string{"127.0.0.1", "web.example.org", "192.0.2.7", "2001:DB8::7", "192.0.2.7", "fe80::1"}), []string{"192.0.2.7", "2001:db8::7"})
}
