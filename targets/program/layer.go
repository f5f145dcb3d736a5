package program

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"fediversity.eu/slipway/effects"
	"fediversity.eu/slipway/groups"
	"fediversity.eu/slipway/internal/source"
	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/report"
	"fediversity.eu/slipway/targets/task"
)

// layer makes the task of a leaf anew where declarations come from a module source:
// methods and effects are given a group, and need not know whose version of what it
// holds. It says what is malformed, or why what was chosen can't be used.
func (n *node) layer(ctx context.Context, scope env.For) (malformed, refused error) {
	var keys source.Keys
	if err := n.environment.Load(ctx, scope, &keys); err != nil {
		return err, nil
	}
	r := n.session.registry
	choice, err := n.session.shelf.Choose(ctx, keys, r.groupOf(n.program.Group))
	if err != nil {
		return nil, err
	}
	n.layers = choice.Layers
	if choice.Compiled {
		return nil, nil
	}
	n.layered = true
	if err := n.session.usable(n.program, choice.Group, choice.Layers); err != nil {
		return nil, &report.Fault{
			Code: report.Usage, What: "use the layers of " + n.program.Group, Why: err,
			Hint: "the module sources say this in their module.json; slipway module prints the one that is baked in",
		}
	}
	n.task, n.declared = r.taskIn(n.program, choice.Group), choice.Group
	return nil, nil
}

// usable says what is wrong with declarations that come from a module source.
func (s *Session) usable(p Program, group groups.Group, layers []report.Layer) error {
	r := s.registry
	verbs := func(list []task.Verb) bool {
		return slices.ContainsFunc(list, func(v task.Verb) bool { return v.Name == p.Verb })
	}
	checked := group
	checked.Effects = nil // those of which nothing is said are missed by their own programs alone
	for _, effect := range r.effectsOf(group) {
		if len(effect.Verbs(group)) > 0 {
			checked.Effects = append(checked.Effects, effect.Name())
		}
	}
	faults := []error{s.sound(checked, layers)}
	machine, _ := machineOf(group, p.Machine)
	switch p.Kind {
	case Standalone:
		i := slices.IndexFunc(r.effects, func(e effects.Effect) bool { return e.Name() == p.Effect })
		if !verbs(r.effects[i].Verbs(group)) {
			faults = append(faults, fmt.Errorf("nothing is declared for %s", p.Effect))
		}
	case Deployment:
		if machine.Placement != nil && !verbs(r.methods[p.Method].Verbs(machine.Placement)) {
			faults = append(faults, fmt.Errorf("%s can't %s a machine that is placed as %s is", p.Method, p.Verb, machine.Name))
		}
	}
	return errors.Join(faults...)
}

// sound checks a group as the registry does those that are compiled in, once for
// the same layers, however many machines it has.
func (s *Session) sound(group groups.Group, layers []report.Layer) error {
	question := fmt.Sprint(group.Name, layers)
	err, ok := s.checked[question]
	if !ok {
		err = errors.Join(s.registry.checkGroup(group)...)
		s.checked[question] = err
	}
	return err
}
