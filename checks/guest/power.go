package guest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"fediversity.eu/slipway/internal/wait"
)

// offLimit is how long an orderly shutdown may take.
const offLimit = 2 * time.Minute

// PowerOff shuts the guest down in order, and returns when it is off. Its
// folder stays.
func (g *Guest) PowerOff(ctx context.Context) error {
	// The connection ends before the command does, so only the outcome counts.
	_, asked := g.access.run(ctx, "systemctl poweroff")
	off := wait.For{What: g.name + " to power off", Limit: offLimit, Interval: 50 * time.Millisecond}
	err := off.Until(ctx, func(ctx context.Context) error {
		if g.engine.running(ctx) {
			return errors.Join(errors.New("still running"), asked)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return g.engine.kill(ctx)
}

// Kill cuts the power: nothing in the guest gets to run any more. Its folder
// stays.
func (g *Guest) Kill(ctx context.Context) error {
	if err := g.engine.kill(ctx); err != nil {
		return fmt.Errorf("kill %s: %w", g.name, err)
	}
	return nil
}

// cycleLimit is how long a machine without acceleration may take to boot.
const cycleLimit = 3 * time.Minute

// PowerCycle cuts a VM's power, puts it back, and returns when sshd answers
// again. What the guest had not written to its disk is lost. Ports and keys
// stay. A container has no power of its own: errors.ErrUnsupported.
func (g *Guest) PowerCycle(ctx context.Context) error {
	machine, ok := g.engine.(*vm)
	if !ok {
		return fmt.Errorf("power cycle %s, a %s: %w", g.name, g.kind, errors.ErrUnsupported)
	}
	if err := machine.reset(ctx); err != nil {
		return fmt.Errorf("power cycle %s: %w", g.name, err)
	}
	if err := ready(ctx, g.name, g.access, cycleLimit, machine.alive); err != nil {
		return fmt.Errorf("power cycle %s: %w", g.name, withConsole(err, g.dir))
	}
	return nil
}
