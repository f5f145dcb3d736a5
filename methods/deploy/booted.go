package deploy

import (
	"context"

	"fediversity.eu/slipway/methods"
	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/task"
)

// Host boots machines on the host that Slipway runs on.
type Host interface {
	// Up boots a machine, unless it runs already, and says how to reach it.
	Up(ctx context.Context, run *task.Run, d methods.Deployment) (Reached, error)
	// Find says how to reach a machine that runs.
	Find(ctx context.Context, run *task.Run, d methods.Deployment) (Reached, error)
	// Down removes every trace of a machine. One that is not there is no error.
	Down(ctx context.Context, run *task.Run, d methods.Deployment) error
}

// Booted is the way to a machine that Slipway boots itself.
type Booted struct {
	Host       Host
	Deployment methods.Deployment
	cache      env.Cache
}

var _ Way = (*Booted)(nil)

// Coordinates say where machines are kept.
func (b *Booted) Coordinates() []any { return []any{&b.cache} }

// Check finds nothing: Slipway made the machine and knows how to reach it.
func (b *Booted) Check() error { return nil }

// Find asks the host.
func (b *Booted) Find(ctx context.Context, run *task.Run) (Reached, error) {
	return b.Host.Find(ctx, run, b.Deployment)
}

// Up boots the machine, unless it runs already.
func (b *Booted) Up(ctx context.Context, run *task.Run) (Reached, error) {
	defer run.Record.Time("boot")()
	return b.Host.Up(ctx, run, b.Deployment)
}

// Down removes every trace of the machine.
func (b *Booted) Down(ctx context.Context, run *task.Run) error {
	return b.Host.Down(ctx, run, b.Deployment)
}
