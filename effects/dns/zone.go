package dns

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	mdns "github.com/miekg/dns"

	"fediversity.eu/slipway/groups"
)

// zone is what a zone is to hold.
type zone struct {
	name    string // whole: "example.org."
	records []record
}

// node is a machine with what the coordinates say about it.
type node struct {
	machine   groups.Machine
	addresses []netip.Addr
	hostKeys  []string
	assumed   bool // that it has addresses, of which no reverse zone is to speak
}

// set is the zones of a group while they are being filled.
type set struct {
	domain string // whole
	zones  map[string]*zone
	ttls   map[string]int // of zones, in seconds
	faults []error
}

func (s *set) fault(format string, args ...any) {
	s.faults = append(s.faults, fmt.Errorf(format, args...))
}

// render fills the zones of a group, sorted by name, from its machines and its
// own records. The error is everything that is wrong with any of them.
func render(group groups.Group, domain string, nodes []node) ([]zone, error) {
	s := &set{zones: map[string]*zone{}, ttls: map[string]int{}}
	var err error
	s.domain, err = wholeName(domain + ".")
	if err == nil {
		if _, address := netip.ParseAddr(domain); address == nil {
			err = fmt.Errorf("%q is an address", domain)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("domain: %w", err)
	}
	s.open(group.Zones)
	for _, n := range nodes {
		s.addNode(n)
	}
	var zones []zone
	for _, z := range s.zones {
		slices.SortStableFunc(z.records, func(a, b record) int {
			if a.name != b.name {
				return strings.Compare(a.name, b.name)
			}
			return int(a.kind) - int(b.kind)
		})
		zones = append(zones, *z)
	}
	slices.SortFunc(zones, func(a, b zone) int { return strings.Compare(a.name, b.name) })
	return zones, errors.Join(append(s.faults, check(zones, nodes, s.domain)...)...)
}

// open makes the declared zones, and then puts their own records into them: a
// record may belong to a longer zone than the one that it is declared in.
func (s *set) open(declared []groups.Zone) {
	names := make([]string, len(declared))
	for i, z := range declared {
		name, err := zoneName(z.Name, s.domain)
		switch {
		case err != nil:
			s.fault("zone %d: %w", i+1, err)
			continue
		case s.zones[name] != nil:
			s.fault("zone %d: %s is declared twice", i+1, name)
			continue
		}
		names[i] = name
		s.zones[name], s.ttls[name] = &zone{name: name}, z.TTL
		if z.TTL == 0 {
			s.ttls[name] = groups.DefaultTTL
		} else if err := checkTTL(z.TTL); err != nil {
			s.fault("zone %s: %w", name, err)
			s.ttls[name] = groups.DefaultTTL
		}
	}
	for i, z := range declared {
		if names[i] == "" {
			continue
		}
		for at, r := range z.Records {
			from := fmt.Sprintf("record %d of zone %s", at+1, names[i])
			read, err := reader{names[i], s.ttls[names[i]]}.read(r, from)
			if err != nil {
				s.faults = append(s.faults, err)
				continue
			}
			if owner := s.owner(read, names[i]); owner == nil || owner.name != names[i] {
				where := "outside of it"
				if owner != nil {
					where = "in the zone " + owner.name
				}
				s.fault("%s: the name is %s", read, where)
				continue
			}
			s.zones[names[i]].records = append(s.zones[names[i]].records, read)
		}
	}
}

// owner is the zone that a record belongs to: the longest that its name is in. A
// delegation belongs to the zone above, and for NS, which both have, to the one
// that it was declared in.
func (s *set) owner(r record, declared string) *zone {
	_, rest, _ := strings.Cut(r.name, ".")
	above := s.longest(rest)
	if s.zones[r.name] != nil && above != nil && (r.kind == mdns.TypeDS || r.kind == mdns.TypeNS && above.name == declared) {
		return above
	}
	return s.longest(r.name)
}

// longest is the longest zone that a name is in.
func (s *set) longest(name string) *zone {
	for name != "" {
		if z := s.zones[name]; z != nil {
			return z
		}
		_, name, _ = strings.Cut(name, ".")
	}
	return nil
}

// addNode puts what is to be said about a machine into the zones; nothing, while
// it has no address.
func (s *set) addNode(n node) {
	if len(n.addresses) == 0 {
		return
	}
	from := "machine " + n.machine.Name
	own := n.machine.Name + "." + s.domain
	for _, name := range append([]string{n.machine.Name}, n.machine.Names...) {
		whole, err := ownerName(name, s.domain)
		if err != nil {
			s.fault("%s: %w", from, err)
			continue
		}
		s.addAddresses(whole, n.addresses, from)
	}
	if fingerprints, err := fingerprints(n.hostKeys); err != nil {
		s.fault("%s: %w", from, err)
	} else if len(fingerprints) > 0 {
		s.add(record{name: own, kind: mdns.TypeSSHFP, values: fingerprints, from: from})
	}
	for _, address := range n.addresses {
		if reverse := reverseName(address); !n.assumed && s.longest(reverse) != nil {
			s.add(record{name: reverse, kind: mdns.TypePTR, values: []mdns.RR{&mdns.PTR{Ptr: own}}, from: from})
		}
	}
	for i, declared := range n.machine.Records {
		ttl := groups.DefaultTTL
		if z := s.longest(own); z != nil {
			ttl = s.ttls[z.name]
		}
		r, err := reader{s.domain, ttl}.read(declared, fmt.Sprintf("record %d of %s", i+1, from))
		if err != nil {
			s.faults = append(s.faults, err)
			continue
		}
		s.add(r)
	}
}

func (s *set) addAddresses(name string, addresses []netip.Addr, from string) {
	by := map[uint16][]mdns.RR{}
	for _, address := range addresses {
		value := addressValue(mdns.RR_Header{}, address)
		by[value.Header().Rrtype] = append(by[value.Header().Rrtype], value)
	}
	for _, kind := range []uint16{mdns.TypeA, mdns.TypeAAAA} {
		if len(by[kind]) > 0 {
			s.add(record{name: name, kind: kind, values: by[kind], from: from})
		}
	}
}

// add puts a record into the zone that it belongs to, with the time to live of
// that zone where it has none.
func (s *set) add(r record) {
	z := s.owner(r, "")
	if z == nil {
		s.fault("%s: no zone of the group holds this name", r)
		return
	}
	if r.ttl == 0 {
		r.ttl = uint32(s.ttls[z.name])
	}
	z.records = append(z.records, r)
}
