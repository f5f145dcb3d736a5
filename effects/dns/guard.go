package dns

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"fediversity.eu/slipway/targets/report"
)

// few is how many records of a zone a run may always delete or change. Above it,
// a tenth of the zone may be deleted and a third changed; and never may a run
// delete more than half without being told to.
const few = 5

// judge refuses a plan that looks like lost state or a mistake, each zone by
// itself. OctoDNS has such a guard as well, but not for zones of less than ten
// records, and only one word for all zones that lifts it.
func (k *GuardKeys) judge(c changes, zones []zone, p provider) error {
	var faults []error
	var hints []string
	fault := func(hint, format string, args ...any) {
		faults = append(faults, fmt.Errorf(format, args...))
		hints = append(hints, hint)
	}
	for i, z := range c.zones {
		name := strings.TrimSuffix(z.name, ".")
		isNew := named(k.New, z.name)
		present := z.live()
		if zones[i].hasNS() && !slices.ContainsFunc(z.list, func(ch change) bool { return ch.Name == "" && ch.Kind == "NS" && ch.Type == "create" }) {
			present-- // a server makes these when it makes the zone
		}
		switch most := min(max(few, z.live()/10), z.live()/2); {
		case present <= 0 && z.created > 0 && !isNew:
			fault("DNS_NEW_ZONES="+name+" says that it is new",
				"%s: its server holds nothing of it, as if it had been lost: %d records would be made anew", name, z.created)
		case z.deleted > most && z.deleted > k.Delete[z.name]:
			fault(fmt.Sprintf("DNS_ALLOW_DELETE=%s=%d lets a run do it", name, z.deleted),
				"%s: %d of its %d records would be deleted, and at most %d may be", name, z.deleted, z.live(), max(most, k.Delete[z.name]))
		}
		if most := max(few, z.live()/3); z.updated > most && z.updated > k.Update[z.name] {
			fault(fmt.Sprintf("DNS_ALLOW_UPDATE=%s=%d lets a run do it", name, z.updated),
				"%s: %d of its %d records would be changed, and at most %d may be", name, z.updated, z.live(), max(most, k.Update[z.name]))
		}
		if lost := z.lostNS(); len(lost) > 0 && p.keepsNS {
			fault("take them away on the server itself, or name them among the zone's NS",
				"%s: its own name servers %s can't be taken away by dynamic updates", name, strings.Join(lost, ", "))
		} else if z.ownNS() && !isNew && !named(k.NS, z.name) {
			fault("DNS_ALLOW_NS="+name+" lets a run do it", "%s: its own name servers would be changed", name)
		}
	}
	if len(faults) == 0 {
		return nil
	}
	return report.Refuse("change the zones", errors.Join(faults...), strings.Join(hints, "; "))
}

// check finds zones in the coordinates that the group does not have.
func (k *GuardKeys) check(zones []zone) error {
	var faults []error
	known := func(key string, names []string) {
		for _, name := range names {
			if !slices.ContainsFunc(zones, func(z zone) bool { return z.name == zoneKey(name) }) {
				faults = append(faults, fmt.Errorf("%s: the group has no zone %s", key, strings.TrimSuffix(name, ".")))
			}
		}
	}
	known("DNS_NEW_ZONES", k.New)
	known("DNS_ALLOW_DELETE", k.Delete.names())
	known("DNS_ALLOW_UPDATE", k.Update.names())
	known("DNS_ALLOW_NS", k.NS)
	return errors.Join(faults...)
}

func (a Allowances) names() []string {
	names := make([]string, 0, len(a))
	for name := range a {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func named(list []string, zone string) bool {
	return slices.ContainsFunc(list, func(name string) bool { return zoneKey(name) == zone })
}
