// Package registrars is the effect that delegates a group's domains: it has a
// registrar tell the parent zone the name servers of a domain, their addresses, and
// the keys that sign it.
//
// Order is what keeps a domain reachable. Addresses come before the name servers
// that have them, and keys after the name servers that answer with them; on the way
// back it is the other way round. Before the parent is to vouch for a key, the
// domain's own name servers are asked for it.
package registrars

import (
	"fediversity.eu/slipway/groups"
	"fediversity.eu/slipway/targets/task"
)

// Name is how programs call the effect.
const Name = "registrars"

// Effect delegates domains.
type Effect struct{}

// New makes the effect.
func New() *Effect { return &Effect{} }

// Name is "registrars".
func (*Effect) Name() string { return Name }

// Description says the effect in one line.
func (*Effect) Description() string {
	return "the delegation of the domains at their registrars: name servers, their addresses, DNSSEC keys"
}

var verbs = []task.Verb{
	{Name: task.Apply, Description: "changes what differs in"},
	{Name: "plan", Description: "shows what apply would change in"},
	{Name: "validate", Description: "checks, and shows, what is declared of"},
	{Name: "verify", Description: "asks the servers of the parent zone and of the domain until they agree on"},
}

// Verbs lists what can be done; nothing for a group without delegations.
func (*Effect) Verbs(group groups.Group) []task.Verb {
	if len(group.Delegations) == 0 {
		return nil
	}
	return verbs
}

// Task makes one run of a verb.
func (*Effect) Task(group groups.Group, verb string) task.Task {
	e := newEvaluation(group)
	switch verb {
	case "plan":
		return &plan{access: access{evaluation: e}}
	case "validate":
		return &validate{evaluation: e}
	case "verify":
		return &verify{evaluation: e}
	default:
		return &apply{access: access{evaluation: e}}
	}
}

// Check finds what is wrong with what a group declares, whatever its coordinates
// will be: an unknown registrar, a malformed key. The error names every fault.
func (*Effect) Check(group groups.Group) error {
	e := newEvaluation(group)
	e.declared = true
	_, err := e.evaluate()
	return err
}
