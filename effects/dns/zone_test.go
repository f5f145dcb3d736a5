package dns

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	mdns "github.com/miekg/dns"
	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"
	"gotest.tools/v3/golden"

	"fediversity.eu/slipway/groups"
)

// at is a machine with addresses.
func at(machine groups.Machine, addresses ...string) node {
	n := node{machine: machine}
	for _, address := range addresses {
		n.addresses = append(n.addresses, netip.MustParseAddr(address))
	}
	return n
}

// lines writes zones as OctoDNS gets them.
func lines(t *testing.T, zones []zone) string {
	t.Helper()
	var b strings.Builder
	for _, z := range zones {
		text, err := json.MarshalIndent(content(z), "", "  ")
		assert.NilError(t, err)
		fmt.Fprintf(&b, "-- %s --\n%s\n", z.name, text)
	}
	return b.String()
}

const ed25519Key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGwJ0vX1lM9sYkBvJq5J2XhB8yYc0uQ3m2Xm5V1cZx0N"

func TestZonesOfAGroup(t *testing.T) {
	group := groups.Group{Zones: []groups.Zone{
		{Records: []groups.Record{
			{Type: "MX", Values: []string{"10 mail", "20 backup.example.net."}},
			{Name: "_dmarc", Type: "txt", TTL: 60, Values: []string{"v=DMARC1; p=reject"}},
			{Name: "on", Type: "A", Values: []string{"192.0.2.9"}},
			{Type: "CAA", Values: []string{`0 issue "letsencrypt.org"`, `0 issuewild ";"`}},
			{Name: "svc", Type: "HTTPS", Values: []string{"1 web alpn=h2,h3 port=8443 no-default-alpn"}},
			{Name: "lab", Type: "NS", Values: []string{"ns1.example.net."}},
			{Name: "lab", Type: "DS", Values: []string{"60485 13 2 " + strings.Repeat("AB", 32)}},
		}},
		{Name: "lab", TTL: 300},
		{Name: "192.0.2.0/24"},
	}}
	web := at(groups.Machine{Name: "web", Names: []string{"@"}, Records: []groups.Record{{Name: "www", Type: "CNAME", Values: []string{"web"}}}}, "192.0.2.7", "2001:db8::7")
	web.hostKeys = []string{ed25519Key}
	zones, err := render(group, "Example.org", []node{
		web,
		at(groups.Machine{Name: "mail"}, "192.0.2.25"),
		at(groups.Machine{Name: "bench", Names: []string{"bench.lab"}}, "198.51.100.9"),
		at(groups.Machine{Name: "db", Names: []string{"sql"}, Records: []groups.Record{{Name: "old", Type: "CNAME", Values: []string{"db"}}}}),
	})
	assert.NilError(t, err)
	got := lines(t, zones)
	golden.Assert(t, got, "zones.golden")
	assert.Assert(t, !strings.Contains(got, "sql") && !strings.Contains(got, "old"), "a machine without an address is in no zone")
}

