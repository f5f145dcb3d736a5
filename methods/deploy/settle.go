package deploy

import (
	"context"
	"errors"
	"time"

	"fediversity.eu/slipway/methods/nixos"
	"fediversity.eu/slipway/targets/report"
)

// settle inspects the machine when nothing of an earlier run is under way on it
// any more. A switch that still runs is not disturbed but waited for. One that
// nobody has confirmed is confirmed by the login of this run, unless the machine
// has decided to go back: then that is waited for.
func (c *change) settle(ctx context.Context) error {
	var err error
	if c.machine, err = c.reach.inspect(ctx, c.conn, c.Run); err != nil {
		return err
	}
	if err := c.reach.whose(c.machine, c.owner); err != nil {
		return err
	}
	for _, unit := range c.machine.Switching {
		if err := c.takeUp(ctx, nixos.Switch{Unit: unit}); err != nil {
			return err
		}
	}
	for _, unit := range c.machine.Guards {
		if err := c.answer(ctx, unit); err != nil {
			return err
		}
	}
	if len(c.machine.Switching)+len(c.machine.Guards) > 0 {
		c.stirred = true
		if c.machine, err = c.reach.inspect(ctx, c.conn, c.Run); err != nil {
			return err
		}
	}
	c.tell(ctx, c.machine)
	return nil
}

// takeUp follows a switch that an earlier run left behind, and collects it.
func (c *change) takeUp(ctx context.Context, s nixos.Switch) error {
	c.Log.Warnf("an earlier run left the switch %s behind; waiting for its end", s.Unit)
	conn, ended, err := nixos.Follow(ctx, c.conn, c.fence, s, time.Duration(c.keys.Limit), c.Log)
	c.adopt(conn)
	if errors.Is(err, nixos.ErrReverted) {
		return nil // its guard is at work, and waited for as such
	}
	if err != nil {
		return err
	}
	if err := nixos.Collect(ctx, c.conn, c.fence, s, &ended); err != nil {
		return err
	}
	if ended.Code == 0 && ended.Err(ended.Current) == nil && s.Activates() {
		c.arrived = ended.Current
	}
	c.Log.Warnf("it ended with exit code %d (%s); %s runs", ended.Code, ended.Result, ended.Current)
	return c.relock(ctx)
}

// answer tells a guard that an earlier run left behind that the machine can be
// reached, or waits until it has brought the machine back.
func (c *change) answer(ctx context.Context, guard string) error {
	err := nixos.Guarded(guard).Confirm(ctx, c.conn, c.fence)
	if err == nil {
		c.Log.Warnf("the switch of an earlier run was not confirmed yet; this run has confirmed it")
	}
	// A guard whose folder was taken away goes back too.
	if !errors.Is(err, nixos.ErrReverted) && !errors.Is(err, nixos.ErrGone) {
		return err
	}
	c.Log.Warnf("the machine is going back by itself: an earlier run did not confirm its switch; waiting for it")
	conn, _, err := nixos.WaitForRevert(ctx, c.conn, max(time.Duration(c.keys.Limit), backLimit))
	if err != nil {
		return &report.Fault{Code: report.Unknown, What: "wait for the machine to go back", Why: err, Hint: "try again, or look at its console"}
	}
	c.adopt(conn)
	return c.relock(ctx)
}

// tell passes on, once, that the machine went back by itself.
func (c *change) tell(ctx context.Context, machine nixos.Machine) string {
	if machine.Reverted == nil {
		return ""
	}
	tellReverted(c.Run, machine)
	if err := nixos.Forget(ctx, c.conn, c.fence); err != nil {
		c.Log.Warnf("the next run will say so again: %v", err)
	}
	return wayBack(machine)
}
