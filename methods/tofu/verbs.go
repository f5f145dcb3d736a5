package tofu

import (
	"context"

	"github.com/hashicorp/terraform-exec/tfexec"
)

// The verbs, as locks and messages call them.
const (
	Apply       = "apply"
	Destroy     = "destroy"
	PlanVerb    = "plan"
	Refresh     = "refresh"
	Validate    = "validate"
	Output      = "output"
	Show        = "show"
	StateList   = "state-list"
	StateShow   = "state-show"
	Import      = "import"
	ForceUnlock = "force-unlock"
)

// Apply makes what the deployment describes.
func (e *Engine) Apply(ctx context.Context, d Deployment) (*Result, error) {
	return e.planned(ctx, d, Apply)
}

// Refresh brings the state up to date with what is there, and makes nothing.
func (e *Engine) Refresh(ctx context.Context, d Deployment) (*Result, error) {
	return e.planned(ctx, d, Refresh, tfexec.RefreshOnly(true))
}

// planned makes a plan and does it.
func (e *Engine) planned(ctx context.Context, d Deployment, verb string, opts ...tfexec.PlanOption) (*Result, error) {
	var p Plan
	result, err := e.change(ctx, d, verb, func(ctx context.Context, r *run) error {
		if err := r.ready(ctx); err != nil {
			return err
		}
		if err := r.shop.forget(ctx, r.letGo); err != nil {
			return err
		}
		defer func() { p.forgets(r.letGo) }()
		if verb == Apply {
			opts = append(opts, r.replaced()...)
		}
		if verb == Apply && len(r.letGo.remove) > 0 {
			// OpenTofu removes what is not declared before it changes what uses it.
			err := r.carryOut(ctx, &p, append(opts, d.Declared.targets()...))
			if err != nil {
				return err
			}
		}
		return r.carryOut(ctx, &p, opts)
	})
	if result != nil {
		result.Plan = p
	}
	return result, err
}

// carryOut makes a plan and does it, and adds it to the one before.
func (r *run) carryOut(ctx context.Context, all *Plan, opts []tfexec.PlanOption) error {
	p, err := r.shop.plan(ctx, opts...)
	all.add(p)
	if err != nil {
		return err
	}
	r.log.Infof("plan: %s", p)
	if err := p.spares(r.d.Stays); err != nil {
		return err
	}
	return r.apply(ctx, p)
}
