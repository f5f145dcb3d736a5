package env

import (
	"cmp"
	"context"
	"slices"
)

// Shown is how a key stands in an environment, for a person to read.
type Shown struct {
	Key      Key
	Variable string   // that holds it, or that would have to
	Value    string   // quoted, shortened, and without secrets; empty where it is unset
	Problem  *Problem // what Load would say of it
}

// Show tells of every key that structs declare how it stands in e, sorted by
// variable and each once. It fills nothing and shows no text of a secret. The
// error is a *DeclarationError.
func (e Environment) Show(ctx context.Context, scope For, structs ...any) ([]Shown, error) {
	scope = e.within(scope)
	keys, err := Declared(structs...)
	if err != nil {
		return nil, err
	}
	fields, _ := inspect(structs)
	byName := map[string]field{}
	for _, f := range fields {
		byName[f.key.Name] = f
	}
	all := make([]Shown, 0, len(keys))
	// Secrets first, as Load does: a value may hold one.
	for _, secret := range []bool{true, false} {
		for _, key := range keys {
			if key.Secret == secret {
				f := byName[key.Name]
				f.key = key // required where one of several declarations says so
				all = append(all, e.show(ctx, scope, f))
			}
		}
	}
	slices.SortFunc(all, func(a, b Shown) int { return cmp.Compare(a.Variable, b.Variable) })
	return all, nil
}

func (e Environment) show(ctx context.Context, scope For, f field) Shown {
	names := scope.names(f.key)
	shown := Shown{Key: f.key, Variable: f.key.wanted(names)}
	variable, value, problem := e.find(ctx, names, f.key)
	switch {
	case problem != nil:
		shown.Variable, shown.Problem = problem.Variable, problem
	case value != "":
		shown.Variable = variable
		shown.Value = redacted
		if !f.key.Secret {
			shown.Value = quote(value, e.Redactor())
		}
		_, shown.Problem = e.decoded(ctx, f, variable, value)
	case f.key.Required:
		shown.Problem = e.missing(scope, names, f.key)
		shown.Variable = shown.Problem.Variable
	}
	return shown
}
