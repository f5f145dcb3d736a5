package deploy

import (
	"context"
	"errors"
	"fmt"
	"time"

	"fediversity.eu/slipway/methods/nixos"
	"fediversity.eu/slipway/methods/verdict"
	"fediversity.eu/slipway/targets/report"
)

// backLimit is what going back may take at least: a switch that hangs is ended
// first, and another that is under way is waited for.
const backLimit = 5 * time.Minute

// awaitBack waits for a machine that goes back by itself, and gives in words what
// it told.
func (c *change) awaitBack(ctx context.Context, guard nixos.Guard, why error) (nixos.Machine, string, error) {
	limit := guard.Confirm + max(time.Duration(c.keys.Limit), backLimit)
	conn, machine, err := nixos.WaitForRevert(ctx, c.conn, limit)
	if ctx.Err() != nil {
		return machine, "", context.Cause(ctx)
	}
	if err != nil {
		return machine, "", &report.Fault{
			Code: report.Unknown, What: "wait for the machine to go back", Why: fmt.Errorf("%w (%w)", err, why),
			Hint: "look at its console; a reboot brings it up in " + orNone(c.machine.Profile),
		}
	}
	c.adopt(conn)
	c.Record.Reverted = nil // what an earlier run left was told
	told := c.tell(ctx, machine)
	if machine.Current != guard.From {
		return machine, told, &report.Fault{
			Code: report.Unknown, What: "switch to the new system",
			Why:  fmt.Errorf("it was not confirmed, and now %s runs on the machine (%w)", machine.Current, why),
			Hint: "run it again",
		}
	}
	return machine, told, nil
}

// wentBack waits for a machine that goes back by itself, and tells both what
// happened and how it is now.
func (c *change) wentBack(ctx context.Context, toplevel string, guard nixos.Guard, why error) error {
	c.Log.In("switch").Warnf("the machine goes back to %s by itself; waiting for it", guard.From)
	machine, told, err := c.awaitBack(ctx, guard, why)
	if err != nil {
		return err
	}
	hint := "the new system lets this run in no more: look at its network, firewall, sshd and authorized keys"
	if machine.Reverted != nil && machine.Reverted.Slow {
		hint = "its output above says what it was at; SSH_SWITCH_TIMEOUT sets the limit"
	}
	if told == "" {
		told = "the machine went back"
	}
	if machine.Pending != "" {
		return notBack(guard.From, fmt.Errorf("the switch back did not end well: %s", told), why)
	}
	return &report.Fault{
		Code: report.Failed, What: "switch to " + toplevel,
		Why:  fmt.Errorf("%w\n%s\n%s", why, told, c.judgedAgain(ctx)),
		Hint: hint,
	}
}

// judgedAgain judges the system that a machine went back to, in words. The record
// keeps what was found of the system that it left.
func (c *change) judgedAgain(ctx context.Context) string {
	units, probes := c.Record.Units, c.Record.Probes
	defer func() { c.Record.Units, c.Record.Probes = units, probes }()
	c.stirred = true
	if err := c.judge(ctx, nil, c.machine.Current, verdict.Switch{}); err != nil {
		return "the system that it went back to: " + err.Error()
	}
	return "the system that it went back to is healthy"
}

// unwanted tells whether the machine is to leave a system for what is wrong with
// it: for one that was proved, and for no other.
func (c *change) unwanted(toplevel string, why error) bool {
	code := report.CodeOf(why)
	_, proved := c.machine.Back(toplevel)
	return c.keys.RollbackOn == rollbackUnhealthy && (code == report.Unhealthy || code == report.Failed) &&
		c.machine.Current != "" && proved
}

