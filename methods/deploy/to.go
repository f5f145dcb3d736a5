package deploy

import (
	"context"

	"fediversity.eu/slipway/methods/nixos"
	"fediversity.eu/slipway/targets/task"
)

// To brings the machine to a system that was built, proves it there, and says
// where the machine is, also with an error when it came as far as that. Whether
// anything was changed is in the record of the run.
func To(ctx context.Context, run *task.Run, reach Reach, built nixos.Built, keys ChangeKeys) (Reached, error) {
	c := &change{Run: run, reach: reach, owner: keys.Owner, keys: keys.Switch, verdict: keys.Verdict}
	defer c.end()
	err := c.bring(ctx, built, keys.Copy)
	return c.reached, classify(err, run.Record.Changed)
}

// bring does it: nothing is copied or switched where the machine runs the system.
func (c *change) bring(ctx context.Context, built nixos.Built, keys CopyKeys) error {
	if err := c.begin(ctx); err != nil {
		return err
	}
	if c.machine.Runs(built.Toplevel) {
		return c.unchanged(ctx)
	}
	if err := c.copy(ctx, built, keys); err != nil {
		return err
	}
	return c.to(ctx, destination{toplevel: built.Toplevel})
}

// copy sends what the machine lacks of the built system.
func (c *change) copy(ctx context.Context, built nixos.Built, keys CopyKeys) error {
	closure, err := built.Tool.Closure(ctx, built.Toplevel)
	if err != nil {
		return err
	}
	defer c.Record.Time("copy")()
	return send(ctx, c.Run, c.conn, c.machine, built, closure, keys)
}
