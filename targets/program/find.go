package program

import (
	"slices"
	"strings"

	"fediversity.eu/slipway/groups"
	"fediversity.eu/slipway/targets/task"
)

// Find gives the program of a name: canonical, without its verb, or as a Mage
// target in any case. Its cost does not grow with the number of programs when
// the name is canonical.
func (r *Registry) Find(name string) (Program, bool) {
	if strings.ContainsRune(name, ':') {
		return r.findTarget(name)
	}
	name = strings.ToLower(name)
	for _, group := range r.groups {
		rest, ok := strings.CutPrefix(name, group.Name+"-")
		if !ok {
			continue
		}
		if p, ok := r.findIn(group, rest); ok {
			return p, true
		}
	}
	return Program{}, false
}

func (r *Registry) findIn(group groups.Group, rest string) (Program, bool) {
	if machine, ok := machineOf(group, rest); ok {
		return r.systemOf(group, machine), true
	}
	for _, effect := range r.effectsOf(group) {
		if verb, ok := verbAfter(rest, effect.Name(), effect.Verbs(group)); ok {
			return effectProgram(group, effect, verb), true
		}
	}
	for _, method := range append([]string{""}, group.Methods...) {
		tail := rest
		if method != "" {
			var ok bool
			if tail, ok = strings.CutPrefix(rest, method+"-"); !ok {
				continue
			}
		}
		for _, kind := range []Kind{All, Combined} {
			if !strings.HasPrefix(tail, string(kind)) {
				continue
			}
			if verb, ok := verbAfter(tail, string(kind), r.verbsOf(group, method, kind)); ok {
				return r.aggregateOf(group, kind, method, verb), true
			}
		}
		if method == "" {
			continue
		}
		for _, machine := range group.Machines {
			if !strings.HasPrefix(tail, machine.Name) {
				continue
			}
			if verb, ok := verbAfter(tail, machine.Name, r.methods[method].Verbs(machine.Placement)); ok {
				return r.deploymentOf(group, machine, method, verb), true
			}
		}
	}
	return Program{}, false
}

// verbAfter finds the verb that follows subject in tail; none means apply.
func verbAfter(tail, subject string, verbs []task.Verb) (task.Verb, bool) {
	rest, ok := strings.CutPrefix(tail, subject)
	if !ok {
		return task.Verb{}, false
	}
	name := task.Apply
	if rest != "" {
		if name, ok = strings.CutPrefix(rest, "-"); !ok {
			return task.Verb{}, false
		}
	}
	i := slices.IndexFunc(verbs, func(v task.Verb) bool { return v.Name == name })
	if i < 0 {
		return task.Verb{}, false
	}
	return verbs[i], true
}

func machineOf(group groups.Group, name string) (groups.Machine, bool) {
	i := slices.IndexFunc(group.Machines, func(m groups.Machine) bool { return m.Name == name })
	if i < 0 {
		return groups.Machine{}, false
	}
	return group.Machines[i], true
}

func (r *Registry) groupOf(name string) groups.Group {
	i := slices.IndexFunc(r.groups, func(g groups.Group) bool { return g.Name == name })
	return r.groups[i]
}

func (r *Registry) findTarget(target string) (Program, bool) {
	space, _, _ := strings.Cut(target, ":")
	for _, group := range r.groups {
		if !strings.EqualFold(Camel(group.Name), space) {
			continue
		}
		for _, p := range r.expand(group) {
			if strings.EqualFold(p.Target, target) || (p.Short != "" && strings.EqualFold(Target(p.Group, p.Short), target)) {
				return p, true
			}
		}
	}
	return Program{}, false
}