// TestFaultsOfZones has, for each rule, a group that breaks it and nothing else.
func TestFaultsOfZones(t *testing.T) {
	own := func(records ...groups.Record) groups.Group {
		return groups.Group{Zones: []groups.Zone{{Records: records}}}
	}
	one := func(name, kind string, values ...string) groups.Record {
		return groups.Record{Name: name, Type: kind, Values: values}
	}
	web := at(groups.Machine{Name: "web"}, "192.0.2.7")
	absent := at(groups.Machine{Name: "db"})
	delegated := one("child", "NS", "ns.example.net.")
	for _, c := range []struct {
		what  string
		group groups.Group
		nodes []node
		want  string
	}{
		{"a type that is none", own(one("a", "AX", "1")), nil, `the type "AX" is not one of A, AAAA, CAA`},
		{"no value", own(one("a", "A")), nil, "has no value"},
		{"a value twice", own(one("a", "AAAA", "2001:DB8::1", "2001:db8:0::1")), nil, `has the value "2001:db8:0::1" twice`},
		{"an IPv6 address as A", own(one("a", "A", "2001:db8::1")), nil, "2001:db8::1 is of the wrong family for A"},
		{"an IPv4 address as AAAA", own(one("a", "AAAA", "192.0.2.1")), nil, "192.0.2.1 is of the wrong family for AAAA"},
		{"an address that is none", own(one("a", "A", "192.0.2.256")), nil, `"192.0.2.256" is no address`},
		{"a short TTL", own(groups.Record{Name: "a", Type: "A", TTL: 5, Values: []string{"192.0.2.1"}}), nil, "the TTL of 5 s is not from 30 to 2147483647"},
		{"a long TTL", own(groups.Record{Name: "a", Type: "A", TTL: 1 << 31, Values: []string{"192.0.2.1"}}), nil, "the TTL of 2147483648 s"},
		{"a negative TTL of a zone", groups.Group{Zones: []groups.Zone{{TTL: -1, Records: []groups.Record{one("a", "A", "192.0.2.1")}}}}, nil, "zone example.org.: the TTL of -1 s"},
		{"the TTL of a zone without records of its own", groups.Group{Zones: []groups.Zone{{TTL: 5}}}, []node{web}, "the TTL of 5 s"},
		{"a quote in a text", own(one("a", "TXT", `say "x"`)), nil, "has a quote or a backslash"},
		{"a backslash in a text", own(one("a", "TXT", `a\b`)), nil, "has a quote or a backslash"},
		{"an empty text", own(one("a", "TXT", "")), nil, "is empty or has blanks around it"},
		{"a long text", own(one("a", "TXT", strings.Repeat("x", 4097))), nil, "a text of 4097 bytes is longer than the 4096 of a TXT"},
		{"another alphabet in a text", own(one("a", "TXT", "grün")), nil, "not plain ASCII"},
		{"a line end in a value", own(one("a", "CAA", "0 issue \"x\"\n")), nil, "not plain ASCII"},
		{"a comment in a value", own(one("a", "MX", "10 mail.example.net. ; hm")), nil, `has a ';' outside quotes`},
		{"too much in a value", own(one("a", "MX", "10 mail.example.net. 5")), nil, "is no value of MX"},
		{"too little in a value", own(one("a", "MX", "10")), nil, "has no name in it"},
		{"a priority that is none", own(one("a", "MX", "70000 mail.example.net.")), nil, "is no value of MX"},
		{"a name that may be either", own(one("a", "CNAME", "b.example.net")), nil, "may be a whole name or one within the zone"},
		{"a digest that is too short", own(delegated, one("child", "DS", "60485 13 2 abcd")), nil, "the digest has 2 bytes and should have 32"},
		{"certificate data that is no hexadecimal", own(one("_1._tcp.a", "TLSA", "3 1 1 xyz")), nil, "the certificate data is not hexadecimal"},
		{"a matching type that is none", own(one("_1._tcp.a", "TLSA", "3 1 7 abcd")), nil, "the matching type 0 to 2"},
		{"a fingerprint that is too short", own(one("a", "SSHFP", "4 2 abcd")), nil, "the fingerprint has 2 bytes and should have 32"},
		{"a tag that is none", own(one("a", "CAA", `0 isue "x"`)), nil, `the tag "isue"`},
		{"an ech that is cut off", own(one("a", "HTTPS", "1 b.example.net. ech=ABH+DQANAAAA")), nil, "is no list of ECH configurations"},
		{"an alias with parameters", own(one("a", "HTTPS", "0 b.example.net. port=1")), nil, "a priority of 0 is an alias"},
		{"the same twice", own(one("a", "A", "192.0.2.1"), one("A", "A", "192.0.2.2")), nil, "all values of a type are one record"},
		{"a machine's name twice", own(one("web", "A", "192.0.2.1")), []node{web}, "all values of a type are one record"},
		{"an alias beside data", own(one("web", "CNAME", "b.example.net.")), []node{web}, "an alias stands alone"},
		{"an alias of the zone", own(one("@", "CNAME", "b.example.net.")), nil, "the name of a zone itself can't be an alias"},
		{"an alias with two values", own(one("a", "CNAME", "b.example.net.", "c.example.net.")), nil, "an alias has one value"},
		{"aliases in a circle", own(one("a", "CNAME", "b"), one("b", "CNAME", "a")), nil, "the alias leads back to itself"},
		{"an alias of nothing", own(one("a", "CNAME", "nobody")), nil, "an alias of nobody.example.org., which the zones don't have"},
		{"an alias of a machine without an address", own(one("a", "CNAME", "db")), []node{absent}, "which is machine db, and that has no address"},
		{"a mail exchanger without an address", own(one("@", "MX", "10 db")), []node{absent}, "points at db.example.org., which is machine db, and that has no address"},
		{"a mail exchanger that is an alias", own(one("@", "MX", "10 a"), one("a", "CNAME", "web")), []node{web}, "is an alias and must not be"},
		{"a name server without an address", own(one("@", "NS", "ns")), nil, "points at ns.example.org., which the zones don't have"},
		{"a service at a name with no address", own(one("_a._tcp", "SRV", "0 0 1 t"), one("t", "TXT", "x")), nil, "which has no address"},
		{"a service whose name is none", own(one("a", "SRV", "0 0 1 b.example.net.")), nil, "the name must begin with _service._protocol"},
		{"a null MX among others", own(one("@", "MX", "0 .", "10 b.example.net.")), nil, "a null MX stands alone"},
		{"the root as a name server", own(one("child", "NS", ".")), nil, "the root is no name to point at"},
		{"a DS without its delegation", own(one("child", "DS", "60485 13 2 "+strings.Repeat("ab", 32))), nil, "a DS stands beside the NS of a delegation"},
		{"data below a delegation", own(delegated, one("a.child", "TXT", "x")), nil, "child.example.org. is delegated"},
		{"an alias below a delegation", own(delegated, one("a.child", "CNAME", "b.example.net.")), nil, "child.example.org. is delegated"},
		{"a delegated asterisk", own(one("*.a", "NS", "ns.example.net.")), nil, "an asterisk can't be delegated"},
		{"a challenge", own(one("_acme-challenge", "TXT", "x")), nil, "machines write their challenges themselves"},
		{"a record outside of its zone", own(one("a.example.net.", "A", "192.0.2.1")), nil, "the name is outside of it"},
		{"a record of a longer zone", groups.Group{Zones: []groups.Zone{{Records: []groups.Record{one("a.lab", "A", "192.0.2.1")}}, {Name: "lab"}}}, nil, "the name is in the zone lab.example.org."},
		{"a machine that no zone has", groups.Group{Zones: []groups.Zone{{Name: "example.net"}}}, []node{web}, "no zone of the group holds this name"},
		{"a zone twice", groups.Group{Zones: []groups.Zone{{}, {Name: "example.org."}}}, nil, "is declared twice"},
		{"a host key that is none", own(), []node{{machine: web.machine, addresses: web.addresses, hostKeys: []string{"ssh-ed25519 nonsense"}}}, "host key 1: not a public key"},
		{"host keys of several hosts", own(), []node{{machine: web.machine, addresses: web.addresses, hostKeys: []string{"a " + ed25519Key, "b " + ed25519Key}}}, "the host keys are of several hosts"},
	} {
		t.Run(c.what, func(t *testing.T) {
			_, err := render(c.group, "example.org", c.nodes)
			assert.ErrorContains(t, err, c.want)
			for line := range strings.Lines(err.Error()) {
				text := strings.TrimSpace(line)
				assert.Check(t, strings.Contains(text, c.want) || strings.Contains(text, "leads back") || strings.Contains(text, "DS stands"), "another fault as well: %s", text)
			}
		})
	}
}

