package netbox

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	"fediversity.eu/slipway/targets/report"
)

// looker finds out what NetBox holds of what is wanted.
type looker struct {
	*client
	*wanted
	marked map[*kind][]record // what bears our tag
	faults []error            // what stands in the way, and is not ours
}

// look reads NetBox: one list a kind, and then by name what was not among them,
// for it may be there without our tag. It fills in what was found, and gives what
// bears our tag and is not wanted.
func (c *client) look(ctx context.Context, w *wanted) ([]leftover, error) {
	l := &looker{client: c, wanted: w}
	var err error
	if l.marked, err = c.allMarked(ctx, w.tag, owned); err != nil {
		return nil, err
	}
	if err := l.lookAtScaffold(ctx); err != nil {
		return nil, err
	}
	var left []leftover
	for _, k := range owned {
		more, err := l.match(ctx, k)
		if err != nil {
			return nil, err
		}
		left = append(left, more...)
	}
	return left, l.refusal()
}

// lookAtTag finds the tag. Without it nothing is marked, and NetBox would take a
// question about it for a mistake. It is the first look, after which the version
// of the API is known.
func (c *client) lookAtTag(ctx context.Context, tag *thing) error {
	found, err := c.list(ctx, tags, url.Values{"slug": {tag.key()}})
	if err != nil {
		return err
	}
	if !c.api().atLeast(oldest) {
		return report.Refuse("look at NetBox", fmt.Errorf("its API is %s", c.api()), "NetBox must be "+oldest.String()+" or later")
	}
	if len(found) == 0 {
		return nil
	}
	tag.found, tag.id = found[0], found[0].id()
	if says, ours := found[0].text("description"), tag.text("description"); !strings.HasPrefix(says+" ", ours+" ") {
		return report.Refuse("look at the tag "+tag.key(), fmt.Errorf("its description is %q: what bears it may be somebody else's", says),
			"NETBOX_TAG names a tag of this deployment alone; if that one is, let its description begin with: "+ours)
	}
	return nil
}

// refusal is what stands in the way, all of it.
func (l *looker) refusal() error {
	if len(l.faults) == 0 {
		return nil
	}
	return report.Refuse("look at what NetBox holds", errors.Join(l.faults...),
		"what is not the deployment's is not touched: give it the tag "+l.tag.key()+" in NetBox to hand it over, or take it away there")
}

