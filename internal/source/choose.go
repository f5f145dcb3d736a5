package source

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"fediversity.eu/slipway/groups"
	"fediversity.eu/slipway/groups/modulejson"
	"fediversity.eu/slipway/targets/report"
)

// Choice is a group as a run takes it: its declarations by layers, each from the
// source that it is to come from.
type Choice struct {
	Group  groups.Group
	Layers []report.Layer
	// Compiled tells that all of it is what is baked into the program.
	Compiled bool
}

// Choose opens the sources that the keys name and takes every layer of a group from
// the right one. What is wrong with what the keys say is exit code 2, and a source
// that can't be had, or is not what was pinned, is 4.
func (s *Shelf) Choose(ctx context.Context, keys Keys, group groups.Group) (Choice, error) {
	question := fmt.Sprintf("%q %q %q %v %q", group.Name, keys.Self, keys.Pin, keys.Layers, keys.Effect)
	answer, ok := s.chosen[question]
	if !ok {
		answer = sync.OnceValues(func() (Choice, error) { return s.choose(ctx, keys, group) })
		s.chosen[question] = answer
	}
	return answer()
}

func (s *Shelf) choose(ctx context.Context, keys Keys, group groups.Group) (Choice, error) {
	provider, err := baked(group)
	if err != nil {
		return Choice{}, err
	}
	if keys.Self.Set() {
		own := provider.Module
		if provider, err = s.open(ctx, "SELF_MODULE_SOURCE", keys.Self, string(keys.Agent)); err != nil {
			return Choice{}, err
		}
		if provider.Module == nil {
			provider.Module = own // it has the modules alone, and the program the rest
		}
	}
	var operator *Source
	if keys.Pin.Set() {
		pinned, err := s.open(ctx, "OPERATOR_MODULE_SOURCE", keys.Pin, string(keys.Agent))
		if err != nil {
			return Choice{}, err
		}
		operator = &pinned
	}
	return choose(group, provider, operator, keys)
}

// baked is the source that the program carries for a group.
func baked(group groups.Group) (Source, error) {
	module, err := modulejson.Of(group)
	if err != nil {
		return Source{}, err
	}
	hash, err := HashTrees(group.Source.Trees)
	return Source{Name: group.Source.Name, Hash: hash, Module: &module}, err
}

// choosing is a choice on its way.
type choosing struct {
	group              groups.Group
	provider, operator *Source // operator is nil where nothing is pinned
	keys               Keys
	ours, theirs       *modulejson.Layered // theirs is nil where the pin has no module.json
	faults             []error
}

func choose(group groups.Group, provider Source, operator *Source, keys Keys) (Choice, error) {
	c := &choosing{group: group, provider: &provider, operator: operator, keys: keys}
	c.ours = c.layered(Provider, c.provider)
	if operator != nil {
		c.theirs = c.layered(Operator, operator)
	}
	if len(c.faults) == 0 {
		c.check()
	}
	choice := Choice{Compiled: !keys.Self.Set() && operator == nil}
	if len(c.faults) == 0 {
		choice.Layers = c.use()
	}
	if err := errors.Join(c.faults...); err != nil {
		return Choice{}, &report.Fault{
			Code: report.Usage, What: "choose the layers of " + group.Name, Why: err,
			Hint: "VERSION_LAYERS=resources=operator,effects=provider is a whole decision; PIN_EFFECT=dns takes that effect from the operator and the others from the provider",
		}
	}
	choice.Group = c.group
	return choice, nil
}

func (c *choosing) blame(format string, args ...any) {
	c.faults = append(c.faults, fmt.Errorf(format, args...))
}

// layered is what a side declares for the group.
func (c *choosing) layered(side string, s *Source) *modulejson.Layered {
	if s.Module == nil {
		return nil
	}
	layered, err := s.Module.Group(c.group.Name)
	if err != nil {
		c.blame("%s of the %s (%s): %w", modulejson.File, side, s.Name, err)
	}
	return &layered
}

