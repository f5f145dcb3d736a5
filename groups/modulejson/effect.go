package modulejson

import (
	"maps"
	"slices"

	"fediversity.eu/slipway/groups"
)

// effects is the effects layer: for each effect what it is about.
type effects struct {
	Image      []groups.Image    `json:"image,omitempty"`
	DNS        *names            `json:"dns,omitempty"`
	Registrars *delegated        `json:"registrars,omitempty"`
	NetBox     *groups.Inventory `json:"netbox,omitempty"`
}

// names is what the effect dns publishes.
type names struct {
	Zones    []groups.Zone    `json:"zones,omitempty"`
	Machines map[string]named `json:"machines,omitempty"`
}

// named is what zones say of a machine beside its name.
type named struct {
	Addresses []string        `json:"addresses,omitempty"`
	Names     []string        `json:"names,omitempty"`
	Records   []groups.Record `json:"records,omitempty"`
}

// delegated is what the effect registrars has the parent zones say.
type delegated struct {
	Delegations []groups.Delegation `json:"delegations"`
}

func effectsOf(group groups.Group) effects {
	e := effects{Image: group.Images, NetBox: group.Inventory}
	d := names{Zones: group.Zones, Machines: map[string]named{}}
	for _, m := range group.Machines {
		if len(m.Addresses)+len(m.Names)+len(m.Records) > 0 {
			d.Machines[m.Name] = named{m.Addresses, m.Names, m.Records}
		}
	}
	if len(d.Zones)+len(d.Machines) > 0 { // an inventory needs addresses as well
		e.DNS = &d
	}
	if len(group.Delegations) > 0 {
		e.Registrars = &delegated{group.Delegations}
	}
	return e
}

// uses gives a group what the layer says of one effect, in the place of what it has.
var uses = map[string]func(effects, *groups.Group){
	"dns": func(e effects, group *groups.Group) {
		var d names
		if e.DNS != nil {
			d = *e.DNS
		}
		group.Zones = d.Zones
		group.Machines = slices.Clone(group.Machines)
		for i := range group.Machines {
			m := &group.Machines[i]
			said := d.Machines[m.Name]
			m.Addresses, m.Names, m.Records = said.Addresses, said.Names, said.Records
		}
	},
	"registrars": func(e effects, group *groups.Group) {
		group.Delegations = nil
		if e.Registrars != nil {
			group.Delegations = e.Registrars.Delegations
		}
	},
	"image":  func(e effects, group *groups.Group) { group.Images = e.Image },
	"netbox": func(e effects, group *groups.Group) { group.Inventory = e.NetBox },
}

// Effects lists the effects that have a place in the effects layer.
func Effects() []string { return slices.Sorted(maps.Keys(uses)) }