// allMarked lists what bears a tag, of several kinds.
func (c *client) allMarked(ctx context.Context, tag *thing, kinds []*kind) (map[*kind][]record, error) {
	all := map[*kind][]record{}
	if tag.id == 0 {
		return all, nil
	}
	found := make([][]record, len(kinds))
	group, ctx := errgroup.WithContext(ctx)
	for i, k := range kinds {
		group.Go(func() (err error) {
			found[i], err = c.list(ctx, k, url.Values{"tag": {tag.key()}})
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	for i, k := range kinds {
		all[k] = found[i]
	}
	return all, nil
}

// lookAtScaffold finds what machines stand in, whoever made it.
func (l *looker) lookAtScaffold(ctx context.Context) error {
	found := make([][]record, len(scaffold))
	group, ctx := errgroup.WithContext(ctx)
	for i, k := range scaffold {
		field := "slug"
		if k == clusters {
			field = "name"
		}
		group.Go(func() (err error) {
			found[i], err = l.find(ctx, k, nil, field, keysOf(l.things[k]))
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for i, k := range scaffold {
		by := byKey(k, found[i])
		for _, t := range l.things[k] {
			l.take(t, by[t.key()])
		}
	}
	return nil
}

// take gives a thing its record, which must be the only one.
func (l *looker) take(t *thing, records []record) {
	if len(records) == 0 {
		return
	}
	t.found, t.id, t.ours = records[0], records[0].id(), records[0].marked(l.tag.key())
	if len(records) == 1 {
		return
	}
	ids := make([]string, len(records))
	for i, r := range records {
		ids[i] = strconv.Itoa(r.id())
	}
	l.faults = append(l.faults, fmt.Errorf("%s: there are several, with the ids %s", t, strings.Join(ids, ", ")))
}

// match finds the things of a kind among what bears our tag; what is left of
// that is not wanted. What is not found is looked for without the tag.
func (l *looker) match(ctx context.Context, k *kind) ([]leftover, error) {
	by := byKey(k, l.marked[k])
	var missing []*thing
	for _, t := range l.things[k] {
		key := t.key()
		if len(by[key]) == 0 || key == "" {
			missing = append(missing, t)
			continue
		}
		// Of several that are all ours, the others are as good as not wanted.
		t.found, t.id, t.ours = by[key][0], by[key][0].id(), true
		by[key] = by[key][1:]
	}
	var left []leftover
	for _, key := range slices.Sorted(maps.Keys(by)) {
		for _, r := range by[key] {
			left = append(left, leftover{kind: k, record: r})
		}
	}
	strangers, err := l.strangers(ctx, k, missing)
	if err != nil {
		return nil, err
	}
	found := byKey(k, strangers)
	for _, t := range missing {
		for _, r := range found[t.key()] {
			if !t.clashes(r) {
				continue
			}
			l.faults = append(l.faults, fmt.Errorf("%s: it is there already (id %d%s), without the tag %s", t, r.id(), assigned(r), l.tag.key()))
		}
	}
	return left, nil
}

// assigned says what an address is assigned to.
func assigned(r record) string {
	if to := r.shown("assigned_object"); to != "" {
		return ", of " + to
	}
	return ""
}

// clashes tells whether NetBox would have no place for the thing beside a record
// of the same name: machines are told apart by their tenants too, addresses by
// where they are routed.
func (t *thing) clashes(r record) bool {
	switch t.kind {
	case devices, virtualMachines:
		return r.text("tenant") == t.text("tenant")
	case addresses:
		return r.text("vrf") == ""
	}
	return true
}

// strangers lists objects that may be things which were not found among ours.
func (l *looker) strangers(ctx context.Context, k *kind, missing []*thing) ([]record, error) {
	var values, wholes []string
	for _, t := range missing {
		if t.key() == "" {
			continue // what it is part of is not there
		}
		for _, f := range t.fields {
			switch f.name {
			case "name", "address":
				value, _, _ := strings.Cut(f.text(), "/")
				values = append(values, value)
			case "device", "virtual_machine", "parent_object_id":
				wholes = append(wholes, f.text())
			}
		}
	}
	values, wholes = unique(values), unique(wholes)
	if len(values) == 0 {
		return nil, nil
	}
	switch k {
	case devices:
		return l.within(ctx, k, "site_id", l.things[sites][0], values)
	case virtualMachines:
		return l.within(ctx, k, "cluster_id", l.things[clusters][0], values)
	case addresses:
		return l.find(ctx, k, nil, "address", values)
	case deviceInterfaces:
		return l.find(ctx, k, nil, "device_id", wholes)
	case vmInterfaces:
		return l.find(ctx, k, nil, "virtual_machine_id", wholes)
	}
	var all []record
	for whole, field := range map[*kind]string{devices: "device_id", virtualMachines: "virtual_machine_id"} {
		var ids []string
		for _, t := range l.things[whole] {
			if t.id != 0 && slices.Contains(wholes, strconv.Itoa(t.id)) {
				ids = append(ids, strconv.Itoa(t.id))
			}
		}
		found, err := l.find(ctx, k, nil, field, unique(ids))
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// within lists machines by their names in a site or a cluster, which may not be
// there.
func (l *looker) within(ctx context.Context, k *kind, field string, place *thing, names []string) ([]record, error) {
	if place.id == 0 {
		return nil, nil
	}
	return l.find(ctx, k, url.Values{field: {strconv.Itoa(place.id)}}, "name__ie", names)
}

func keysOf(things []*thing) []string {
	var keys []string
	for _, t := range things {
		keys = append(keys, t.key())
	}
	return unique(keys)
}

// byKey sorts records by what identifies them.
func byKey(k *kind, records []record) map[string][]record {
	by := map[string][]record{}
	for _, r := range records {
		key := k.key(r)
		by[key] = append(by[key], r)
	}
	return by
}

func unique(words []string) []string {
	sorted := slices.Clone(words)
	slices.Sort(sorted)
	return slices.Compact(sorted)
}