func TestAllFaultsAtOnce(t *testing.T) {
	_, err := render(groups.Group{Zones: []groups.Zone{{Records: []groups.Record{
		{Name: "a b", Type: "A", TTL: 1, Values: []string{"2001:db8::1", "x"}},
		{Name: "@", Type: "CNAME", Values: []string{"b.example.net."}},
		{Name: "c", Type: "TXT", Values: []string{`"`}},
	}}}}, "example.org", nil)
	for _, want := range []string{`has the label "a b"`, "the TTL of 1 s", "wrong family", `"x" is no address`, "can't be an alias", "a quote"} {
		assert.Check(t, cmp.ErrorContains(err, want))
	}
}

func TestWhatIsAllowed(t *testing.T) {
	web := at(groups.Machine{Name: "web"}, "192.0.2.7")
	for what, records := range map[string][]groups.Record{
		"an alias of an asterisk's": {{Name: "*.apps", Type: "A", Values: []string{"192.0.2.1"}}, {Name: "a", Type: "CNAME", Values: []string{"x.apps.@"}}},
		"a target that others have": {{Name: "@", Type: "MX", Values: []string{"10 a.example.net."}}},
		"addresses of name servers below a delegation": {
			{Name: "child", Type: "NS", Values: []string{"ns.child.@"}}, {Name: "ns.child", Type: "A", Values: []string{"192.0.2.53"}},
		},
		"a null MX":            {{Name: "@", Type: "MX", Values: []string{"0 ."}}},
		"another's challenge":  {{Name: "_acme-challenge", Type: "CNAME", Values: []string{"x.acme.example.net."}}},
		"a service of HTTPS":   {{Name: "@", Type: "HTTPS", Values: []string{"1 web alpn=h2"}}},
		"a text with a colon;": {{Name: "a", Type: "TXT", Values: []string{"a;b; c"}}},
	} {
		t.Run(what, func(t *testing.T) {
			_, err := render(groups.Group{Zones: []groups.Zone{{Records: records}}}, "example.org", []node{web})
			assert.NilError(t, err)
		})
	}
}

