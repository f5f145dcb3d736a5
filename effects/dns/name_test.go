package dns

import (
	"net/netip"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

func TestNames(t *testing.T) {
	const origin = "example.org."
	for _, c := range []struct {
		what  string
		read  func(string, string) (string, error)
		name  string
		want  string
		fault string
	}{
		{"an owner: the zone", ownerName, "@", origin, ""},
		{"an owner: nothing is the zone", ownerName, "", origin, ""},
		{"an owner in the zone", ownerName, "_443._tcp.Web", "_443._tcp.web.example.org.", ""},
		{"an owner that is whole", ownerName, "web.example.net.", "web.example.net.", ""},
		{"an asterisk", ownerName, "*.apps", "*.apps.example.org.", ""},
		{"an asterisk elsewhere", ownerName, "a.*", "", `has the label "*"`},
		{"half an asterisk", ownerName, "*a", "", `has the label "*a"`},
		{"another alphabet", ownerName, "Bücher", "xn--bcher-kva.example.org.", ""},
		{"a symbol", ownerName, "☃", "", `"☃.example.org.": the label "☃" is no international one`},
		{"a symbol in ASCII", ownerName, "xn--n3h", "", `the label "xn--n3h" is no international one`},
		{"a target of a symbol", targetName, "xn--n3h.example.net.", "", `the label "xn--n3h" is no international one`},
		{"a zone of a symbol", zoneName, "☃.example", "", `the label "☃" is no international one`},
		{"a zone of another alphabet", zoneName, "bücher.example", "xn--bcher-kva.example.", ""},
		{"a blank", ownerName, "a b", "", `has the label "a b"`},
		{"a hyphen in front", ownerName, "-a", "", `has the label "-a"`},
		{"a slash outside of reverse zones", ownerName, "0/25", "", `has the label "0/25"`},
		{"an empty label", ownerName, "a..b", "", "has an empty label"},
		{"the longest label", ownerName, strings.Repeat("a", 63), strings.Repeat("a", 63) + ".example.org.", ""},
		{"a longer label", ownerName, strings.Repeat("a", 64), "", "more than 63 characters"},
		{"a name that is too long", ownerName, strings.Repeat("a.", 125) + "a", "", "longer than the 253 characters"},
		{"a target in the zone", targetName, "WWW", "www.example.org.", ""},
		{"a target: the zone", targetName, "@", origin, ""},
		{"a target deeper in the zone", targetName, "ns.child.@", "ns.child.example.org.", ""},
		{"a target that is whole", targetName, "mail.example.net.", "mail.example.net.", ""},
		{"a target that may be either", targetName, "mail.example.net", "", `write "mail.example.net." or "mail.example.net.@"`},
		{"the root", targetName, ".", ".", ""},
		{"a zone: the domain", zoneName, "", origin, ""},
		{"a zone below it", zoneName, "lab", "lab.example.org.", ""},
		{"a zone elsewhere", zoneName, "example.net", "example.net.", ""},
		{"a reverse zone", zoneName, "192.0.2.0/24", "2.0.192.in-addr.arpa.", ""},
		{"a large reverse zone", zoneName, "10.0.0.0/8", "10.in-addr.arpa.", ""},
		{"a reverse zone of IPv6", zoneName, "2001:db8::/48", "0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa.", ""},
		{"a reverse zone that is none", zoneName, "192.0.2.0/25", "", "is no reverse zone"},
		{"a reverse zone with bits behind it", zoneName, "192.0.2.1/24", "", "is no reverse zone"},
		{"a reverse zone of its own name", zoneName, "0/25.2.0.192.in-addr.arpa", "0/25.2.0.192.in-addr.arpa.", ""},
		{"a zone of an asterisk", zoneName, "*.example.org", "", "no zone begins with an asterisk"},
	} {
		t.Run(c.what, func(t *testing.T) {
			got, err := c.read(c.name, origin)
			if c.fault != "" {
				assert.ErrorContains(t, err, c.fault)
				return
			}
			assert.NilError(t, err)
			assert.Equal(t, got, c.want)
		})
	}
}

func TestZonesInCoordinates(t *testing.T) {
	for name, want := range map[string]string{
		"example.org": "example.org.", "Example.org.": "example.org.", "bücher.example": "xn--bcher-kva.example.",
		"XN--bcher-kva.example.": "xn--bcher-kva.example.", "2.0.192.in-addr.arpa": "2.0.192.in-addr.arpa.", "☃": "☃.",
	} {
		assert.Equal(t, zoneKey(name), want)
	}
}

func TestReverseNames(t *testing.T) {
	for address, want := range map[string]string{
		"192.0.2.7":               "7.2.0.192.in-addr.arpa.",
		"2001:db8::567:89ab":      "b.a.9.8.7.6.5.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa.",
		"4321:0:1:2:3:4:567:89ab": "b.a.9.8.7.6.5.0.4.0.0.0.3.0.0.0.2.0.0.0.1.0.0.0.0.0.0.0.1.2.3.4.ip6.arpa.",
	} {
		assert.Equal(t, reverseName(netip.MustParseAddr(address)), want)
	}
}
