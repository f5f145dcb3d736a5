package program

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"fediversity.eu/slipway/effects"
	"fediversity.eu/slipway/groups"
	"fediversity.eu/slipway/methods"
	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/task"
)

// Registry holds the declared groups, methods and effects, and knows every program that
// they give. It is a value made by New and never changes.
type Registry struct {
	groups  []groups.Group // sorted by name
	methods map[string]methods.Method
	system  func(methods.Deployment) task.Task
	effects []effects.Effect // in the order in which they take place
}

// New makes a registry of everything that a repository declares. system makes
// the task that builds the NixOS system of a machine; standalone are the effects,
// in the order in which they follow the machines in a combined run. The error names every
// fault of the declarations at once; collisions between the names of programs
// are found by Check, which looks at all of them.
func New(declared []groups.Group, ways []methods.Method, system func(methods.Deployment) task.Task, standalone ...effects.Effect) (*Registry, error) {
	r := &Registry{
		groups:  slices.Clone(declared),
		methods: map[string]methods.Method{},
		system:  system,
		effects: standalone,
	}
	slices.SortFunc(r.groups, func(a, b groups.Group) int { return strings.Compare(a.Name, b.Name) })
	var faults []error
	for _, way := range ways {
		faults = append(faults, r.addMethod(way)...)
	}
	for i, effect := range standalone {
		faults = append(faults, r.checkEffect(effect, standalone[:i])...)
	}
	for i, group := range r.groups {
		if i > 0 && r.groups[i-1].Name == group.Name {
			faults = append(faults, fmt.Errorf("group %q: declared twice", group.Name))
		}
		if len(group.Parts) > 0 {
			faults = append(faults, r.checkParts(group)...)
			continue
		}
		faults = append(faults, r.checkGroup(group)...)
	}
	if err := errors.Join(faults...); err != nil {
		return nil, fmt.Errorf("declarations: %w", err)
	}
	return r, nil
}

func (r *Registry) addMethod(way methods.Method) []error {
	name := way.Name()
	faults := []error{checkWord(fmt.Sprintf("method %q", name), name)}
	if _, ok := r.methods[name]; ok {
		faults = append(faults, fmt.Errorf("method %q: declared twice", name))
	}
	if way.Description() == "" {
		faults = append(faults, fmt.Errorf("method %q: no description", name))
	}
	r.methods[name] = way
	return faults
}

func (r *Registry) checkEffect(effect effects.Effect, before []effects.Effect) []error {
	what := fmt.Sprintf("effect %q", effect.Name())
	faults := []error{checkWord(what, effect.Name())}
	if slices.ContainsFunc(before, func(e effects.Effect) bool { return e.Name() == effect.Name() }) {
		faults = append(faults, fmt.Errorf("%s: declared twice", what))
	}
	if _, ok := r.methods[effect.Name()]; ok || slices.Contains(reserved, effect.Name()) {
		faults = append(faults, fmt.Errorf("%s: a reserved word, or the name of a method", what))
	}
	if effect.Description() == "" {
		faults = append(faults, fmt.Errorf("%s: no description", what))
	}
	return faults
}

func (r *Registry) checkEffects(what string, group groups.Group) []error {
	var names []string
	for _, effect := range r.effects {
		names = append(names, effect.Name())
	}
	var faults []error
	for i, name := range group.Effects {
		at := slices.Index(names, name)
		switch {
		case at < 0 && len(names) == 0:
			faults = append(faults, fmt.Errorf("%s: unknown effect %q; there are none", what, name))
		case at < 0:
			faults = append(faults, fmt.Errorf("%s: unknown effect %q; known are %s", what, name, strings.Join(names, ", ")))
		case slices.Contains(group.Effects[:i], name):
			faults = append(faults, fmt.Errorf("%s: effect %q: declared twice", what, name))
		case len(r.effects[at].Verbs(group)) == 0:
			faults = append(faults, fmt.Errorf("%s: effect %q: the group declares nothing for it", what, name))
		default:
			if checker, ok := r.effects[at].(effects.Checker); ok {
				if err := checker.Check(group); err != nil {
					faults = append(faults, fmt.Errorf("%s: effect %q: %w", what, name, err))
				}
			}
		}
	}
	return faults
}