func TestDeclaredGroupsAreChecked(t *testing.T) {
	group := groups.Group{
		Zones: []groups.Zone{{}},
		Machines: []groups.Machine{
			{Name: "web", Addresses: []string{"127.0.0.1"}, Records: []groups.Record{{Name: "www", Type: "CNAME", Values: []string{"nobody"}}}},
			{Name: "db", Addresses: []string{"192.0.2.1", "192.0.2.1"}},
		},
	}
	err := New().Check(group)
	for _, want := range []string{`machine web: the address "127.0.0.1" nobody else can reach`, "an alias of nobody.example.org.", "machine db: its list of addresses has 192.0.2.1 twice"} {
		assert.Check(t, cmp.ErrorContains(err, want))
	}
}

// FuzzValues holds the reader of values to what it promises: it refuses, or gives
// a value that says the same when it is read again.
func FuzzValues(f *testing.F) {
	for _, seed := range []string{"10 mail", `0 issue ";"`, "1 . alpn=h2 port=1", "v=spf1 -all", "3 1 1 ab", "192.0.2.1", "2001:db8::1", "a b \" c", "\\# 4 0a000001"} {
		for kind := range kinds {
			f.Add(kind, seed)
		}
	}
	f.Fuzz(func(t *testing.T, kind, text string) {
		target, known := kinds[kind]
		if !known {
			return
		}
		header := mdns.RR_Header{Name: "a.example.org.", Rrtype: mdns.StringToType[kind], Class: mdns.ClassINET, Ttl: 3600}
		value, err := reader{"example.org.", 3600}.value(header, target, text)
		if err != nil {
			return
		}
		assert.Assert(t, plain(value) != nil, "%s %q", kind, text)
		again, err := mdns.NewRR(value.String())
		assert.NilError(t, err, "%s %q became %s", kind, text, value)
		assert.Equal(t, again.String(), value.String())
	})
}

func BenchmarkRender(b *testing.B) {
	var nodes []node
	for i := range 5000 {
		nodes = append(nodes, at(groups.Machine{Name: fmt.Sprintf("m%d", i)}, fmt.Sprintf("10.0.%d.%d", i>>8, i&255), fmt.Sprintf("2001:db8::%x", i+1)))
	}
	for b.Loop() {
		zones, err := render(groups.Group{Zones: []groups.Zone{{}}}, "example.org", nodes)
		assert.NilError(b, err)
		assert.Equal(b, count(zones), 10000)
		_, err = json.Marshal(content(zones[0]))
		assert.NilError(b, err)
	}
}
