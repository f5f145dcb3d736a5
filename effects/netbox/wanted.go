package netbox

import (
	"cmp"
	"fmt"
	"net/netip"
	"strings"

	"fediversity.eu/slipway/effects/address"
	"fediversity.eu/slipway/groups"
)

// wanted is all that NetBox is to hold of a group.
type wanted struct {
	tag      *thing
	things   map[*kind][]*thing
	machines []*machine
}

// machine is one machine with the addresses that stand out.
type machine struct {
	*thing
	primary map[string]*thing // by field: primary_ip4, primary_ip6
}

// newTag is the tag that marks what is a deployment's.
func newTag(name, group string) *thing {
	return &thing{kind: tags, name: name, fields: []field{
		{name: "name", want: name, once: true},
		{name: "slug", want: slug(name)},
		{name: "description", want: tagDescription(group), once: true},
	}}
}

// want says what NetBox is to hold of a group, in the form of a version of its
// API.
func want(group groups.Group, keys InventoryKeys, own map[string]address.List, tag *thing, v version) *wanted {
	inventory := *group.Inventory
	inventory.Tenant = cmp.Or(keys.Tenant, inventory.Tenant)
	inventory.Site = cmp.Or(keys.Site, inventory.Site)
	inventory.Cluster = cmp.Or(keys.Cluster, inventory.Cluster)
	w := &wanted{tag: tag, things: map[*kind][]*thing{}}
	b := builder{wanted: w, inventory: inventory, domain: strings.TrimSuffix(strings.ToLower(string(keys.Domain)), "."), version: v}
	b.tenant = b.named(tenants, inventory.Tenant)
	b.site = b.named(sites, inventory.Site, field{name: "status", want: "active", once: true})
	b.platform = b.named(platforms, inventory.PlatformName())
	for _, m := range group.Machines {
		b.machine(m, own[m.Name])
	}
	return w
}

// tagDescription is by what a tag is known to be a group's: what bears another one
// may be somebody else's, and is not for us to delete.
func tagDescription(group string) string {
	return "Made and kept by Slipway for the group " + group
}

// builder builds what is wanted.
type builder struct {
	*wanted
	inventory              groups.Inventory
	domain                 string
	version                version
	tenant, site, platform *thing
}

// add gives the thing of a kind and name, made once.
func (b *builder) add(t *thing) *thing {
	for _, other := range b.things[t.kind] {
		if t.kind.shared && other.name == t.name {
			return other
		}
	}
	b.things[t.kind] = append(b.things[t.kind], t)
	return t
}

// named gives a thing that is known by its name; nil where there is no name.
func (b *builder) named(k *kind, name string, more ...field) *thing {
	if name == "" {
		return nil
	}
	return b.add(&thing{kind: k, name: name, fields: append([]field{
		{name: "name", want: name, once: true},
		{name: "slug", want: slug(name)},
	}, more...)})
}

func (b *builder) machine(m groups.Machine, own address.List) {
	asset := b.inventory.Asset(m.Name)
	fields := []field{
		{name: "name", want: m.Name},
		{name: "status", want: "active"},
		{name: "site", want: b.site},
		{name: "role", want: b.named(roles, asset.Role, field{name: "vm_role", want: true})},
		{name: "platform", want: b.platform},
	}
	if b.tenant != nil {
		fields = append(fields, field{name: "tenant", want: b.tenant})
	}
	it := &machine{thing: &thing{kind: devices, name: m.Name}, primary: map[string]*thing{}}
	if b.inventory.Virtual(m) {
		it.kind = virtualMachines
		fields = append(fields, field{name: "cluster", want: b.cluster()})
		if local, ok := m.Placement.(groups.Local); ok {
			fields = append(fields, field{name: "memory", want: local.MemoryMiB}, field{name: "disk", want: local.DiskMiB})
		}
	} else {
		fields = append(fields, field{name: "device_type", want: b.deviceType(asset.Hardware)})
	}
	it.fields = fields
	b.add(it.thing)
	b.machines = append(b.machines, it)
	b.addresses(it, asset, own)
	for _, service := range asset.Services {
		b.service(it.thing, service)
	}
}

