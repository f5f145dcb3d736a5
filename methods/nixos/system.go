package nixos

import (
	"context"
	"fmt"

	"fediversity.eu/slipway/methods"
	"fediversity.eu/slipway/targets/task"
)

// Systems makes the tasks of the programs <group>-<machine>. standIn may be nil
// where no machine is one that Slipway boots.
func Systems(standIn StandIn) func(methods.Deployment) task.Task {
	return func(d methods.Deployment) task.Task {
		return SystemTask{Blueprint: NewBlueprint(d, standIn)}
	}
}

// SystemTask builds the system of a machine and prints its store path.
type SystemTask struct{ *Blueprint }

// Run builds and prints; it touches no machine.
func (t SystemTask) Run(ctx context.Context, run *task.Run) error {
	built, err := t.Build(ctx, run)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(run.Out, built.Toplevel)
	return err
}
