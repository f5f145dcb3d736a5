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

// closeNames bounds how many names an error suggests.
const closeNames = 5

// Close gives at most five names that resemble one that does not exist, the
// nearest first, in the spelling that was used.
func (r *Registry) Close(name string) []string {
	asTarget := strings.ContainsRune(name, ':')
	type candidate struct {
		name     string
		distance int
	}
	var near []candidate
	limit := max(2, len(name)/3)
	wanted := strings.ToLower(name)
	for _, p := range r.Programs() {
		for _, spelling := range []string{p.Name, p.Short} {
			if spelling == "" {
				continue
			}
			if asTarget {
				spelling = Target(p.Group, spelling)
			}
			if d := distance(wanted, strings.ToLower(spelling), limit); d <= limit {
				near = append(near, candidate{spelling, d})
			}
		}
	}
	slices.SortFunc(near, func(a, b candidate) int {
		if a.distance != b.distance {
			return a.distance - b.distance
		}
		return strings.Compare(a.name, b.name)
	})
	var names []string
	for _, c := range near[:min(len(near), closeNames)] {
		names = append(names, c.name)
	}
	return names
}

// distance is the number of letters to insert, delete, replace or swap with
// their neighbour that lead from a to b (optimal string alignment), or more
// than limit.
func distance(a, b string, limit int) int {
	if len(a)-len(b) > limit || len(b)-len(a) > limit {
		return limit + 1
	}
	before, above, row := []int(nil), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range above {
		above[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(above[j]+1, row[j-1]+1, above[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, above, row = above, row, make([]int, len(b)+1)
	}
	return above[len(b)]
}