func (b *builder) cluster() *thing {
	kind := b.named(clusterTypes, b.inventory.ClusterType)
	return b.add(&thing{kind: clusters, name: b.inventory.Cluster, fields: []field{
		{name: "name", want: b.inventory.Cluster},
		{name: "type", want: kind},
		{name: "status", want: "active", once: true},
		{name: "scope_type", want: sites.ref},
		{name: "scope_id", want: b.site},
	}})
}

func (b *builder) deviceType(hardware groups.Hardware) *thing {
	manufacturer := b.named(manufacturers, hardware.Manufacturer)
	return b.add(&thing{kind: deviceTypes, name: hardware.Manufacturer + " " + hardware.Model, fields: []field{
		{name: "model", want: hardware.Model, once: true},
		{name: "slug", want: slug(hardware.Manufacturer + " " + hardware.Model)},
		{name: "manufacturer", want: manufacturer},
	}})
}

// addresses adds the interface that bears the addresses of a machine, if it has
// any, and these.
func (b *builder) addresses(m *machine, asset groups.Asset, own address.List) {
	if len(own) == 0 {
		return
	}
	name := asset.Interface
	bearer := &thing{kind: vmInterfaces, name: m.name + " " + name}
	bearer.fields = []field{{name: "name", want: name}, {name: "enabled", want: true}}
	if m.kind == devices {
		bearer.kind = deviceInterfaces
		bearer.fields = append(bearer.fields,
			field{name: "device", want: m.thing},
			field{name: "type", want: "other", once: true}) // nobody told us of its plug
	} else {
		bearer.fields = append(bearer.fields, field{name: "virtual_machine", want: m.thing})
	}
	b.add(bearer)
	for _, address := range own {
		fields := []field{
			// The mask is that of the network, which others know better.
			{name: "address", want: netip.PrefixFrom(address, address.BitLen()).String(), once: true},
			{name: "status", want: "active"},
			{name: "dns_name", want: strings.ToLower(m.name + "." + b.domain)},
			{name: "assigned_object_type", want: bearer.kind.ref},
			{name: "assigned_object_id", want: bearer},
		}
		if b.tenant != nil {
			fields = append(fields, field{name: "tenant", want: b.tenant})
		}
		it := b.add(&thing{kind: addresses, name: address.String(), fields: fields})
		primary := "primary_ip4"
		if address.Is6() {
			primary = "primary_ip6"
		}
		if m.primary[primary] == nil {
			m.primary[primary] = it
		}
	}
}

// service adds what a machine offers. Its form changed with 4.7, where a service
// may have ports of several protocols; before, it is one object a protocol.
func (b *builder) service(m *thing, s groups.Service) {
	parent := []field{{name: "parent_object_type", want: m.kind.ref}, {name: "parent_object_id", want: m}}
	add := func(name string, form ...field) {
		b.add(&thing{kind: services, name: m.name + " " + name, fields: append(append([]field{{name: "name", want: name}}, form...), parent...)})
	}
	if b.version.atLeast(version{4, 7}) {
		add(s.Name, field{name: "port_mappings", want: s.Ports})
		return
	}
	ports := map[string][]int{}
	var protocols []string
	for _, port := range s.Ports {
		protocol, number, _ := strings.Cut(port, "/")
		if ports[protocol] == nil {
			protocols = append(protocols, protocol)
		}
		var n int
		_, _ = fmt.Sscanf(number, "%d", &n) // Inventory.Check has looked at it
		ports[protocol] = append(ports[protocol], n)
	}
	for i, protocol := range protocols {
		name := s.Name
		if i > 0 {
			name += "-" + protocol
		}
		add(name, field{name: "protocol", want: protocol}, field{name: "ports", want: ports[protocol]})
	}
}
