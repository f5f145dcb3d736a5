package nixos

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"fediversity.eu/slipway/methods/remote"
	"fediversity.eu/slipway/targets/report"
)

// ErrFenced is a run that lost the lock of a machine to another one, and can
// change nothing there any more.
var ErrFenced = errors.New("another run has locked the machine since")

// Fence is what a run leaves on a machine together with its lock. Each step that
// changes something compares it there, and no other run can lock the machine
// while such a step is under way. So a run that stood still for so long that its
// lock was given away changes nothing when it goes on.
type Fence struct{ token string }

func newFence() Fence { return Fence{rand.Text()} }

// Exit statuses of a step that was not taken.
const (
	fencedStatus = 76 // the machine is another run's
	queuedStatus = 77 // a step of another run is still under way
	goneStatus   = 78 // the machine knows of no run
)

// fencedScript is a script that does nothing where the fence is another's. It
// holds the file of steps, which whoever locks the machine holds for a moment.
func (f Fence) fencedScript(script string) string {
	return `[ -d /run/slipway ] || exit 78
exec 8>>/run/slipway/step
flock -w 30 8 || exit 77
fence=$(cat /run/slipway/fence 2>/dev/null)
[ -n "$fence" ] || exit 78
[ "$fence" = "` + f.token + `" ] || exit 76
` + script
}

// Holds tells whether the machine is still this run's. The error is ErrFenced
// where it is another's, and ErrGone where it forgot.
func (f Fence) Holds(ctx context.Context, conn *remote.Conn) error {
	return f.step(ctx, conn, "look whose the machine is", remote.Command{Script: ":"})
}

// step is a step that changes something.
func (f Fence) step(ctx context.Context, conn *remote.Conn, what string, cmd remote.Command) error {
	cmd.Script = f.fencedScript(cmd.Script)
	err := step(ctx, conn, what, stepLimit, cmd)
	exit, ok := errors.AsType[*remote.ExitError](err)
	switch {
	case ok && exit.Status == fencedStatus:
		return fmt.Errorf("%s: %w", what, ErrFenced)
	case ok && exit.Status == goneStatus:
		return fmt.Errorf("%s: %w", what, ErrGone)
	case ok && exit.Status == queuedStatus:
		return &report.Fault{
			Code: report.Unknown, What: what, Why: errors.New("a step of an earlier run is still under way on the machine"),
			Hint: "see with lsof /run/slipway/step what hangs there, and run it again",
		}
	}
	return err
}