// check finds contradictions in what is decided, and layers that are not.
func (c *choosing) check() {
	decided, named := c.keys.Layers, c.keys.Effect
	if c.operator == nil {
		for _, layer := range []string{resources, effects} {
			if decided[layer] == Operator {
				c.blame("VERSION_LAYERS takes %s from the operator, and OPERATOR_MODULE_SOURCE names no source", layer)
			}
		}
		if len(named) > 0 {
			c.blame("PIN_EFFECT takes %s from the operator, and OPERATOR_MODULE_SOURCE names no source", strings.Join(named, ", "))
		}
		return
	}
	for _, name := range named {
		if !slices.Contains(modulejson.Effects(), name) || !slices.Contains(c.group.Effects, name) {
			c.blame("PIN_EFFECT names %q, which is no effect of %s; it has %s", name, c.group.Name, words(c.group.Effects))
		}
	}
	if len(named) > 0 && decided[effects] == Provider {
		c.blame("PIN_EFFECT takes %s from the operator, and VERSION_LAYERS all effects from the provider", strings.Join(named, ", "))
	}
	if c.theirs == nil {
		for _, layer := range []string{resources, effects} {
			if decided[layer] == Operator || layer == effects && len(named) > 0 {
				c.blame("%s are to come from the operator, whose source has no %s (%s)", layer, modulejson.File, c.operator.Name)
			}
		}
		return
	}
	c.undecided(resources, c.ours.SameResources(*c.theirs), decided[resources] != "")
	c.undecided(effects, c.ours.SameEffects(*c.theirs), decided[effects] != "" || len(named) > 0)
}

func (c *choosing) undecided(layer string, same, decided bool) {
	if !same && !decided {
		c.blame("the layer %s differs, and VERSION_LAYERS does not say which side it comes from: provider has %s (%s), operator has %s (%s)",
			layer, c.provider.Version(), c.provider.Name, c.operator.Version(), c.operator.Name)
	}
}

// use gives the group its layers, and says where each comes from.
func (c *choosing) use() []report.Layer {
	group := &c.group
	use := func(layered *modulejson.Layered, give func(modulejson.Layered, *groups.Group) error, s *Source) {
		if layered == nil {
			return // of a source without module.json: as compiled in
		}
		if err := give(*layered, group); err != nil {
			c.blame("%s (%s): %w", modulejson.File, s.Name, err)
		}
	}
	side, from, layered := Provider, c.provider, c.ours
	if c.operator != nil {
		side, from, layered = Operator, c.operator, c.theirs
	}
	use(layered, modulejson.Layered.UseMachines, from)
	group.Source.Name, group.Source.Dir = from.Name, from.Dir
	layers := []report.Layer{from.layer(machines, side)}

	side, from, layered = c.side(c.keys.Layers[resources] == Operator)
	use(layered, modulejson.Layered.UseResources, from)
	layers = append(layers, from.layer(resources, side))
	return append(layers, c.useEffects()...)
}

func (c *choosing) side(operator bool) (string, *Source, *modulejson.Layered) {
	if operator {
		return Operator, c.operator, c.theirs
	}
	return Provider, c.provider, c.ours
}

func (c *choosing) useEffects() []report.Layer {
	all, named := c.keys.Layers[effects] == Operator, []string(c.keys.Effect)
	for _, name := range modulejson.Effects() {
		_, from, layered := c.side(slices.Contains(named, name) || all && len(named) == 0)
		layered.UseEffect(&c.group, name)
		if name == imageEffect {
			c.group.ImageSource = &groups.Source{Name: from.Name, Dir: from.Dir, Trees: c.group.Source.Trees}
		}
	}
	side, from, _ := c.side(all && len(named) == 0)
	if len(named) == 0 {
		return []report.Layer{from.layer(effects, side)}
	}
	pinned, rest := c.operator.layer(effects, Operator), c.provider.layer(effects, Provider)
	for _, name := range c.group.Effects {
		if slices.Contains(named, name) {
			pinned.Effects = append(pinned.Effects, name)
		} else {
			rest.Effects = append(rest.Effects, name)
		}
	}
	if len(rest.Effects) == 0 {
		return []report.Layer{pinned}
	}
	return []report.Layer{pinned, rest}
}

// layer says that a layer comes from the source.
func (s *Source) layer(name, side string) report.Layer {
	return report.Layer{Layer: name, Side: side, Source: s.Name, Revision: s.Revision, Hash: s.Hash}
}

func words(list []string) string {
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, ", ")
}