func (r *Registry) checkGroup(group groups.Group) []error {
	what := fmt.Sprintf("group %q", group.Name)
	faults := checkHead(what, group)
	if len(group.Methods) == 0 {
		faults = append(faults, fmt.Errorf("%s: no method", what))
	}
	for _, method := range group.Methods {
		if _, ok := r.methods[method]; !ok {
			faults = append(faults, fmt.Errorf("%s: unknown method %q; known are %s",
				what, method, strings.Join(r.methodNames(), ", ")))
		}
	}
	faults = append(faults, r.checkEffects(what, group)...)
	machines := map[string]bool{}
	for _, machine := range group.Machines {
		faults = append(faults, r.checkMachine(what, machine)...)
		if image := machine.Incus.Image; image != "" && !slices.ContainsFunc(group.Images, func(i groups.Image) bool { return i.Name == image }) {
			faults = append(faults, fmt.Errorf("%s: machine %q: unknown image %q", what, machine.Name, image))
		}
		if machine.Name == group.Name {
			faults = append(faults, fmt.Errorf("%s: machine %q: the name of its group: variables with it before them would mean both", what, machine.Name))
		}
		if machines[machine.Name] {
			faults = append(faults, fmt.Errorf("%s: machine %q: declared twice", what, machine.Name))
		}
		machines[machine.Name] = true
	}
	return append(faults, checkNeeds(what, group, machines)...)
}

// checkHead checks what every group has.
func checkHead(what string, group groups.Group) []error {
	faults := []error{checkWord(what, group.Name)}
	if slices.Contains(ownSpaces, group.Name) {
		faults = append(faults, fmt.Errorf("%s: a reserved word, as are %s", what, strings.Join(ownSpaces, ", ")))
	}
	if group.Description == "" {
		faults = append(faults, fmt.Errorf("%s: no description", what))
	}
	return faults
}

func (r *Registry) checkMachine(what string, machine groups.Machine) []error {
	what += fmt.Sprintf(": machine %q", machine.Name)
	faults := []error{checkWord(what, machine.Name)}
	if slices.Contains(reserved, machine.Name) {
		faults = append(faults, fmt.Errorf("%s: a reserved word", what))
	}
	if _, ok := r.methods[machine.Name]; ok {
		faults = append(faults, fmt.Errorf("%s: the name of a method", what))
	}
	for _, way := range r.methods {
		for _, verb := range way.Verbs(machine.Placement) {
			if verb.Name == machine.Name {
				faults = append(faults, fmt.Errorf("%s: the name of a verb of method %q", what, way.Name()))
			}
		}
	}
	if slices.ContainsFunc(r.effects, func(e effects.Effect) bool { return e.Name() == machine.Name }) {
		faults = append(faults, fmt.Errorf("%s: the name of an effect", what))
	}
	if machine.Description == "" {
		faults = append(faults, fmt.Errorf("%s: no description", what))
	}
	if machine.Placement == nil {
		faults = append(faults, fmt.Errorf("%s: no placement", what))
	}
	if len(machine.Modules) == 0 {
		faults = append(faults, fmt.Errorf("%s: no NixOS module", what))
	}
	if machine.Database != nil {
		faults = append(faults, in(what, machine.Database.Check()))
	}
	if machine.Mount != nil {
		faults = append(faults, in(what, machine.Mount.Check()))
	}
	if err := machine.Incus.Check(); err != nil {
		faults = append(faults, fmt.Errorf("%s: on Incus: %w", what, err))
	}
	return append(faults, checkProbes(what, machine.Probes)...)
}

