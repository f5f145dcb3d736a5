package delegation

import (
	"net/netip"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/effects/registrars/dnssec"
)

const (
	oldKey = "257 3 13 GojIhhXUN/u4v54ZQqGSnyhWJwaubCvTmeexv7bR6edbkrSqQpF64cYbcB7wNcP+e+MAnLr+Wi9xMWyQLc8NAA=="
	newKey = "257 3 15 l02Woi0iS8Aa25FQkUd9RMzZHJpBoRQwAQEX1SxZJA4="
)

func key(t *testing.T, text string) dnssec.Key {
	t.Helper()
	k, err := dnssec.ParseKey("example.org", text)
	assert.NilError(t, err)
	return k
}

func host(line string) Host {
	fields := strings.Fields(line)
	h := Host{Name: fields[0]}
	for _, address := range fields[1:] {
		h.Addresses = append(h.Addresses, netip.MustParseAddr(address))
	}
	return h
}

func TestStepsInTheirOrder(t *testing.T) {
	elsewhere := Delegation{Domain: "example.org", Servers: []string{"a.other.net", "b.other.net"}}
	own := Delegation{
		Domain: "example.org", Servers: []string{"ns1.example.org", "ns2.example.net"},
		Hosts: []Host{host("ns1.example.org 192.0.2.1 2001:db8::1")}, Keys: []dnssec.Key{key(t, oldKey)},
	}
	with := func(d Delegation, change func(*Delegation)) Delegation {
		change(&d)
		return d
	}
	for _, c := range []struct {
		name       string
		have, want Delegation
		says       string
	}{
		{"nothing to do", own, own, ""},
		{"the order of lists is none", with(own, func(d *Delegation) { d.Servers = []string{"ns2.example.net", "ns1.example.org"} }), own, ""},
		{
			"coming: addresses, name servers, keys", elsewhere, own, `set addresses: + host ns1.example.org 192.0.2.1 2001:db8::1
set the name servers: - server a.other.net | - server b.other.net | + server ns1.example.org | + server ns2.example.net
set the keys: + DNSKEY ` + oldKey,
		},
		{
			"going: keys, name servers, addresses", own, elsewhere, `take the keys out: - DNSKEY ` + oldKey + `
set the name servers: - server ns1.example.org | - server ns2.example.net | + server a.other.net | + server b.other.net
remove addresses: - host ns1.example.org 192.0.2.1 2001:db8::1`,
		},
		{
			"another address", own, with(own, func(d *Delegation) { d.Hosts = []Host{host("ns1.example.org 192.0.2.7")} }),
			`set addresses: - host ns1.example.org 192.0.2.1 2001:db8::1 | + host ns1.example.org 192.0.2.7`,
		},
		{
			"another key", own, with(own, func(d *Delegation) { d.Keys = []dnssec.Key{key(t, newKey)} }),
			`set the keys: - DNSKEY ` + oldKey + ` | + DNSKEY ` + newKey,
		},
		{
			"a digest", with(own, func(d *Delegation) { d.Keys = nil }),
			with(own, func(d *Delegation) { d.Keys, d.DS = nil, []dnssec.DS{key(t, newKey).DS("example.org")} }),
			`set the keys: + DS ` + key(t, newKey).DS("example.org").String(),
		},
		{
			"addresses that are part of the name servers", with(elsewhere, func(d *Delegation) { d.Joint = true }), own,
			`set the name servers: - server a.other.net | - server b.other.net | + server ns1.example.org 192.0.2.1 2001:db8::1 | + server ns2.example.net
set the keys: + DNSKEY ` + oldKey,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var lines []string
			for _, step := range Steps(c.have, c.want) {
				lines = append(lines, step.Kind.String()+": "+strings.Join(step.Lines, " | "))
			}
			assert.Equal(t, strings.Join(lines, "\n"), c.says)
		})
	}
}

func TestEveryKindHasItsPlace(t *testing.T) {
	for i, kind := range Kinds() {
		assert.Equal(t, int(kind), i)
		assert.Assert(t, kind.String() != "")
	}
}

func TestWhomAParentTrusts(t *testing.T) {
	k, other := key(t, oldKey), key(t, newKey)
	byKey := Delegation{Domain: "example.org", Keys: []dnssec.Key{k}}
	byDigest := Delegation{Domain: "example.org", DS: []dnssec.DS{k.DS("example.org")}}
	for _, d := range []Delegation{byKey, byDigest} {
		assert.Assert(t, d.Signed() && d.Trusts(k) && !d.Trusts(other))
	}
	byDigest.Domain = "example.net"
	assert.Assert(t, !byDigest.Trusts(k), "a digest is of one zone")
	assert.Assert(t, !Delegation{}.Signed())
}

func TestNames(t *testing.T) {
	assert.Equal(t, Name(" NS1.Example.ORG. "), "ns1.example.org")
	assert.Assert(t, Below("ns1.example.org", "example.org") && Below("example.org", "example.org"))
	assert.Assert(t, !Below("ns1.myexample.org", "example.org"))
}
