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
		var err error
		if p, err = r.shop.plan(ctx, append(opts, r.replaced()...)...); err != nil {
			return err
		}
		r.log.Infof("plan: %s", p)
		if err := p.spares(d.Stays); err != nil {
			return err
		}
		return r.apply(ctx, p)
	})
	if result != nil {
		result.Plan = p
	}
	return result, err
}
