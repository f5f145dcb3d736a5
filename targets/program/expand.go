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
	what := "every published machine of " + group.Name
	if kind == Combined {
		what = "all of " + group.Name + " in order of dependency"
		if len(group.Effects) > 0 {
			what += ", effects included"
		}
	}
	by := method
	if by == "" {
		by = group.Methods[0]
	}
	return Program{
		Group: group.Name, Kind: kind, Method: method, Verb: verb.Name,
		Description: described(verb, what+" by "+by),
	}.named()
}

// verbsOf lists the verbs that an aggregate has: those that at least one of its
// members has. Method "" is the group's first.
func (r *Registry) verbsOf(group groups.Group, method string, kind Kind) []task.Verb {
	if method == "" {
		method = group.Methods[0]
	}
	var verbs []task.Verb
	for _, machine := range membersOf(group, kind) {
		for _, verb := range r.methods[method].Verbs(machine.Placement) {
			if !slices.ContainsFunc(verbs, func(v task.Verb) bool { return v.Name == verb.Name }) {
				verbs = append(verbs, verb)
			}
		}
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
