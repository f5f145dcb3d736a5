package program

import (
	"maps"
	"slices"

	"fediversity.eu/slipway/effects"
	"fediversity.eu/slipway/groups"
)

// destroy is the verb that takes a graph apart from its far end, and plan the one
// that may end with changes.
const destroy, plan = "destroy", "plan"

// edges lists, for each machine and effect of a group, what comes before it: what
// a machine needs, and every internal machine before the published ones; every
// machine before the effects, and each of these before the next, but for those that
// prepare, which come before all machines.
func edges(group groups.Group, standalone []effects.Effect, backwards bool) map[string][]string {
	before := map[string][]string{}
	add := func(machine, first string) {
		if backwards {
			machine, first = first, machine
		}
		if !slices.Contains(before[machine], first) {
			before[machine] = append(before[machine], first)
		}
	}
	var followers []effects.Effect
	for _, effect := range standalone {
		if _, prepares := effect.(effects.Preparer); prepares {
			for _, machine := range group.Machines {
				add(machine.Name, effect.Name())
			}
			continue
		}
		for _, machine := range group.Machines {
			add(effect.Name(), machine.Name)
		}
		for _, other := range followers {
			add(effect.Name(), other.Name())
		}
		followers = append(followers, effect)
	}
	all := allNeeds(group)
	for _, machine := range group.Machines {
		for _, need := range machine.Needs {
			add(machine.Name, need)
		}
		if machine.Internal {
			continue
		}
		for _, other := range group.Machines {
			// An internal machine that needs a published one can't come before it.
			if other.Internal && !all[other.Name][machine.Name] {
				add(machine.Name, other.Name)
			}
		}
	}
	return before
}

// allNeeds gives what each machine of a group needs, directly or not.
func allNeeds(group groups.Group) map[string]map[string]bool {
	direct := map[string][]string{}
	for _, machine := range group.Machines {
		direct[machine.Name] = machine.Needs
	}
	all := map[string]map[string]bool{}
	var of func(name string) map[string]bool
	of = func(name string) map[string]bool {
		if known, ok := all[name]; ok {
			return known
		}
		needs := map[string]bool{}
		all[name] = needs
		for _, need := range direct[name] {
			needs[need] = true
			maps.Copy(needs, of(need))
		}
		return needs
	}
	for name := range direct {
		of(name)
	}
	return all
}
