package netbox

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// kind is a kind of objects in NetBox.
type kind struct {
	noun string // "virtual machine"
	path string // of the API, with its slash
	ref  string // as NetBox names the kind where an object refers to one of any
	// shared objects are used as they are where they exist without our tag; others
	// are not touched, and stop the run.
	shared bool
	// key identifies an object among those of its kind; "" means that it can't be
	// one of ours.
	key func(record) string
}

// The kinds, in the order in which they need each other.
var (
	tags          = &kind{noun: "tag", path: "extras/tags/", shared: true, key: bySlug}
	tenants       = &kind{noun: "tenant", path: "tenancy/tenants/", shared: true, key: bySlug}
	sites         = &kind{noun: "site", path: "dcim/sites/", ref: "dcim.site", shared: true, key: bySlug}
	manufacturers = &kind{noun: "manufacturer", path: "dcim/manufacturers/", shared: true, key: bySlug}
	deviceTypes   = &kind{noun: "device type", path: "dcim/device-types/", shared: true, key: bySlug}
	roles         = &kind{noun: "role", path: "dcim/device-roles/", shared: true, key: bySlug}
	platforms     = &kind{noun: "platform", path: "dcim/platforms/", shared: true, key: bySlug}
	clusterTypes  = &kind{noun: "cluster type", path: "virtualization/cluster-types/", shared: true, key: bySlug}
	clusters      = &kind{noun: "cluster", path: "virtualization/clusters/", shared: true, key: func(r record) string { return r.text("name") }}

	devices          = &kind{noun: "device", path: "dcim/devices/", ref: "dcim.device", key: byName}
	virtualMachines  = &kind{noun: "virtual machine", path: "virtualization/virtual-machines/", ref: "virtualization.virtualmachine", key: byName}
	deviceInterfaces = &kind{noun: "interface", path: "dcim/interfaces/", ref: "dcim.interface", key: func(r record) string {
		return partKey(r.text("device"), r.text("name"))
	}}
	vmInterfaces = &kind{noun: "interface", path: "virtualization/interfaces/", ref: "virtualization.vminterface", key: func(r record) string {
		return partKey(r.text("virtual_machine"), r.text("name"))
	}}
	addresses = &kind{noun: "address", path: "ipam/ip-addresses/", key: func(r record) string {
		prefix, err := netip.ParsePrefix(r.text("address"))
		if err != nil {
			return ""
		}
		return prefix.Addr().String()
	}}
	services = &kind{noun: "service", path: "ipam/services/", key: func(r record) string {
		return partKey(r.text("parent_object_type")+" "+r.text("parent_object_id"), strings.ToLower(r.text("name")))
	}}
)

// scaffold are the kinds of what machines stand in, in the order in which they
// need each other.
var scaffold = []*kind{tenants, sites, manufacturers, deviceTypes, roles, platforms, clusterTypes, clusters}

// owned are the kinds of what the deployment has for itself, in that order too.
var owned = []*kind{devices, virtualMachines, deviceInterfaces, vmInterfaces, addresses, services}

func bySlug(r record) string { return r.text("slug") }

// NetBox takes names of machines that differ only in case for the same.
func byName(r record) string { return strings.ToLower(r.text("name")) }

func partKey(whole, name string) string { return whole + " " + name }

// record is an object as NetBox tells it.
type record map[string]any

// text gives a field as text: the id of an object, the value of a choice, and ""
// for nothing.
func (r record) text(field string) string { return plain(r[field]) }

func (r record) id() int { return r.number("id") }

// number gives a field as a whole number; 0 for what is none.
func (r record) number(field string) int {
	n, _ := strconv.Atoi(r.text(field))
	return n
}

// shown is what a person reads of a field.
func (r record) shown(field string) string {
	object, ok := r[field].(map[string]any)
	if display, there := object["display"].(string); ok && there {
		return display
	}
	return r.text(field)
}

// marked tells whether the object bears a tag.
func (r record) marked(tag string) bool {
	list, _ := r["tags"].([]any)
	for _, one := range list {
		if t, ok := one.(map[string]any); ok && t["slug"] == tag {
			return true
		}
	}
	return false
}

// plain writes a value of NetBox's as text. Objects read as more than what is
// written: a related one has an id, a choice its value.
func plain(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case map[string]any:
		if choice, ok := v["value"]; ok {
			return plain(choice)
		}
		return plain(v["id"])
	case []any:
		words := make([]string, len(v))
		for i, one := range v {
			words[i] = plain(one)
		}
		return inOrder(words)
	case string:
		return v
	}
	return fmt.Sprint(value)
}
