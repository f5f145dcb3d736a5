package tofu

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-exec/tfexec"
	tfjson "github.com/hashicorp/terraform-json"

	"fediversity.eu/slipway/methods/tofu/ledger"
	"fediversity.eu/slipway/methods/tofu/state"
)

// taint puts objects into the state that can't be imported, with nothing but their
// ids and as tainted, so that OpenTofu removes them and makes them again. It writes
// the state itself, so that an encrypted one stays so.
func (r *run) taint(ctx context.Context, objects []ledger.Object) error {
	blocks, err := r.shop.blocks(ctx)
	if err != nil {
		return err
	}
	versions, err := r.shop.schemas(ctx)
	if err != nil {
		return err
	}
	var text string
	err = r.shop.run(ctx, "read the state", func(ctx context.Context) error {
		var err error
		text, err = r.shop.tf.StatePull(ctx)
		return err
	}, nil)
	if err != nil {
		return err
	}
	raw := []byte(text)
	for _, o := range objects {
		block := blocks[o.Address]
		if block == nil {
			return fmt.Errorf("%s is not in the configuration", o.Address)
		}
		raw, err = state.Tainted(raw, state.Orphan{
			Module: block.ModuleAddress, Type: block.Type, Name: block.Name, Key: block.Index,
			Provider: block.ProviderName, Schema: versions[block.ProviderName+" "+block.Type], IDName: o.Key, ID: o.ID,
		})
		if err != nil {
			return err
		}
	}
	return r.shop.push(ctx, raw)
}

// blocks are the objects of the configuration that a plan would make or knows, by
// their addresses: it alone says which provider makes them.
func (w *workshop) blocks(ctx context.Context) (map[string]*tfjson.ResourceChange, error) {
	if _, err := w.plan(ctx, tfexec.Refresh(false)); err != nil {
		return nil, err
	}
	all := map[string]*tfjson.ResourceChange{}
	err := w.run(ctx, "read the plan", func(ctx context.Context) error {
		p, err := w.tf.ShowPlanFile(ctx, w.planFile())
		if err != nil {
			return err
		}
		for _, c := range p.ResourceChanges {
			all[c.Address] = c
		}
		return nil
	}, nil)
	return all, err
}

// schemas are the versions of what the providers know of each type, by the
// provider's address and the type.
func (w *workshop) schemas(ctx context.Context) (map[string]uint64, error) {
	all := map[string]uint64{}
	err := w.run(ctx, "read the schemas", func(ctx context.Context) error {
		known, err := w.tf.ProvidersSchema(ctx)
		if err != nil {
			return err
		}
		for address, p := range known.Schemas {
			for name, s := range p.ResourceSchemas {
				all[address+" "+name] = s.Version
			}
		}
		return nil
	}, nil)
	return all, err
}
