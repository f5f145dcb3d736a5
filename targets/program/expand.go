package program

import (
	"fmt"
	"slices"

	"fediversity.eu/slipway/effects"
	"fediversity.eu/slipway/groups"
	"fediversity.eu/slipway/targets/task"
)

// expand lists the programs of a group.
func (r *Registry) expand(group groups.Group) []Program {
	var list []Program
	if len(group.Parts) > 0 {
		for _, verb := range r.verbsOf(group, "", Combined) {
			list = append(list, r.aggregateOf(group, Combined, "", verb))
		}
		return list
	}
	for _, machine := range group.Machines {
		list = append(list, r.systemOf(group, machine))
		for _, method := range group.Methods {
			for _, verb := range r.methods[method].Verbs(machine.Placement) {
				list = append(list, r.deploymentOf(group, machine, method, verb))
			}
		}
	}
	for _, effect := range r.effectsOf(group) {
		for _, verb := range effect.Verbs(group) {
			list = append(list, effectProgram(group, effect, verb))
		}
	}
	for _, kind := range []Kind{All, Combined} {
		for _, method := range append([]string{""}, group.Methods...) {
			for _, verb := range r.verbsOf(group, method, kind) {
				list = append(list, r.aggregateOf(group, kind, method, verb))
			}
		}
	}
	return list
}

func (r *Registry) systemOf(group groups.Group, machine groups.Machine) Program {
	return Program{
		Group: group.Name, Machine: machine.Name, Internal: machine.Internal, Kind: System,
		Description: fmt.Sprintf("builds the NixOS system of %s's %s and prints its store path", group.Name, machine.Name),
	}.named()
}

func (r *Registry) deploymentOf(group groups.Group, machine groups.Machine, method string, verb task.Verb) Program {
	return Program{
		Group: group.Name, Machine: machine.Name, Internal: machine.Internal, Kind: Deployment,
		Method: method, Verb: verb.Name,
		Description: described(verb, fmt.Sprintf("%s's %s by %s: %s", group.Name, machine.Name, method, machine.Description)),
	}.named()
}

func effectProgram(group groups.Group, effect effects.Effect, verb task.Verb) Program {
	return Program{
		Group: group.Name, Effect: effect.Name(), Verb: verb.Name, Kind: Standalone,
		Description: described(verb, group.Name+"'s "+effect.Name()+": "+effect.Description()),
	}.named()
}

// effectsOf lists the effects of a group in the order in which they take place.
func (r *Registry) effectsOf(group groups.Group) []effects.Effect {
	var list []effects.Effect
	for _, effect := range r.effects {
		if slices.Contains(group.Effects, effect.Name()) {
			list = append(list, effect)
		}
	}
	return list
}

func (r *Registry) aggregateOf(group groups.Group, kind Kind, method string, verb task.Verb) Program {
	if len(group.Parts) > 0 {
		return r.wholeOf(group, verb)
	}
	what := "every published machine of " + group.Name
	if kind == Combined {
		what = "all of " + group.Name + " in order of dependency"
		if len(group.Effects) > 0 {
			what += ", effects included"
		}
	}
	return Program{
		Group: group.Name, Kind: kind, Method: method, Verb: verb.Name,
		Description: described(verb, what+" by "+wayOf(group, method)),
	}.named()
}

// wayOf is the method of an aggregate of a group without parts; "" is the group's
// first.
func wayOf(group groups.Group, method string) string {
	if method == "" {
		return group.Methods[0]
	}
	return method
}

// verbsOf lists the verbs that an aggregate has: those that at least one of its
// members has. Method "" is the group's first, or those of its parts.
func (r *Registry) verbsOf(group groups.Group, method string, kind Kind) []task.Verb {
	var verbs []task.Verb
	add := func(list []task.Verb) {
		for _, verb := range list {
			if !slices.ContainsFunc(verbs, func(v task.Verb) bool { return v.Name == verb.Name }) {
				verbs = append(verbs, verb)
			}
		}
	}
	for _, part := range group.Parts {
		if kind == Combined { // parts depend on each other, which all does not know
			add(r.verbsOf(r.groupOf(part.Group), part.Method, kind))
		}
	}
	for _, machine := range membersOf(group, kind) {
		add(r.methods[wayOf(group, method)].Verbs(machine.Placement))
	}
	return verbs
}

func membersOf(group groups.Group, kind Kind) []groups.Machine {
	if kind == Combined {
		return group.Machines
	}
	var published []groups.Machine
	for _, machine := range group.Machines {
		if machine.Published() {
			published = append(published, machine)
		}
	}
	return published
}
