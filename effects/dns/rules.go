package dns

import (
	"fmt"
	"regexp"
	"strings"

	mdns "github.com/miekg/dns"
)

// names are the records of one name by their type.
type names = map[uint16]record

// holding is all that the zones of a group say.
type holding struct {
	zones  map[string]map[string]names // by the name of the zone, then by name
	absent map[string]string           // names of machines without an address, to the machine
	faults []error
}

func (h *holding) fault(r record, format string, args ...any) {
	h.faults = append(h.faults, fmt.Errorf("%s: "+format, append([]any{r}, args...)...))
}

// check finds what single records don't show: what DNS does not allow side by
// side, and names that lead nowhere.
func check(zones []zone, nodes []node, domain string) []error {
	h := &holding{zones: map[string]map[string]names{}, absent: map[string]string{}}
	for _, n := range nodes {
		if len(n.addresses) == 0 {
			for _, name := range append([]string{n.machine.Name}, n.machine.Names...) {
				if whole, err := ownerName(name, domain); err == nil {
					h.absent[whole] = n.machine.Name
				}
			}
		}
	}
	for _, z := range zones {
		by := map[string]names{}
		h.zones[z.name] = by
		for _, r := range z.records {
			if by[r.name] == nil {
				by[r.name] = names{}
			}
			if other, twice := by[r.name][r.kind]; twice {
				h.fault(r, "%s has this name and type too: all values of a type are one record", other.from)
				continue
			}
			by[r.name][r.kind] = r
		}
	}
	for _, z := range zones {
		for _, r := range z.records {
			h.checkRecord(z, r)
		}
	}
	return h.faults
}

// serviceName begins as RFC 2782 wants it: _service._protocol.
var serviceName = regexp.MustCompile(`^_[a-z0-9-]+\._(tcp|udp|sctp|tls|dccp)\.`)

func (h *holding) checkRecord(z zone, r record) {
	apex := r.name == z.name
	beside := h.zones[z.name][r.name]
	switch r.kind {
	case mdns.TypeCNAME:
		switch {
		case apex:
			h.fault(r, "the name of a zone itself can't be an alias")
		case len(beside) > 1:
			h.fault(r, "an alias stands alone, and the name has other records too")
		case len(r.values) > 1:
			h.fault(r, "an alias has one value")
		default:
			h.checkLoop(r)
		}
	case mdns.TypeDS:
		if _, delegated := beside[mdns.TypeNS]; apex || !delegated {
			h.fault(r, "a DS stands beside the NS of a delegation, in the zone above")
		}
	case mdns.TypeNS:
		if strings.HasPrefix(r.name, "*.") {
			h.fault(r, "an asterisk can't be delegated")
		}
	case mdns.TypeSRV:
		if !serviceName.MatchString(r.name) {
			h.fault(r, "the name must begin with _service._protocol")
		}
	case mdns.TypeTXT:
		if strings.HasPrefix(relative(r.name, z.name), "_acme-challenge") {
			h.fault(r, "machines write their challenges themselves, and these are left alone")
		}
	case mdns.TypeMX:
		for _, value := range r.values {
			if target(value) == "." && len(r.values) > 1 {
				h.fault(r, "a null MX stands alone")
			}
		}
	}
	if cut := h.delegation(r.name, z.name); cut != "" && !besideDelegation(r, cut) {
		h.fault(r, "%s is delegated: this would never be answered here", cut)
	}
	for _, value := range r.values {
		switch name := target(value); name {
		case "":
		case ".":
			if r.kind == mdns.TypeCNAME || r.kind == mdns.TypeNS {
				h.fault(r, "the root is no name to point at")
			}
		default:
			h.checkTarget(r, name)
		}
	}
}

// delegation is the name at or above a name where its zone ends; empty for one
// that the zone itself answers.
func (h *holding) delegation(name, zone string) string {
	for ; name != zone && within(name, zone); _, name, _ = strings.Cut(name, ".") {
		if _, ok := h.zones[zone][name][mdns.TypeNS]; ok {
			return name
		}
	}
	return ""
}

// besideDelegation tells whether a record may stand at or below a delegation:
// the delegation itself, and addresses of name servers.
func besideDelegation(r record, cut string) bool {
	switch r.kind {
	case mdns.TypeNS, mdns.TypeDS:
		return r.name == cut
	case mdns.TypeA, mdns.TypeAAAA:
		return true
	}
	return false
}

// checkTarget wants a name in our zones to lead somewhere.
func (h *holding) checkTarget(r record, name string) {
	in := h.zoneOf(name)
	if in == "" || h.delegation(name, in) != "" && r.kind != mdns.TypeNS {
		return // others answer for it
	}
	found := h.answers(name, in)
	_, alias := found[mdns.TypeCNAME]
	_, four := found[mdns.TypeA]
	_, six := found[mdns.TypeAAAA]
	why := "which the zones don't have"
	if machine := h.absent[name]; machine != "" {
		why = fmt.Sprintf("which is machine %s, and that has no address", machine)
	}
	switch {
	case r.kind == mdns.TypeCNAME:
		if found == nil {
			h.fault(r, "an alias of %s, %s", name, why)
		}
	case alias && (r.kind == mdns.TypeMX || r.kind == mdns.TypeNS || r.kind == mdns.TypeSRV):
		h.fault(r, "points at %s, which is an alias and must not be", name)
	case !alias && !four && !six:
		if found != nil {
			why = "which has no address"
		}
		h.fault(r, "points at %s, %s", name, why)
	}
}

func (h *holding) zoneOf(name string) string {
	for name != "" {
		if h.zones[name] != nil {
			return name
		}
		_, name, _ = strings.Cut(name, ".")
	}
	return ""
}

// answers gives what a query for a name finds, asterisks included (RFC 4592).
func (h *holding) answers(name, zone string) names {
	by := h.zones[zone]
	for found := by[name]; ; found = by["*."+name] {
		if found != nil || name == zone {
			return found
		}
		_, name, _ = strings.Cut(name, ".")
		if by[name] != nil && by["*."+name] == nil {
			return nil
		}
	}
}

// checkLoop follows an alias through our zones.
func (h *holding) checkLoop(r record) {
	seen := map[string]bool{}
	for at := r; ; {
		if seen[at.name] {
			h.fault(r, "the alias leads back to itself")
			return
		}
		seen[at.name] = true
		if len(at.values) != 1 {
			return
		}
		name := target(at.values[0])
		next, ok := h.zones[h.zoneOf(name)][name][mdns.TypeCNAME]
		if !ok {
			return
		}
		at = next
	}
}
