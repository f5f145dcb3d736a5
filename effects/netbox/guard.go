package netbox

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"fediversity.eu/slipway/targets/report"
)

// guard finds what NetBox would delete along with objects of ours and is not
// ours: it takes interfaces, addresses and services with their machine, and
// addresses with their interface, whoever made them.
func (c *client) guard(ctx context.Context, deletes []leftover, tag string) error {
	var faults []error
	along := func(what string, r record) {
		if !r.marked(tag) {
			faults = append(faults, fmt.Errorf("%s: %s %q (id %d) would go with it, and lacks the tag %s",
				what, r.text("url"), r.text("display"), r.id(), tag))
		}
	}
	for _, l := range deletes {
		for _, field := range l.more() {
			faults = append(faults, fmt.Errorf("%s: it has more that would go with it: %s", l, field))
		}
	}
	for _, part := range []struct {
		whole, kind *kind
		field       string
	}{
		{devices, deviceInterfaces, "device_id"},
		{devices, addresses, "device_id"},
		{devices, services, "device_id"},
		{virtualMachines, vmInterfaces, "virtual_machine_id"},
		{virtualMachines, addresses, "virtual_machine_id"},
		{virtualMachines, services, "virtual_machine_id"},
		{deviceInterfaces, addresses, "interface_id"},
		{vmInterfaces, addresses, "vminterface_id"},
	} {
		ids, names := idsOf(part.whole, deletes)
		found, err := c.find(ctx, part.kind, nil, part.field, ids)
		if err != nil {
			return err
		}
		for _, r := range found {
			along(names[leftover{part.kind, r}.owner()], r)
		}
	}
	if len(faults) == 0 {
		return nil
	}
	return report.Refuse("look at what would be deleted", errors.Join(faults...),
		"move it in NetBox to where it belongs, or give it the tag "+tag+" to let it go")
}

// idsOf gives the ids of the objects of a kind, and their names by kind and id.
func idsOf(k *kind, objects []leftover) (ids []string, names map[string]string) {
	names = map[string]string{}
	for _, l := range objects {
		if l.kind == k {
			ids = append(ids, strconv.Itoa(l.id()))
		}
		names[l.kind.ref+" "+strconv.Itoa(l.id())] = l.String()
	}
	return ids, names
}

// more names what hangs on an object by NetBox's own count and is no interface,
// address or service.
func (l leftover) more() []string {
	var list []string
	switch l.kind {
	case devices, virtualMachines:
		list = l.counts("interface_count")
	case deviceInterfaces, vmInterfaces:
		if macs, ok := l.record["mac_addresses"].([]any); ok && len(macs) > 0 {
			list = append(list, "MAC addresses")
		}
	}
	return list
}

// counts names the counters of a record that are not zero: NetBox counts what
// uses an object, or is part of it.
func (r record) counts(but ...string) []string {
	var list []string
	for name := range r {
		if strings.HasSuffix(name, "_count") && r.number(name) > 0 && !slices.Contains(but, name) {
			list = append(list, fmt.Sprintf("%s %d", name, r.number(name)))
		}
	}
	slices.Sort(list)
	return list
}

// uses lists what would go with an object of the scaffold, or would lose it,
// beside what NetBox counts in it.
func (c *client) uses(ctx context.Context, l leftover) ([]string, error) {
	list := l.counts()
	for _, by := range usedBy[l.kind] {
		found, err := c.list(ctx, &kind{noun: by.noun, path: by.path}, url.Values{by.field: {strconv.Itoa(l.id())}})
		if err != nil {
			return nil, err
		}
		if len(found) > 0 {
			list = append(list, fmt.Sprintf("%s %d", by.noun, len(found)))
		}
	}
	return list, nil
}

// usedBy is what goes with a site or a cluster, and is in none of its counters
// (dcim.models.mixins.CachedScopeMixin and generic relations of NetBox 4.7).
var usedBy = map[*kind][]struct{ noun, path, field string }{
	sites: {
		{"clusters", "virtualization/clusters/", "site_id"},
		{"locations", "dcim/locations/", "site_id"},
		{"prefixes", "ipam/prefixes/", "site_id"},
		{"VLAN groups", "ipam/vlan-groups/", "site"},
		{"wireless LANs", "wireless/wireless-lans/", "site_id"},
	},
	clusters: {{"VLAN groups", "ipam/vlan-groups/", "cluster"}},
}
