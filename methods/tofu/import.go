package tofu

import (
	"context"
	"errors"

	"fediversity.eu/slipway/methods/tofu/lock"
)

// Import takes what exists into the state, under an address of the configuration.
func (e *Engine) Import(ctx context.Context, d Deployment, address, id string) (*Result, error) {
	if err := errors.Join(Operand("ADDRESS", address), Operand("ID", id)); err != nil {
		return nil, err
	}
	return e.change(ctx, d, Import, func(ctx context.Context, r *run) error {
		if err := r.shop.init(ctx, true); err != nil {
			return err
		}
		return r.shop.take(ctx, address, id)
	})
}

// take imports one object.
func (w *workshop) take(ctx context.Context, address, id string) error {
	return w.reached(ctx, w.run(ctx, "import", func(ctx context.Context) error { return w.tf.Import(ctx, address, id) }, nil))
}

// ForceUnlock gives back a lock that is held under id. It looks who holds it
// first, and leaves alone what is another lock, or that of a run that lives.
func (e *Engine) ForceUnlock(ctx context.Context, d Deployment, id string) error {
	if err := Operand("LOCK_ID", id); err != nil {
		return err
	}
	place, err := e.place()
	if err != nil {
		return err
	}
	own, err := lock.New(d.Name, ForceUnlock, place)
	if err != nil {
		return err
	}
	client, err := e.client()
	if err != nil {
		return err
	}
	defer client.Close()
	return explained(lock.Break(ctx, client, own, id, e.Tofu.Version))
}
