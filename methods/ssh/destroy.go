package ssh

import (
	"context"

	"fediversity.eu/slipway/targets/task"
)

// destroy removes a machine that Slipway booted.
type destroy struct{ reach *reach }

func (d *destroy) Coordinates() []any { return d.reach.coordinates() }

func (d *destroy) Run(ctx context.Context, run *task.Run) error {
	if err := d.reach.host.Down(ctx, run, d.reach.deployment); err != nil {
		return err
	}
	run.Record.Changed = true
	run.Log.Infof("%s is gone", d.reach.deployment.Machine.Name)
	return nil
}
