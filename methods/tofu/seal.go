package tofu

import (
	"context"
	"errors"
	"fmt"

	"fediversity.eu/slipway/methods/tofu/broker"
	"fediversity.eu/slipway/methods/tofu/state"
	"fediversity.eu/slipway/targets/report"
)

// unseal lets OpenTofu read an encrypted state, so that it can be judged: neither
// a marker nor emptiness can be seen from outside.
func (e *Engine) unseal(ctx context.Context, d Deployment, s *state.State) error {
	if !s.Sealed {
		return nil
	}
	b, err := broker.Open(s, nil, e.Log.In("backend").Infof)
	if err != nil {
		return err
	}
	defer b.Close()
	err = e.private(ctx, d, b, func(ctx context.Context, w *workshop) error {
		if err := w.init(ctx, true); err != nil {
			return err
		}
		return w.run(ctx, "read the encrypted state", func(ctx context.Context) error {
			text, err := w.tf.StatePull(ctx)
			if err != nil {
				return err
			}
			return s.Unseal([]byte(text))
		}, nil)
	})
	if err != nil && ctx.Err() == nil {
		return report.Refuse("use the state", fmt.Errorf("garbage: it is encrypted, and OpenTofu can't read it: %w", err),
			"nothing was made or written. TF_ENCRYPTION must hold the key that the state was written with")
	}
	return err
}

// seal makes an encrypted first state: OpenTofu alone can, and only over a backend
// that has none, which the broker is for this one command.
func (e *Engine) seal(ctx context.Context, d Deployment, seed []byte) (*state.State, error) {
	var sealed *state.State
	b, err := broker.Open(nil, func(_ context.Context, s *state.State) error { sealed = s; return nil }, e.Log.In("backend").Infof)
	if err != nil {
		return nil, err
	}
	defer b.Close()
	err = e.private(ctx, d, b, func(ctx context.Context, w *workshop) error {
		if err := w.init(ctx, true); err != nil {
			return err
		}
		return w.push(ctx, seed)
	})
	switch {
	case err != nil:
		return nil, err
	case sealed == nil:
		return nil, errors.New("write the first state: OpenTofu wrote none")
	case !sealed.Encrypted:
		return nil, report.Refuse("encrypt the state", errors.New("TF_ENCRYPTION does not encrypt the state"), "nothing was made; give it a state block, or leave it unset")
	}
	return sealed, e.unseal(ctx, d, sealed)
}
