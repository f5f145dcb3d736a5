package tofu

import (
	"context"
	"maps"
	"reflect"
	"slices"

	tfjson "github.com/hashicorp/terraform-json"
)

// drift is what OpenTofu says of an object that is no longer as the state has it.
type drift struct{ address, action, message string }

// drifted are those in which a value differs. OpenTofu says it too where a provider
// reads as empty what was null, which nobody changed: those of Terraform's older kit do
// so for good (hashicorp/terraform-plugin-sdk v2.40.1, normalizeNullValues). Where that
// can't be looked up, all are.
func (w *workshop) drifted(ctx context.Context, said []drift, failed error) []drift {
	updated := func(d drift) bool { return d.action == "update" }
	if failed != nil || !slices.ContainsFunc(said, updated) {
		return said
	}
	var p *tfjson.Plan
	err := w.run(ctx, "read the plan", func(ctx context.Context) error {
		var err error
		p, err = w.tf.ShowPlanFile(ctx, w.planFile())
		return err
	}, nil)
	if err != nil {
		return said
	}
	untouched := unchanged(p.ResourceDrift)
	return slices.DeleteFunc(said, func(d drift) bool { return updated(d) && untouched[d.address] })
}

// unchanged are the addresses of objects of which no value differs.
func unchanged(all []*tfjson.ResourceChange) map[string]bool {
	same := map[string]bool{}
	for _, c := range all {
		before, known := same[c.Address]
		same[c.Address] = (before || !known) && c.Change != nil && alike(c.Change.Before, c.Change.After)
	}
	return same
}

// alike compares two values of a plan in JSON.
func alike(a, b any) bool {
	if void(a) && void(b) {
		return true
	}
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok {
			return false
		}
		differs := func(name string) bool { return !alike(a[name], b[name]) }
		return !slices.ContainsFunc(slices.Collect(maps.Keys(a)), differs) && !slices.ContainsFunc(slices.Collect(maps.Keys(b)), differs)
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, alike)
	}
	return reflect.DeepEqual(a, b)
}

// void tells of what holds nothing: null, what is empty, and blocks of nothing else.
func void(value any) bool {
	switch v := value.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case map[string]any:
		return !slices.ContainsFunc(slices.Collect(maps.Values(v)), func(v any) bool { return !void(v) })
	case []any:
		return !slices.ContainsFunc(v, func(v any) bool {
			_, block := v.(map[string]any)
			return !block || !void(v)
		})
	}
	return false
}
