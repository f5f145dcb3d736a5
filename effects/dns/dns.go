// Package dns is the effect that publishes a group's names: zones rendered from
// the group's machines, their addresses and its own records, written by OctoDNS
// to whoever serves them, and only as far as the plan that was judged.
package dns

import (
	"fediversity.eu/slipway/groups"
	"fediversity.eu/slipway/targets/task"
)

// Name is how programs call the effect.
const Name = "dns"

// Effect publishes the zones of a group.
type Effect struct{}

// New makes the effect.
func New() *Effect { return &Effect{} }

// Name is "dns".
func (*Effect) Name() string { return Name }

// Description says the effect in one line.
func (*Effect) Description() string { return "the zones of a group, with OctoDNS" }

// Verbs lists what can be done with the zones of a group; nothing where it has
// none.
func (*Effect) Verbs(group groups.Group) []task.Verb {
	if len(group.Zones) == 0 {
		return nil
	}
	return []task.Verb{
		{Name: task.Apply, Description: "publishes"},
		{Name: "plan", Description: "shows what apply would change in"},
		{Name: "validate", Description: "checks, without asking a server,"},
		{Name: "dump", Description: "prints what the servers hold of"},
	}
}

// Task makes one run of a verb.
func (*Effect) Task(group groups.Group, verb string) task.Task {
	d := declared{group: group}
	switch verb {
	case "plan":
		return &plan{served{declared: d}}
	case "validate":
		return &validate{d}
	case "dump":
		return &dump{served{declared: d}}
	default:
		return &apply{served{declared: d}}
	}
}
