package program

import (
	"reflect"
	"slices"

	"fediversity.eu/slipway/effects"
	"fediversity.eu/slipway/internal/source"
	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/task"
)

// Members lists the programs that an aggregate runs: its verb on every machine
// that has it, and for a combined one also its verb of every effect, or the one that
// prepares for it. One of a group with parts runs the members of these. Any other
// program has none.
func (r *Registry) Members(p Program) []Program {
	if !p.Aggregate() {
		return nil
	}
	group := r.groupOf(p.Group)
	var members []Program
	if len(group.Parts) > 0 {
		for _, part := range r.partsOf(p) {
			members = append(members, r.Members(part)...)
		}
		return members
	}
	method := wayOf(group, p.Method)
	for _, machine := range membersOf(group, p.Kind) {
		if verb, ok := verbNamed(r.methods[method].Verbs(machine.Placement), p.Verb); ok {
			members = append(members, r.deploymentOf(group, machine, method, verb))
		}
	}
	if p.Kind != Combined {
		return members
	}
	for _, effect := range r.effectsOf(group) {
		name := p.Verb
		if preparer, ok := effect.(effects.Preparer); ok {
			name = preparer.Prepares(method, name)
		}
		if verb, ok := verbNamed(effect.Verbs(group), name); ok {
			members = append(members, effectProgram(group, effect, verb))
		}
	}
	return members
}

// Needs gives, by name, which members of a combined program must have ended well
// before another starts; those that wait for nobody are not in it. The members of
// any other program wait for nobody.
func (r *Registry) Needs(p Program) map[string][]string {
	if p.Kind != Combined {
		return nil
	}
	group := r.groupOf(p.Group)
	if len(group.Parts) > 0 {
		return r.needsOfParts(p)
	}
	members := map[string]string{} // by machine or effect
	for _, m := range r.Members(p) {
		members[m.Machine+m.Effect] = m.Name
	}
	needs := map[string][]string{}
	for name, before := range edges(group, r.effectsOf(group), p.Verb == destroy) {
		for _, other := range before {
			if members[name] != "" && members[other] != "" {
				needs[members[name]] = append(needs[members[name]], members[other])
			}
		}
	}
	return needs
}

func verbNamed(verbs []task.Verb, name string) (task.Verb, bool) {
	i := slices.IndexFunc(verbs, func(v task.Verb) bool { return v.Name == name })
	if i < 0 {
		return task.Verb{}, false
	}
	return verbs[i], true
}

// Coordinates gives the structs whose fields are the keys that a program reads,
// its members' included, one of each type: keys depend on nothing else.
func (r *Registry) Coordinates(p Program) []any {
	leaves := r.Members(p)
	if !p.Aggregate() {
		leaves = []Program{p}
	}
	all := []any{&Keys{}}
	seen := map[reflect.Type]bool{}
	for _, leaf := range leaves {
		for _, c := range r.read(leaf) {
			if t := reflect.TypeOf(c); !seen[t] {
				seen[t] = true
				all = append(all, c)
			}
		}
	}
	return all
}

// read gives the structs of a program that is no aggregate: those of its task, and
// those that say where its declarations come from.
func (r *Registry) read(p Program) []any { return append(r.taskOf(p).Coordinates(), &source.Keys{}) }

// Keys lists the keys that a program reads, its members' included.
func (r *Registry) Keys(p Program) ([]env.Key, error) { return env.Declared(r.Coordinates(p)...) }

// Siblings lists the programs that differ from p in their verb alone, p included,
// in the order in which the method or the effect has its verbs. The system of a
// machine has none.
func (r *Registry) Siblings(p Program) []Program {
	if p.Kind == System {
		return nil
	}
	var list []Program
	for _, other := range r.expand(r.groupOf(p.Group)) {
		if other.Kind == p.Kind && other.Method == p.Method && other.Effect == p.Effect && other.Machine == p.Machine {
			list = append(list, other)
		}
	}
	return list
}

// Configuration gives the files that a program hands to another one, as OpenTofu,
// by their names; none where it hands over none.
func (r *Registry) Configuration(p Program) (map[string][]byte, error) {
	if p.Aggregate() {
		return nil, nil
	}
	if t, ok := r.taskOf(p).(task.Configured); ok {
		return t.Configuration()
	}
	return nil, nil
}
