package dns

import (
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"strings"

	"fediversity.eu/slipway/internal/idn"
)

// Limits of RFC 1035: of a label in bytes, and of a name as it is written with
// the dot at its end.
const (
	longestLabel = 63
	longestName  = 254
)

// label is what we publish: letters, digits and hyphens, the underscores of
// service names, and the slashes of RFC 2317 in reverse zones.
var label = regexp.MustCompile(`^[a-z0-9_]([a-z0-9_/-]*[a-z0-9_])?$`)

// ownerName makes a whole name of the name of a record, which is relative to
// origin unless it ends in a dot.
func ownerName(name, origin string) (string, error) {
	switch {
	case name == "" || name == "@":
		return origin, nil
	case !strings.HasSuffix(name, "."):
		name += "." + origin
	}
	return wholeName(name)
}

// targetName makes a whole name of one within a value. One with dots in it that
// does not end in one might be meant either way.
func targetName(name, origin string) (string, error) {
	inside := strings.TrimSuffix(name, ".@")
	switch {
	case name == "@":
		return origin, nil
	case name == ".":
		return name, nil
	case strings.HasSuffix(name, "."):
		return wholeName(name)
	case inside == name && strings.Contains(name, "."):
		return "", fmt.Errorf("%q may be a whole name or one within the zone: write %q or %q", name, name+".", name+".@")
	}
	return wholeName(inside + "." + origin)
}

// wholeName checks a name that ends in a dot, and gives it in the form in which
// names are compared: lower case, with other alphabets as RFC 5890 has them.
func wholeName(name string) (string, error) {
	plain, err := idn.ASCII(strings.TrimSuffix(name, "."))
	if err != nil {
		return "", fmt.Errorf("%q: %w", name, err)
	}
	if len(plain)+1 > longestName {
		return "", fmt.Errorf("%q is longer than the %d characters of a name", name, longestName-1)
	}
	for i, part := range strings.Split(plain, ".") {
		switch {
		case part == "*" && i == 0:
		case part == "":
			return "", fmt.Errorf("%q has an empty label", name)
		case len(part) > longestLabel:
			return "", fmt.Errorf("%q has a label of more than %d characters", name, longestLabel)
		case !label.MatchString(part), strings.Contains(part, "/") && !isReverse(plain+"."):
			return "", fmt.Errorf("%q has the label %q: letters, digits, underscores and inner hyphens make one, and * alone in front", name, part)
		}
	}
	return plain + ".", nil
}

// within tells whether a whole name is that of a zone or below it.
func within(name, zone string) bool { return name == zone || strings.HasSuffix(name, "."+zone) }

// relative gives a whole name as seen from its zone; empty is the zone itself.
func relative(name, zone string) string {
	return strings.TrimSuffix(strings.TrimSuffix(name, zone), ".")
}

func isReverse(name string) bool {
	return within(name, "in-addr.arpa.") || within(name, "ip6.arpa.")
}

// zoneName gives the whole name of a declared zone of a group.
func zoneName(name, domain string) (string, error) {
	switch {
	case name == "" || name == "@":
		return domain, nil
	case strings.Contains(name, "/") && !strings.Contains(name, "arpa"):
		prefix, err := netip.ParsePrefix(name)
		if err != nil {
			return "", fmt.Errorf("%q names no addresses: %w", name, err)
		}
		return reverseZone(prefix)
	case !strings.Contains(name, "."):
		return wholeName(name + "." + domain)
	}
	whole, err := wholeName(name)
	if err == nil && strings.HasPrefix(whole, "*") {
		err = errors.New("no zone begins with an asterisk")
	}
	return whole, err
}

// reverseZone is the zone of addresses that share a prefix, which ends where a
// label does.
func reverseZone(prefix netip.Prefix) (string, error) {
	bits := 8
	if prefix.Addr().Is6() {
		bits = 4
	}
	if prefix.Bits() == 0 || prefix.Bits()%bits != 0 || prefix != prefix.Masked() {
		return "", fmt.Errorf("%s is no reverse zone: its length is a multiple of %d and the bits behind it are zero; others have names of their own (RFC 2317)", prefix, bits)
	}
	labels := strings.Split(reverseName(prefix.Addr()), ".")
	count := prefix.Addr().BitLen() / bits
	return strings.Join(labels[count-prefix.Bits()/bits:], "."), nil
}

// reverseName is the name under which PTR records tell the name of an address
// (RFC 1035, RFC 3596).
func reverseName(address netip.Addr) string {
	var name strings.Builder
	if address.Is4() {
		four := address.As4()
		for i := range four {
			fmt.Fprintf(&name, "%d.", four[len(four)-1-i])
		}
		return name.String() + "in-addr.arpa."
	}
	sixteen := address.As16()
	for i := range sixteen {
		b := sixteen[len(sixteen)-1-i]
		fmt.Fprintf(&name, "%x.%x.", b&0xf, b>>4)
	}
	return name.String() + "ip6.arpa."
}
