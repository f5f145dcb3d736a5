package deploy

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"fediversity.eu/slipway/methods/nixos"
	"fediversity.eu/slipway/methods/remote"
	"fediversity.eu/slipway/methods/verdict"
	"fediversity.eu/slipway/targets/report"
)

// The values of ROLLBACK_ON and SSH_REBOOT that are asked for by name.
const (
	rollbackNever     = "never"
	rollbackUnhealthy = "unhealthy"
	rebootNever       = "never"
	rebootAlways      = "always"
)

// inhibited deals with a new system that refuses to replace the running one.
// Where that is for want of a reboot, and one is allowed, the machine gets there
// by booting.
func (c *change) inhibited(ctx context.Context, d destination, refused error) error {
	if report.CodeOf(refused) != report.Refused || ctx.Err() != nil {
		return refused
	}
	names, err := nixos.Inhibitors(ctx, c.conn, d.toplevel)
	if err != nil || len(names) == 0 {
		return refused
	}
	if c.keys.Reboot == rebootNever {
		return errors.Join(refused, &report.Fault{
			Code: report.Refused, What: "switch without a reboot", Why: fmt.Errorf("%s can't change in a running system", strings.Join(names, ", ")),
			Hint: "SSH_REBOOT=if-needed deploys it by a reboot",
		})
	}
	c.Record.Changed = true
	c.Log.Infof("%s can't change in a running system: the machine gets there by a reboot", strings.Join(names, ", "))
	return c.byReboot(ctx, nil, d, refused)
}

// byReboot brings the machine to a system that can't be switched to.
func (c *change) byReboot(ctx context.Context, watch *verdict.Watch, d destination, why error) error {
	if err := c.commit(ctx, d); err != nil {
		return err
	}
	if c.keys.Reboot == rebootNever {
		return why
	}
	return c.reboot(ctx, watch, d, true)
}

// reboot reboots the machine where that is needed and allowed, or asked for, and
// judges it again, by the baseline of the run. One that has none takes it now.
func (c *change) reboot(ctx context.Context, watch *verdict.Watch, d destination, must bool) error {
	if !must {
		var err error
		if c.machine, err = c.machine.Booting(ctx, c.conn); err != nil {
			return err
		}
		if err := rebootNeeded(c.machine); err == nil || c.keys.Reboot == rebootNever {
			return err
		}
	}
	if watch == nil {
		var err error
		if watch, err = c.observe(ctx); err != nil {
			return err
		}
		defer watch.Close()
	}
	done := c.Record.Time("reboot")
	conn, machine, err := nixos.Reboot(ctx, c.conn, c.fence, c.machine, time.Duration(c.keys.RebootTimeout), c.Log)
	done()
	if err != nil {
		return err
	}
	c.adopt(conn)
	c.Record.Changed, c.machine = true, machine
	if err := c.relock(ctx); err != nil {
		return err
	}
	if err := machine.Booted(d.toplevel); err != nil {
		return err
	}
	why := c.judge(ctx, watch, d.toplevel, verdict.Switch{})
	if ctx.Err() == nil && errors.Is(why, verdict.ErrContact) && c.anew(ctx, nixos.Guard{}, func(context.Context, *remote.Conn, nixos.Fence) error { return nil }) == nil {
		return c.judge(ctx, watch, d.toplevel, verdict.Switch{}) // a machine that boots may cut its first connections
	}
	return why
}

// rebootNeeded is exit code 6 for a machine that runs another kernel than that
// of its system.
func rebootNeeded(machine nixos.Machine) error {
	if len(machine.Reboot) == 0 {
		return nil
	}
	return &report.Fault{
		Code: report.RebootNeeded, What: "judge the machine",
		Why:  fmt.Errorf("healthy, but only a reboot brings in its new %s", strings.Join(machine.Reboot, ", ")),
		Hint: "reboot the machine, or apply with SSH_REBOOT=if-needed",
	}
}
