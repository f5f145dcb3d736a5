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
		list, err := environment.Show(ctx, r.scopeOf(leaf, alone, among), r.read(leaf)...)
		if err != nil {
			return nil, err
		}
		all = append(all, list...)
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
