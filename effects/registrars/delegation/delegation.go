// Package delegation says what a registrar has a parent zone say about a domain,
// and by which steps one such state becomes another.
package delegation

import (
	"net/netip"
	"slices"
	"strings"

	"fediversity.eu/slipway/effects/registrars/dnssec"
)

// Delegation is what a parent zone says about a domain. Names are in lower case and
// have no dot at their end; lists are sets.
type Delegation struct {
	Domain  string
	Servers []string // names of its name servers
	Hosts   []Host   // addresses that the registry has for names below the domain
	Keys    []dnssec.Key
	DS      []dnssec.DS
	// Joint says that hosts are no things of their own here: an address is part of
	// the name server that has it, and comes and goes with it.
	Joint bool
}

// Host is a name below a domain, with the addresses that the registry has for it:
// glue, where it is a name server of the domain.
type Host struct {
	Name      string
	Addresses []netip.Addr
}

// String writes a host as a line: its name, then its addresses.
func (h Host) String() string {
	words := []string{h.Name}
	for _, address := range sorted(h.Addresses) {
		words = append(words, address.String())
	}
	return strings.Join(words, " ")
}

func sorted(addresses []netip.Addr) []netip.Addr {
	list := slices.Clone(addresses)
	slices.SortFunc(list, netip.Addr.Compare)
	return slices.Compact(list)
}

// Name makes a name of one that somebody else wrote.
func Name(text string) string {
	return strings.ToLower(strings.TrimSuffix(strings.TrimSpace(text), "."))
}

// Below tells whether a name is the domain's own or one below it.
func Below(name, domain string) bool { return name == domain || strings.HasSuffix(name, "."+domain) }

// Host gives what the registry has for a name.
func (d Delegation) Host(name string) (Host, bool) {
	for _, host := range d.Hosts {
		if host.Name == name {
			return host, true
		}
	}
	return Host{Name: name}, false
}

// Signed tells whether the parent vouches for any key.
func (d Delegation) Signed() bool { return len(d.Keys)+len(d.DS) > 0 }

// Trusts tells whether the parent vouches for a key.
func (d Delegation) Trusts(k dnssec.Key) bool {
	return slices.ContainsFunc(d.Keys, k.Equal) ||
		slices.ContainsFunc(d.DS, func(ds dnssec.DS) bool { return ds.Of(d.Domain, k) })
}

// Anchors writes the keys and digests that the parent vouches for, as lines.
func (d Delegation) Anchors() []string {
	var lines []string
	for _, k := range d.Keys {
		lines = append(lines, "DNSKEY "+k.String())
	}
	for _, ds := range d.DS {
		lines = append(lines, "DS "+ds.String())
	}
	return set(lines)
}

// set sorts lines and drops those that are there twice.
func set(lines []string) []string {
	lines = slices.Clone(lines)
	slices.Sort(lines)
	return slices.Compact(lines)
}
