package program

import (
	"cmp"
	"context"
	"slices"

	"fediversity.eu/slipway/targets/env"
)

// Show tells of every key that a program reads how it stands in an environment,
// sorted by variable: an aggregate reads some of them once for each machine. No
// secret is shown, and nothing is started.
func (r *Registry) Show(ctx context.Context, environment env.Environment, p Program) ([]env.Shown, error) {
	leaves := r.Members(p)
	if !p.Aggregate() {
		leaves = []Program{p}
	}
	alone := !slices.ContainsFunc(leaves, func(leaf Program) bool { return leaf.Machine != leaves[0].Machine })
	among := len(r.groupOf(p.Group).Parts) > 0
	all, err := environment.Show(ctx, env.For{Alone: true}, &Keys{})
	if err != nil {
		return nil, err
	}
	for _, leaf := range leaves {
		for _, scope := range r.scopesOf(leaf, alone, among) {
			list, err := environment.Show(ctx, scope, r.read(leaf)...)
			if err != nil {
				return nil, err
			}
			// What is a machine's own an effect reads for each machine.
			list = slices.DeleteFunc(list, func(s env.Shown) bool {
				return leaf.Effect != "" && (scope.Machine != "") != (s.Key.Scope == env.ScopeMachine)
			})
			all = append(all, list...)
		}
	}
	slices.SortStableFunc(all, func(a, b env.Shown) int { return cmp.Compare(a.Variable, b.Variable) })
	// What one member can do without, another may need.
	return slices.CompactFunc(all, func(a, b env.Shown) bool {
		if a.Variable != b.Variable {
			return false
		}
		return (a.Problem == nil) == (b.Problem == nil)
	}), nil
}

// scopesOf says for whom a program reads keys: for itself, and an effect for every
// machine of its group too.
func (r *Registry) scopesOf(p Program, alone, among bool) []env.For {
	list := []env.For{r.scopeOf(p, alone, among)}
	if p.Effect != "" {
		for _, machine := range r.groupOf(p.Group).Machines {
			scope := r.scopeOf(p, false, among)
			scope.Machine, scope.Alone = machine.Name, scope.Group.Sole
			list = append(list, scope)
		}
	}
	return list
}