// giveUp lets the guard of a switch bring the machine back: it does so also when
// this run or its connection ends now.
func (c *change) giveUp(ctx context.Context, s nixos.Switch, guard nixos.Guard, why error) error {
	log := c.Log.In("switch")
	log.Warnf("not healthy; going back to %s", guard.From)
	err := s.Revert(ctx, c.conn, c.fence, "unhealthy")
	if errors.Is(err, nixos.ErrFenced) {
		return err // what is at work there now is another's
	}
	if err != nil && ctx.Err() == nil {
		log.Warnf("%v; without a sign of this run it goes back all the same", err)
	}
	machine, told, err := c.awaitBack(ctx, guard, why)
	if ctx.Err() != nil {
		return c.leave(ctx, guard, why)
	}
	if err == nil && machine.Pending != "" {
		err = fmt.Errorf("the switch back did not end well: %s", told)
	}
	if err != nil {
		return notBack(guard.From, err, why)
	}
	return c.isBack(ctx, guard.From, why)
}

// unproved ends a change that can't be judged healthy, and that no guard watches
// over: where that is wanted, the machine is brought back.
func (c *change) unproved(ctx context.Context, d destination, why error) error {
	if ctx.Err() != nil || !c.unwanted(d.toplevel, why) {
		if ctx.Err() == nil {
			c.Log.In("switch").Warnf("the new system is not the default at boot: at its next boot the machine comes up in %s", orNone(c.machine.Profile))
			return stays(why)
		}
		return why
	}
	back, _ := c.machine.Back(d.toplevel)
	c.Log.In("switch").Warnf("not healthy; going back to %s", back)
	_, ended, err := c.carry(ctx, back, nixos.Guard{}, func() (nixos.Switch, error) { return nixos.StartBack(ctx, c.conn, c.fence, back) })
	if err == nil {
		err = ended.Err(back)
	}
	if err == nil {
		err = nixos.Settle(ctx, c.conn, c.fence)
	}
	if err != nil {
		return notBack(back, err, why)
	}
	c.Record.Reverted = &report.Reverted{From: d.toplevel, To: back, Why: "unhealthy", At: time.Now().UTC().Format(time.RFC3339)}
	return c.isBack(ctx, back, why)
}

// stays adds to what is wrong with a new system that it is in place all the same.
func stays(why error) error {
	fault, ok := why.(*report.Fault) //nolint:errorlint // the verdict's own
	if !ok || fault.Code != report.Unhealthy {
		return why
	}
	staying := *fault
	staying.Hint = "the new system stays in place: mend it and apply again; " + fault.Hint
	return &staying
}

// notBack is a machine that was to go back, and did not.
func notBack(back string, err, why error) error {
	return &report.Fault{
		Code: report.CodeOf(why), What: "go back to " + back, Why: fmt.Errorf("%w\nthat was to be done because of: %w", err, why),
		Hint: "what runs on the machine is not proved: run rollback",
	}
}

// isBack is a machine that left a system for what was wrong with it.
func (c *change) isBack(ctx context.Context, back string, why error) error {
	return &report.Fault{
		Code: report.CodeOf(why), What: "deploy", Why: fmt.Errorf("%w\nthe machine is back at %s\n%s", why, back, c.judgedAgain(ctx)),
		Hint: "mend the new system and apply again; journalctl --unit UNIT on the machine has more of what it said",
	}
}

// gone is a switch that the machine forgot under our hands: where it rebooted,
// that is the end, and is said at once.
func (c *change) gone(ctx context.Context, why error) error {
	conn, err := c.conn.Reconnect(ctx)
	if err != nil {
		return why
	}
	c.adopt(conn)
	machine, err := nixos.Inspect(ctx, conn)
	if err != nil {
		return why
	}
	if machine.BootID == c.machine.BootID {
		if err := c.fence.Holds(ctx, conn); errors.Is(err, nixos.ErrFenced) {
			return err
		}
		return why
	}
	return report.Fail("switch to the new system",
		fmt.Errorf("the machine rebooted before the new system was proved and made its default, and came up in %s", machine.Current),
		"look why it rebooted (journalctl -b -1, its console, its power); then run it again")
}