// in says where a fault is.
func in(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

func checkProbes(what string, probes []groups.Probe) []error {
	var faults []error
	names := map[string]bool{}
	for _, probe := range probes {
		if err := probe.Check(); err != nil {
			faults = append(faults, fmt.Errorf("%s: probe %q: %w", what, probe.Name, err))
		}
		if names[probe.Name] {
			faults = append(faults, fmt.Errorf("%s: probe %q: declared twice", what, probe.Name))
		}
		names[probe.Name] = true
	}
	return faults
}

// checkNeeds finds needs that name nobody, and circles of needs.
func checkNeeds(what string, group groups.Group, machines map[string]bool) []error {
	var faults []error
	needs := map[string][]string{}
	for _, machine := range group.Machines {
		for _, need := range machine.Needs {
			if !machines[need] {
				faults = append(faults, fmt.Errorf("%s: machine %q needs %q, which is not a machine of the group",
					what, machine.Name, need))
			}
		}
		needs[machine.Name] = machine.Needs
	}
	const visiting, done = 1, 2
	state := map[string]int{}
	var visit func(name string, path []string)
	visit = func(name string, path []string) {
		path = append(path, name)
		switch state[name] {
		case visiting:
			faults = append(faults, fmt.Errorf("%s: machines need each other in a circle: %s",
				what, strings.Join(path[slices.Index(path, name):], " needs ")))
			return
		case done:
			return
		}
		state[name] = visiting
		for _, need := range needs[name] {
			visit(need, path)
		}
		state[name] = done
	}
	for _, machine := range group.Machines {
		visit(machine.Name, nil)
	}
	return faults
}

func (r *Registry) methodNames() []string {
	names := make([]string, 0, len(r.methods))
	for name := range r.methods {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Groups lists the declared groups by name.
func (r *Registry) Groups() []groups.Group { return slices.Clone(r.groups) }

// Methods lists the declared methods by name.
func (r *Registry) Methods() []methods.Method {
	list := make([]methods.Method, 0, len(r.methods))
	for _, name := range r.methodNames() {
		list = append(list, r.methods[name])
	}
	return list
}

// Effects lists the declared effects in the order in which they take place.
func (r *Registry) Effects() []effects.Effect { return slices.Clone(r.effects) }

// Programs lists every program by name.
func (r *Registry) Programs() []Program {
	var list []Program
	for _, group := range r.groups {
		list = append(list, r.expand(group)...)
	}
	slices.SortFunc(list, func(a, b Program) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// Check finds programs that would have the same name, or Mage targets that
// differ only in case; the error names both of each pair.
func (r *Registry) Check() error {
	var faults []error
	names, targets := map[string]Program{}, map[string]Program{}
	claim := func(taken map[string]Program, what, key string, p Program) {
		if other, ok := taken[key]; ok && other != p {
			faults = append(faults, fmt.Errorf("%s and %s have the same %s %q", other, p, what, key))
		}
		taken[key] = p
	}
	for _, p := range r.Programs() {
		claim(names, "name", p.Name, p)
		claim(targets, "Mage target", strings.ToLower(p.Target), p)
		if p.Short != "" {
			claim(names, "name", p.Short, p)
			claim(targets, "Mage target", strings.ToLower(Target(p.Group, p.Short)), p)
		}
	}
	for _, group := range r.groups {
		faults = append(faults, r.checkVariables(group))
	}
	spaces := map[string]string{}
	for _, group := range r.groups {
		key := strings.ToLower(Camel(group.Name))
		if other, ok := spaces[key]; ok {
			faults = append(faults, fmt.Errorf("groups %q and %q have the same Mage namespace", other, group.Name))
		}
		spaces[key] = group.Name
	}
	return errors.Join(faults...)
}

// checkVariables finds variables that would mean two things in a run of a whole
// group.
func (r *Registry) checkVariables(group groups.Group) error {
	var declared []any
	var machines, owners []string
	var faults []error
	for _, own := range r.wholeOrParts(group) {
		owners = append(owners, own.Name)
		for _, machine := range own.Machines {
			machines = append(machines, machine.Name)
		}
		for _, p := range r.expand(own) {
			if p.Aggregate() {
				continue
			}
			read := r.read(p)
			declared = append(declared, read...)
			if len(r.Arguments(p)) > 0 && own.Name == group.Name { // a part is checked by itself
				keys, _ := env.Declared(read...) // what is wrong with them is found below
				faults = append(faults, r.checkVerbArguments(p, keys))
			}
		}
	}
	keys, err := env.Declared(append(declared, &Keys{})...)
	if err == nil {
		err = env.Collisions(keys, machines, owners)
	}
	if err = errors.Join(append(faults, err)...); err != nil {
		return fmt.Errorf("variables of group %q: %w", group.Name, err)
	}
	return nil
}

// String says which program it is by its parts, for messages about two that
// have one name.
func (p Program) String() string {
	parts := []string{"group " + p.Group}
	if p.Method != "" {
		parts = append(parts, "method "+p.Method)
	}
	switch {
	case p.Aggregate():
		parts = append(parts, string(p.Kind))
	case p.Effect != "":
		parts = append(parts, "effect "+p.Effect)
	default:
		parts = append(parts, "machine "+p.Machine)
	}
	if p.Verb != "" {
		parts = append(parts, "verb "+p.Verb)
	}
	return p.Name + " (" + strings.Join(parts, ", ") + ")"
}
