package nixos

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"fediversity.eu/slipway/internal/tail"
	"fediversity.eu/slipway/methods/remote"
	"fediversity.eu/slipway/targets/report"
)

// SwitchCode is the exit code of switch-to-configuration. It is a small
// protocol, not a yes or no (nixpkgs, switch-to-configuration-ng).
type SwitchCode int

// What the codes mean.
const (
	switched         SwitchCode = 0
	switchRefused    SwitchCode = 1   // usage, a check, the boot loader; mostly nothing done
	activationFailed SwitchCode = 2   // the activation script; units were handled all the same
	unitsFailed      SwitchCode = 4   // some unit, user unit or reload
	lockHeld         SwitchCode = 11  // another switch is under way
	rebootNeeded     SwitchCode = 100 // other init interface; only the boot entry was written
	crashed          SwitchCode = 101 // half-way
)

// Switched is how a switch ended.
type Switched struct {
	Code    SwitchCode
	Result  string // as systemd calls it: "success", "exit-code", "signal"
	Current string // toplevel that runs now
}

const startScript = `
mkdir -p /run/slipway && printf '%s\n' "$2" > ` + pendingFile + ` || exit 1
exec systemd-run --unit="$1" --description="Slipway switches to $2" \
  --service-type=exec --no-ask-password --quiet --property=RemainAfterExit=yes \
  ${LOCALE_ARCHIVE:+--setenv=LOCALE_ARCHIVE="$LOCALE_ARCHIVE"} \
  -- "$2"/bin/switch-to-configuration switch </dev/null`

// StartSwitch starts the switch to a toplevel and returns the name of its unit.
// The unit is a transient one with its output in the journal: it needs nobody
// to stay connected, and a later connection finds it by its name.
func StartSwitch(ctx context.Context, conn *remote.Conn, toplevel string) (string, error) {
	var id [5]byte
	if _, err := rand.Read(id[:]); err != nil {
		return "", fmt.Errorf("name the switch: %w", err)
	}
	unit := unitPrefix + time.Now().UTC().Format("20060102-150405-") + hex.EncodeToString(id[:]) + ".service"
	var said tail.Tail
	err := step(ctx, conn, "start the switch", stepLimit, remote.Command{Script: startScript, Args: []string{unit, toplevel}, Stderr: &said})
	if exit, ok := errors.AsType[*remote.ExitError](err); ok {
		return unit, &NotStartedError{Status: exit.Status, Said: strings.TrimSpace(said.String())}
	}
	return unit, err
}

// NotStartedError is a switch that surely did not start.
type NotStartedError struct {
	Status int
	Said   string
}

// Error gives what the machine said.
func (e *NotStartedError) Error() string {
	return fmt.Sprintf("start the switch: exit status %d: %s", e.Status, e.Said)
}

// endScript collects a unit that ended, so that it neither makes the machine
// degraded nor stays in the way. Only a switch that ended well is no longer
// pending: any other is done again by the next run.
const endScript = `
systemctl stop "$1" 2>/dev/null; systemctl reset-failed "$1" 2>/dev/null
[ "$2" = 0 ] && rm -f ` + pendingFile + `
readlink -f /run/current-system`

// Collect ends what is left of a switch on the machine, and looks which system
// runs now.
func Collect(ctx context.Context, conn *remote.Conn, unit string, s *Switched) error {
	var out tail.Tail
	how := "signal"
	if s.exited() {
		how = fmt.Sprint(int(s.Code))
	}
	err := step(ctx, conn, "collect the switch", stepLimit, remote.Command{Script: endScript, Args: []string{unit, how}, Stdout: &out})
	if err != nil {
		return err
	}
	s.Current = storePath(strings.TrimSpace(out.String()))
	return nil
}

func busySwitch(what string) error {
	return &report.Fault{
		Code: report.Busy, What: what, Why: errors.New("another switch is under way on the machine (exit code 11)"),
		Hint: "try again when it has ended",
	}
}

// Err judges how a switch ended, its units aside: nil for a switch that put the
// new system in place, well or with failed units, which the verdict is about.
func (s Switched) Err(toplevel string) error {
	const what = "switch to the new system"
	arrived := s.Current == toplevel
	switch {
	case !s.exited():
		return report.Fail(what, fmt.Errorf("the switch program was ended: %s", s.Result), "run it again: a switch can be repeated")
	case s.Code == lockHeld:
		return busySwitch(what)
	case s.Code == rebootNeeded:
		return &report.Fault{
			Code: report.RebootNeeded, What: what, Why: errors.New("it needs a reboot: its init interface differs (exit code 100)"),
			Hint: "the new system is the default at the next boot; reboot the machine",
		}
	case s.Code == switchRefused && !arrived:
		return report.Refuse(what, errors.New("the switch program refused (exit code 1); the old system runs on"), "its output above says why")
	case s.Code == switchRefused:
		return report.Fail(what, errors.New("the switch program failed half-way (exit code 1)"), "its output above says where; run it again")
	case s.Code == activationFailed:
		return report.Fail(what, errors.New("the activation script failed (exit code 2)"), "its output above names the part that failed")
	case s.Code == crashed:
		return report.Fail(what, errors.New("the switch program crashed half-way (exit code 101)"), "run it again: a switch can be repeated")
	case s.Code != switched && s.Code != unitsFailed:
		return report.Fail(what, fmt.Errorf("the switch program ended with exit code %d", s.Code), "its output above says more; run it again")
	case !arrived:
		return report.Fail(what, fmt.Errorf("it ended with exit code %d, but %q runs", s.Code, s.Current), "run it again")
	}
	return nil
}

// exited tells whether the code is an exit code: the number of a signal looks
// the same.
func (s Switched) exited() bool {
	return s.Result != "signal" && s.Result != "core-dump" && s.Result != "timeout"
}

// Untouched tells whether a switch that failed left the running system alone,
// so that the profile must not stay at a system that never ran.
func (s Switched) Untouched(toplevel string) bool {
	return s.exited() && s.Current != toplevel && (s.Code == lockHeld || s.Code == switchRefused)
}
