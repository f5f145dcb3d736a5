package program

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"fediversity.eu/slipway/groups"
	"fediversity.eu/slipway/targets/task"
)

// wholeOf is the program of a verb of a group with parts. Its description names those
// that have the verb.
func (r *Registry) wholeOf(group groups.Group, verb task.Verb) Program {
	p := Program{Group: group.Name, Kind: Combined, Verb: verb.Name}
	var ways []string
	for _, part := range r.inTurn(p) {
		if len(r.Members(part)) > 0 {
			ways = append(ways, part.Group+" by "+part.Method)
		}
	}
	p.Description = described(verb, "all of "+group.Name+" in order of dependency: "+strings.Join(ways, ", "))
	return p.named()
}

// partsOf gives the combined program of each part of a group, with the verb of the
// group's own; it is for its members, whether or not there is a program of that name.
func (r *Registry) partsOf(p Program) []Program {
	var list []Program
	for _, part := range r.groupOf(p.Group).Parts {
		list = append(list, Program{Group: part.Group, Method: part.Method, Verb: p.Verb, Kind: Combined})
	}
	return list
}

// wholeOrParts gives the groups that a group's programs are about: itself, or its
// parts.
func (r *Registry) wholeOrParts(group groups.Group) []groups.Group {
	if len(group.Parts) == 0 {
		return []groups.Group{group}
	}
	list := make([]groups.Group, 0, len(group.Parts))
	for _, part := range group.Parts {
		list = append(list, r.groupOf(part.Group))
	}
	return list
}

// inTurn gives the same in the order in which they are taken up: a destruction goes
// backwards.
func (r *Registry) inTurn(p Program) []Program {
	parts := r.partsOf(p)
	if p.Verb == destroy {
		slices.Reverse(parts)
	}
	return parts
}

// needsOfParts gives what the members of a group with parts wait for: within a part
// what they wait for there; its first ones wait for the last ones of the part before,
// and with that for all of it.
func (r *Registry) needsOfParts(p Program) map[string][]string {
	needs := map[string][]string{}
	var last []string // those of the part before that nobody there waits for
	for _, part := range r.inTurn(p) {
		own := r.Needs(part)
		waitedFor := slices.Concat(slices.Collect(maps.Values(own))...)
		var ends []string
		for _, m := range r.Members(part) {
			if !slices.Contains(waitedFor, m.Name) {
				ends = append(ends, m.Name)
			}
			if before := own[m.Name]; len(before) > 0 {
				needs[m.Name] = before
			} else if len(last) > 0 {
				needs[m.Name] = last
			}
		}
		if len(ends) > 0 {
			last = ends
		}
	}
	return needs
}

// checkParts finds what is wrong with a group that is made of others.
func (r *Registry) checkParts(group groups.Group) []error {
	what := fmt.Sprintf("group %q", group.Name)
	faults := append(checkHead(what, group), checkBare(what, group)...)
	machines := map[string]string{} // by name: the part that has it
	for i, part := range group.Parts {
		if slices.ContainsFunc(group.Parts[:i], func(p groups.Part) bool { return p.Group == part.Group }) {
			faults = append(faults, fmt.Errorf("%s: part %q: named twice", what, part.Group))
			continue
		}
		own, err := r.checkPart(group, part)
		if err != nil {
			faults = append(faults, fmt.Errorf("%s: part %q: %w", what, part.Group, err))
			continue
		}
		for _, machine := range own.Machines {
			other, taken := machines[machine.Name]
			switch {
			case taken && other != part.Group: // within one group, that group is blamed
				faults = append(faults, fmt.Errorf("%s: parts %q and %q both have a machine %q: variables with its name before them would mean both",
					what, other, part.Group, machine.Name))
			case slices.ContainsFunc(group.Parts, func(p groups.Part) bool { return p.Group == machine.Name }):
				faults = append(faults, fmt.Errorf("%s: part %q has a machine %q, which is the name of a part: variables with it before them would mean both",
					what, part.Group, machine.Name))
			}
			machines[machine.Name] = part.Group
		}
	}
	return faults
}

// checkPart gives the group that a part names, or says why it can't be a part.
func (r *Registry) checkPart(group groups.Group, part groups.Part) (groups.Group, error) {
	i := slices.IndexFunc(r.groups, func(g groups.Group) bool { return g.Name == part.Group })
	switch {
	case part.Group == group.Name:
		return groups.Group{}, errors.New("a group is no part of itself")
	case i < 0:
		return groups.Group{}, fmt.Errorf("no such group; there are %s", strings.Join(r.wholeNames(), ", "))
	case len(r.groups[i].Parts) > 0:
		return groups.Group{}, errors.New("it has parts itself; name those")
	case !slices.Contains(r.groups[i].Methods, part.Method):
		return groups.Group{}, fmt.Errorf("method %q is none of its own; it has %s", part.Method, strings.Join(r.groups[i].Methods, ", "))
	}
	return r.groups[i], nil
}

// wholeNames lists the groups that can be parts.
func (r *Registry) wholeNames() []string {
	var names []string
	for _, group := range r.groups {
		if len(group.Parts) == 0 {
			names = append(names, group.Name)
		}
	}
	return names
}

// checkBare finds what a group with parts has beside them, whatever fields a group
// may come to have.
func checkBare(what string, group groups.Group) []error {
	own := reflect.ValueOf(group)
	var faults []error
	for i := range own.NumField() {
		name := own.Type().Field(i).Name
		if !slices.Contains([]string{"Name", "Description", "Parts"}, name) && !own.Field(i).IsZero() {
			faults = append(faults, fmt.Errorf("%s: it has parts, and can't have %s of its own", what, strings.ToLower(name)))
		}
	}
	return faults
}
