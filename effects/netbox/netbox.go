// Package netbox is the effect that keeps a group in a NetBox, an inventory of
// what there is: its machines, their interfaces, addresses and services, and
// what these stand in. It looks before it creates, changes only what differs,
// and deletes only what bears the deployment's tag.
package netbox

import (
	"errors"

	"fediversity.eu/slipway/effects/address"
	"fediversity.eu/slipway/groups"
	"fediversity.eu/slipway/targets/task"
)

// Name is how programs call the effect.
const Name = "netbox"

// Effect keeps a group in a NetBox.
type Effect struct{}

// New makes the effect.
func New() *Effect { return &Effect{} }

// Name is "netbox".
func (*Effect) Name() string { return Name }

// Description says the effect in one line.
func (*Effect) Description() string { return "the inventory of a group, in a NetBox" }

// Verbs lists what can be done with the inventory of a group; nothing where the
// group declares none.
func (*Effect) Verbs(group groups.Group) []task.Verb {
	if group.Inventory == nil {
		return nil
	}
	return []task.Verb{
		{Name: task.Apply, Description: "keeps"},
		{Name: "plan", Description: "shows what apply would change in"},
		{Name: "destroy", Description: "deletes what bears the tag of"},
	}
}

// Check says what is wrong with the inventory that a group declares.
func (*Effect) Check(group groups.Group) error {
	faults := []error{group.Inventory.Check(group.Machines)}
	for _, m := range group.Machines {
		_, err := address.Declared(m)
		faults = append(faults, err)
	}
	return errors.Join(faults...)
}

// Task makes one run of a verb.
func (*Effect) Task(group groups.Group, verb string) task.Task {
	c := &coordinates{group: group}
	switch verb {
	case "plan":
		return &plan{coordinates: c}
	case "destroy":
		return &destroy{coordinates: c}
	default:
		return &apply{coordinates: c}
	}
}
