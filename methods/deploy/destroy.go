package deploy

import (
	"context"

	"fediversity.eu/slipway/targets/task"
)

// destroy removes a machine that Slipway booted.
type destroy struct{ way *Booted }

// Destroy makes the task that removes every trace of a machine.
func Destroy(way *Booted) task.Task { return &destroy{way} }

func (d *destroy) Coordinates() []any { return d.way.Coordinates() }

func (d *destroy) Run(ctx context.Context, run *task.Run) error {
	if err := d.way.Down(ctx, run); err != nil {
		return err
	}
	run.Record.Changed = true
	run.Log.Infof("%s is gone", d.way.Deployment.Machine.Name)
	return nil
}
