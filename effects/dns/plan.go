package dns

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	mdns "github.com/miekg/dns"

	"fediversity.eu/slipway/targets/report"
)

// changes is what OctoDNS would change, in one plan.
type changes struct {
	zones    []zoneChanges // one for each of ours, in their order
	checksum string        // of the plan, as OctoDNS gives it
}

// zoneChanges is what would change in one zone.
type zoneChanges struct {
	name                      string
	wanted                    int // records that the zone is to hold
	list                      []change
	created, updated, deleted int
}

// change is one change, as OctoDNS's PlanJson writes it.
type change struct {
	Type     string  `json:"type"` // create, update or delete
	Name     string  `json:"name"` // relative to the zone
	Kind     string  `json:"record_type"`
	Existing *values `json:"existing"`
	New      *values `json:"new"`
}

// values are what a record says.
type values struct {
	TTL    int64 `json:"ttl"`
	Value  any   `json:"value"`
	Values []any `json:"values"`
}

// readPlan reads what PlanJson wrote about our zones.
func readPlan(text []byte, zones []zone) (changes, error) {
	var document map[string]map[string]struct {
		Changes []change `json:"changes"`
		Meta    any      `json:"meta"`
	}
	if err := json.Unmarshal(text, &document); err != nil {
		return changes{}, fmt.Errorf("read the plan of OctoDNS: %w", err)
	}
	var c changes
	for _, z := range zones {
		one := zoneChanges{name: z.name, wanted: len(z.records), list: document[live][z.name].Changes}
		for _, ch := range one.list {
			switch ch.Type {
			case "create":
				one.created++
			case "update":
				one.updated++
			case "delete":
				one.deleted++
			default:
				return changes{}, fmt.Errorf("read the plan of OctoDNS: it has a change of type %q", ch.Type)
			}
		}
		c.zones = append(c.zones, one)
	}
	return c, nil
}

// any tells whether there is anything to change.
func (c changes) any() bool {
	return slices.ContainsFunc(c.zones, func(z zoneChanges) bool { return len(z.list) > 0 })
}

// ownNS tells whether the name servers of a zone itself would change.
func (c changes) ownNS() bool { return slices.ContainsFunc(c.zones, zoneChanges.ownNS) }

func (z zoneChanges) ownNS() bool {
	return slices.ContainsFunc(z.list, func(ch change) bool { return ch.Name == "" && ch.Kind == "NS" })
}

// lostNS are the name servers that the zone itself would lose.
func (z zoneChanges) lostNS() []string {
	var lost []string
	for _, ch := range z.list {
		if ch.Name != "" || ch.Kind != "NS" || ch.Existing == nil {
			continue
		}
		for _, text := range ch.Existing.texts() {
			if ch.New == nil || !slices.Contains(ch.New.texts(), text) {
				lost = append(lost, text)
			}
		}
	}
	return lost
}

// live is how many records the zone holds now, of those that are ours to change.
func (z zoneChanges) live() int { return max(0, z.wanted-z.created+z.deleted) }

// String counts the changes.
func (z zoneChanges) String() string {
	if len(z.list) == 0 {
		return fmt.Sprintf("%s: no changes, %s", z.name, records(z.wanted))
	}
	return fmt.Sprintf("%s: %d to create, %d to change, %d to delete, of %s", z.name, z.created, z.updated, z.deleted, records(z.live()))
}

// records counts them in words.
func records(count int) string {
	if count == 1 {
		return "1 record"
	}
	return fmt.Sprintf("%d records", count)
}

// record is the plan as the record of a run has it.
func (c changes) record() []report.Zone {
	zones := make([]report.Zone, 0, len(c.zones))
	for _, z := range c.zones {
		zones = append(zones, report.Zone{Name: z.name, Records: z.live(), Create: z.created, Change: z.updated, Delete: z.deleted})
	}
	return zones
}

// show prints a plan for a person.
func (c changes) show(out io.Writer) error {
	var b strings.Builder
	for _, z := range c.zones {
		fmt.Fprintf(&b, "%s\n", z)
		for _, ch := range z.list {
			name := ch.Name
			if name == "" {
				name = "@"
			}
			switch ch.Type {
			case "create":
				fmt.Fprintf(&b, "  + %s %s %s\n", name, ch.Kind, ch.New)
			case "delete":
				fmt.Fprintf(&b, "  - %s %s %s\n", name, ch.Kind, ch.Existing)
			default:
				fmt.Fprintf(&b, "  ~ %s %s %s\n      becomes %s\n", name, ch.Kind, ch.Existing, ch.New)
			}
		}
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// order is how the parts of a value follow each other in a zone file.
var order = []string{
	"preference", "priority", "weight", "port", "exchange", "target", "flags", "tag", "value",
	"key_tag", "certificate_usage", "selector", "matching_type", "algorithm", "digest_type", "digest",
	"fingerprint_type", "fingerprint", "certificate_association_data", "svcpriority", "targetname", "svcparams",
}

// String writes the values as a zone file does, or nearly.
func (v *values) String() string {
	if v == nil {
		return ""
	}
	return fmt.Sprintf("%d %s", v.TTL, strings.Join(v.texts(), ", "))
}

func (v *values) texts() []string {
	list := v.Values
	if v.Value != nil {
		list = []any{v.Value}
	}
	texts := make([]string, 0, len(list))
	for _, value := range list {
		texts = append(texts, words(value))
	}
	return texts
}

func words(value any) string {
	switch v := value.(type) {
	case map[string]any:
		var parts []string
		for _, name := range order {
			if part, ok := v[name]; ok {
				parts = append(parts, words(part))
			}
		}
		if len(parts) == 0 { // the parameters of HTTPS
			text, err := json.Marshal(v)
			if err == nil && len(v) > 0 {
				parts = append(parts, string(text))
			}
		}
		return strings.Join(parts, " ")
	case string:
		return strings.ReplaceAll(v, `\;`, ";")
	case float64:
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprint(value)
}

// hasNS tells whether a zone is to hold name servers of its own.
func (z zone) hasNS() bool {
	return slices.ContainsFunc(z.records, func(r record) bool { return r.kind == mdns.TypeNS && r.name == z.name })
}
