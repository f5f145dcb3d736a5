package nixos

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"fediversity.eu/slipway/internal/tail"
	"fediversity.eu/slipway/internal/wait"
	"fediversity.eu/slipway/methods/remote"
)

// ErrReverted tells that a machine has decided to go back by itself to the
// system that it came from.
var ErrReverted = errors.New("the machine goes back to the system that it came from")

// ErrGone is a machine that knows nothing of the run and its switch any more.
var ErrGone = errors.New("the machine knows nothing of the switch: it rebooted, or somebody cleaned up")

// confirmScript decides between a confirmation and the guard: whoever makes the
// link first. A switch without a guard has nothing to decide.
const confirmScript = `
[ -d "$1" ] || { echo gone; exit 0; }
[ -e "$1/guard" ] || { echo confirmed; exit 0; }
ln -s confirmed "$1/decision" 2>/dev/null
decision=$(readlink "$1/decision")
echo "$decision"
[ "$decision" = confirmed ] || exit 0
systemctl stop "$2" 2>/dev/null
rm -f /nix/var/nix/gcroots/slipway-before`

// Confirm tells the machine for good that it can be reached. The error is
// ErrReverted when that came too late.
func (s Switch) Confirm(ctx context.Context, conn *remote.Conn, fence Fence) error {
	return s.tell(ctx, conn, fence, "confirm the switch", confirmScript)
}

// signScript shows the guard that the run is there: by the machine's own clock,
// which nobody sets.
const signScript = `
[ -d "$1" ] || { echo gone; exit 0; }
read -r now _ </proc/uptime
echo "${now%.*}" > "$1/sign.new" && mv "$1/sign.new" "$1/sign" || exit 1
readlink "$1/decision" || echo confirmed`

// Show shows the machine that the run is there, which gives it time until the
// next sign. The error is ErrReverted when that came too late.
func (s Switch) Show(ctx context.Context, conn *remote.Conn, fence Fence) error {
	return s.tell(ctx, conn, fence, "show the machine that it can be reached", signScript)
}

// revertScript decides for the guard that the machine goes back.
const revertScript = `
[ -d "$1" ] || { echo gone; exit 0; }
[ -L "$1/decision" ] || printf '%s\n' "$3" > "$1/why" || exit 1
ln -s reverted "$1/decision" 2>/dev/null
readlink "$1/decision"`

// Revert tells the guard of a switch to bring the machine back now, whatever
// becomes of the run.
func (s Switch) Revert(ctx context.Context, conn *remote.Conn, fence Fence, why string) error {
	const what = "tell the machine to go back"
	switch err := s.tell(ctx, conn, fence, what, revertScript, why); {
	case err == nil:
		return errors.New(what + ": somebody has confirmed its switch")
	case errors.Is(err, ErrReverted):
		return nil
	default:
		return err
	}
}

func (s Switch) tell(ctx context.Context, conn *remote.Conn, fence Fence, what, script string, more ...string) error {
	var out tail.Tail
	err := fence.step(ctx, conn, what, remote.Command{Script: script, Args: append([]string{s.dir(), s.guard()}, more...), Stdout: &out})
	if err != nil {
		return err
	}
	switch said := strings.TrimSpace(out.String()); said {
	case "confirmed":
		return nil
	case "reverted":
		return ErrReverted
	default:
		return fmt.Errorf("%s: %w", what, ErrGone)
	}
}

// Reverted is what a machine tells of how it went back by itself.
type Reverted struct {
	From, To string // toplevels
	Why      string
	Slow     bool       // the switch took longer than its limit, and was ended
	Code     SwitchCode // of the switch back
	At       string     // UTC, as RFC 3339 writes it
}

// String tells it in one line.
func (r Reverted) String() string {
	text := fmt.Sprintf("at %s the machine went back by itself from %s to %s: %s", r.At, r.From, r.To, r.Why)
	if r.Code != switched {
		text += fmt.Sprintf(" (the switch back ended with exit code %d)", r.Code)
	}
	return text
}

// WaitForRevert waits until a machine that goes back by itself has arrived, over
// new connections as they can be had, and gives the one that is good then.
func WaitForRevert(ctx context.Context, conn *remote.Conn, limit time.Duration) (*remote.Conn, Machine, error) {
	var now *remote.Conn
	var machine Machine
	w := wait.For{What: "the machine to have gone back", Limit: limit, Try: lookLimit + 15*time.Second, Interval: time.Second}
	err := w.Until(ctx, func(ctx context.Context) error {
		if now == nil {
			again, err := conn.Reconnect(ctx)
			if err != nil {
				return err
			}
			now = again
		}
		var err error
		if machine, err = Inspect(ctx, now); err != nil {
			_ = now.Close()
			now = nil
			return err
		}
		if len(machine.Guards) > 0 {
			return fmt.Errorf("%s is at work", strings.Join(machine.Guards, ", "))
		}
		return nil
	})
	if err != nil {
		if now != nil {
			_ = now.Close()
		}
		return conn, machine, err
	}
	return now, machine, nil
}

const forgetScript = sweepScript + `
sweep
rm -f /var/lib/slipway/reverted`

// Forget makes the machine forget that it went back: it has been told.
func Forget(ctx context.Context, conn *remote.Conn, fence Fence) error {
	return fence.step(ctx, conn, "note that the machine went back", remote.Command{Script: forgetScript})
}
