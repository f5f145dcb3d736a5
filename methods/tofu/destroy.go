package tofu

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/hashicorp/terraform-exec/tfexec"

	"fediversity.eu/slipway/methods/tofu/backend"
	"fediversity.eu/slipway/methods/tofu/state"
	"fediversity.eu/slipway/targets/report"
)

// Destroy removes all that the state holds, and then the state: the backend has
// none afterwards. When something is left, so is the state, and the error says
// what.
func (e *Engine) Destroy(ctx context.Context, d Deployment) (*Result, error) {
	var p Plan
	result, err := e.change(ctx, d, Destroy, func(ctx context.Context, r *run) error {
		if r.newest.Empty() && len(r.orphans) == 0 {
			return nil // an earlier run came as far as this
		}
		if err := r.ready(ctx); err != nil {
			return err
		}
		if err := r.shop.forget(ctx, r.letGo); err != nil {
			return err
		}
		defer func() { p.forgets(r.letGo) }()
		var err error
		if p, err = r.shop.plan(ctx, tfexec.Destroy(true)); err != nil {
			return err
		}
		r.log.Infof("plan: %s", p)
		err = r.apply(ctx, p)
		if err != nil {
			return left(err, r.broker.State())
		}
		return nil
	})
	if result != nil {
		result.Plan = p
	}
	return result, err
}

// left says what a destroy did not remove.
func left(err error, s *state.State) error {
	if s.Sealed {
		return err // nobody has looked what it holds
	}
	return fmt.Errorf("%w; still there: %s", err, listed(s.Objects()))
}

// detach removes an empty state from the backend.
func (r *run) detach(ctx context.Context) error {
	fail := func(err error) error {
		return report.Fail("detach the state", err, "all is destroyed, and an empty state is left in the backend: "+
			"STATE_PHASE=cold starts again over it; where it may be deleted by now, STATE_PHASE=cold destroy detaches it")
	}
	before := r.remote
	if before == nil {
		return nil
	}
	if err := r.client.Delete(ctx, r.id.String()); err != nil {
		return fail(err)
	}
	gone, err := r.gone(ctx)
	if err != nil || gone {
		return wrapped(fail, err)
	}
	// Some backends do nothing about a state that is locked, and say that they
	// did. Between giving the lock back and the second try nobody holds it; so
	// the state is compared as late as can be.
	if err := r.giveBack(ctx); err != nil {
		return err
	}
	f, err := r.engine.look(ctx, r.d, r.client)
	if err != nil {
		return fail(err)
	}
	switch {
	case f.kind == state.Absent:
		return nil
	case f.kind != state.Empty && f.kind != state.Begun, f.state.Lineage != before.Lineage, f.state.Serial != before.Serial:
		return fail(errors.New("another run changed the state in the moment in which nobody held the lock"))
	}
	err = r.client.Delete(ctx, "")
	gone, unseen := r.gone(ctx)
	switch {
	case unseen != nil:
		return fail(errors.Join(err, unseen))
	case gone:
		return nil // whatever it said
	case err == nil:
		err = errors.New("the backend said that it removed it, and still has it")
	}
	return fail(err)
}

// release marks an empty state that the backend does not delete as one that any run may
// start over. Of an encrypted one only OpenTofu could write another version.
func (r *run) release(ctx context.Context) error {
	if r.lock == nil || r.newest.Encrypted || r.remote == nil {
		return nil
	}
	empty, err := r.newest.WithSerial(r.remote.Serial + 1)
	if err != nil {
		return err
	}
	r.newest, r.marker = empty, r.mark()
	r.marker.Settled = true
	return r.forward(ctx, empty)
}

func wrapped(fail func(error) error, err error) error {
	if err == nil {
		return nil
	}
	return fail(err)
}

// gone tells whether the backend has no state any more. A backend that is still
// removing it may call it gone or unprocessable.
func (r *run) gone(ctx context.Context) (bool, error) {
	_, present, err := r.client.Get(ctx)
	if status, ok := errors.AsType[*backend.StatusError](err); ok &&
		(status.Status == http.StatusGone || status.Status == http.StatusUnprocessableEntity) {
		return true, nil
	}
	return !present, err
}
