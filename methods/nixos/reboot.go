package nixos

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"fediversity.eu/slipway/internal/wait"
	"fediversity.eu/slipway/methods/remote"
	"fediversity.eu/slipway/targets/report"
)

// rebootScript leaves the session time to end before the machine goes down.
const rebootScript = `exec systemd-run --unit="slipway-reboot-$1" --description="Slipway reboots the machine" \
  --quiet --no-ask-password --collect --service-type=exec -- systemctl reboot </dev/null`

// Reboot reboots a machine and waits until it is up again, which a new boot ID
// proves (proc(5), /proc/sys/kernel/random/boot_id). Until the limit, whatever
// answers in another way is not yet up: an initrd may have an ssh server of its
// own, with other keys. It returns the connection to the machine that came up.
func Reboot(ctx context.Context, conn *remote.Conn, fence Fence, before Machine, limit time.Duration, log *report.Log) (*remote.Conn, Machine, error) {
	log = log.In("reboot")
	log.Infof("rebooting")
	unit := strings.ToLower(rand.Text())[:10] // what an earlier one left is not in the way
	if err := fence.step(ctx, conn, "reboot the machine", remote.Command{Script: rebootScript, Args: []string{unit}}); err != nil && !errors.Is(err, remote.ErrLost) {
		return conn, before, err
	}
	var now *remote.Conn
	var machine Machine
	w := wait.For{What: "the machine to come up again", Limit: limit, Interval: time.Second}
	err := w.Until(ctx, func(ctx context.Context) error {
		again, err := conn.Reconnect(ctx)
		if err != nil {
			return err
		}
		if machine, err = Inspect(ctx, again); err == nil && machine.BootID == before.BootID {
			err = errors.New("it has not gone down yet")
		}
		if err != nil {
			_ = again.Close()
			return err
		}
		now = again
		return nil
	})
	if ctx.Err() != nil {
		log.Warnf("the machine was told to reboot, and does so without us")
		return conn, before, context.Cause(ctx)
	}
	if err != nil {
		return conn, before, &report.Fault{
			Code: report.Unknown, What: "reboot the machine", Why: err,
			Hint: "look at its console; the boot menu has the generations before; SSH_REBOOT_TIMEOUT sets the limit",
		}
	}
	log.Infof("up again, boot %s", machine.BootID)
	return now, machine, nil
}

// Booted checks that a machine came up in the system that it was to boot.
func (m Machine) Booted(toplevel string) error {
	if m.Current == toplevel {
		return nil
	}
	return report.Fail("reboot the machine", fmt.Errorf("it came up in %s instead of %s", m.Current, toplevel),
		"its boot loader chose another generation: look at the boot menu, or at the boot counters of the loader")
}
