package nixos

import (
	"context"
	"crypto/rand"
	_ "embed" // the scripts that run on the machine
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"fediversity.eu/slipway/internal/tail"
	"fediversity.eu/slipway/methods/remote"
)

// Switch is a change of a machine's system that was started on it. It runs
// there as a transient unit with its output in the journal: it needs nobody to
// stay connected, and a later connection finds it by its name.
type Switch struct{ Unit string }

const (
	switchPrefix = "slipway-switch-" // brings the running machine to a system
	commitPrefix = "slipway-commit-" // makes a system the default at boot
	guardPrefix  = "slipway-guard-"  // brings the machine back
)

// Activates tells whether the unit brings the running machine to a system, and
// not only its next boot.
func (s Switch) Activates() bool { return strings.HasPrefix(s.Unit, switchPrefix) }

// dir is what the unit has in /run.
func (s Switch) dir() string { return "/run/slipway/" + strings.TrimSuffix(s.Unit, ".service") }

// guard is the unit that brings the machine back.
func (s Switch) guard() string { return guardPrefix + strings.TrimPrefix(s.Unit, switchPrefix) }

// Guarded gives the switch that a guard watches over.
func Guarded(guard string) Switch {
	return Switch{switchPrefix + strings.TrimPrefix(guard, guardPrefix)}
}

// Guard says when a machine goes back by itself. The zero Guard is none.
type Guard struct {
	From    string        // toplevel that it goes back to
	Confirm time.Duration // how long after the switch a confirmation may take
	Limit   time.Duration // how long the switch may take
}

//go:embed switch.sh
var switchScript string

//go:embed guard.sh
var guardScript string

//go:embed commit.sh
var commitScript string

// restoreScript is for a switch that left the system alone: the machine is as
// pending as it was before.
const restoreScript = `
restore() {
  if [ -s "$1/before" ]; then mv "$1/before" ` + pendingFile + `
  elif [ -e "$1/before" ]; then rm -f ` + pendingFile + `; fi
}`

// sweepScript takes away what earlier switches left. The folder of a guard that
// is still at work is never touched: the machine's way back is in it.
const sweepScript = `
sweep() {
  for old in /run/slipway/` + switchPrefix + `* /run/slipway/` + commitPrefix + `*; do
    [ -d "$old" ] || continue
    guard_of=` + guardPrefix + `${old##*/` + switchPrefix + `}.service
    [ ! -e "$old/guard" ] || case $(systemctl show --value --property=ActiveState "$guard_of") in
    inactive | failed) ;;
    *) echo "$guard_of is still at work" >&2; return 1 ;;
    esac
    rm -rf "$old"
  done
}`

// startScript starts first what would bring the machine back, then the switch.
// That runs "test", which leaves the default at boot alone: a machine that
// crashes on the way comes up in the system before.
const startScript = sweepScript + `
unit=$1 to=$2 dir=$3 guard=$4 from=$5
sweep || exit 1
give_up() {
  [ -z "$from" ] || { systemctl stop "$guard"; rm -f /nix/var/nix/gcroots/slipway-before; }
  exit "$1"
}
mkdir -p "$dir" && printf '%s' "$9" >"$dir/switch" || exit 1
if [ -n "$from" ]; then
  mkdir -p /nix/var/nix/gcroots && ln -sfn "$from" /nix/var/nix/gcroots/slipway-before && printf '%s' "$8" > "$dir/guard" || give_up 1
  systemd-run --unit="$guard" --description="Slipway goes back to $from unless confirmed" \
    --service-type=exec --no-ask-password --quiet --collect \
    -- "$(readlink -f /bin/sh)" "$dir/guard" "$dir" "$unit" "$to" "$from" "$6" "$7" </dev/null || give_up 1
fi
systemd-run --unit="$unit" --description="Slipway switches to $to" \
  --service-type=exec --no-ask-password --quiet --property=RemainAfterExit=yes \
  ${LOCALE_ARCHIVE:+--setenv=LOCALE_ARCHIVE="$LOCALE_ARCHIVE"} \
  -- "$(readlink -f /bin/sh)" "$dir/switch" "$to" "$dir" "${10}" </dev/null && exec touch "$dir/started"
status=$?
# A busy systemd may have taken it up without having said so in time.
case $(systemctl show --value --property=SubState "$unit") in
start | running | exited) exec touch "$dir/started" ;;
esac
give_up $status`

// StartSwitch starts to bring a machine to a toplevel, under a guard.
func StartSwitch(ctx context.Context, conn *remote.Conn, fence Fence, toplevel string, g Guard) (Switch, error) {
	return startSwitch(ctx, conn, fence, toplevel, g, "")
}

// StartBack starts to bring a machine back to a toplevel. Its checks are not asked:
// what refuses to take the place of a bad system would keep that one running.
func StartBack(ctx context.Context, conn *remote.Conn, fence Fence, toplevel string) (Switch, error) {
	return startSwitch(ctx, conn, fence, toplevel, Guard{}, "back")
}

func startSwitch(ctx context.Context, conn *remote.Conn, fence Fence, toplevel string, g Guard, back string) (Switch, error) {
	s, err := newSwitch(switchPrefix)
	if err != nil {
		return s, err
	}
	return s, start(ctx, conn, fence, "start the switch", startScript,
		s.Unit, toplevel, s.dir(), s.guard(), g.From, seconds(g.Confirm), seconds(g.Limit), guardScript, switchScript, back)
}

const startCommitScript = `
unit=$1 dir=$2
mkdir -p "$dir" && printf '%s\n' "$3" > ` + pendingFile + ` && printf '%s' "$5" > "$dir/commit" || exit 1
exec systemd-run --unit="$unit" --description="Slipway makes $3 the default at boot" \
  --service-type=exec --no-ask-password --quiet --property=RemainAfterExit=yes \
  -- "$(readlink -f /bin/sh)" "$dir/commit" "$3" "$4" </dev/null`

// StartCommit starts to make a system the one that the machine boots next: in
// the profile, as a new generation or as the one that is given, and for the boot
// loader.
func StartCommit(ctx context.Context, conn *remote.Conn, fence Fence, toplevel string, generation int) (Switch, error) {
	s, err := newSwitch(commitPrefix)
	if err != nil {
		return s, err
	}
	number := ""
	if generation > 0 {
		number = strconv.Itoa(generation)
	}
	return s, start(ctx, conn, fence, "make the system the default at boot", startCommitScript, s.Unit, s.dir(), toplevel, number, commitScript)
}

func newSwitch(prefix string) (Switch, error) {
	var id [5]byte
	if _, err := rand.Read(id[:]); err != nil {
		return Switch{}, fmt.Errorf("name the switch: %w", err)
	}
	return Switch{prefix + time.Now().UTC().Format("20060102-150405-") + hex.EncodeToString(id[:]) + ".service"}, nil
}

func seconds(d time.Duration) string { return strconv.Itoa(int((d + time.Second - 1) / time.Second)) }

func start(ctx context.Context, conn *remote.Conn, fence Fence, what, script string, args ...string) error {
	var said tail.Tail
	err := fence.step(ctx, conn, what, remote.Command{Script: script, Args: args, Stderr: &said})
	for _, lost := range []error{ErrFenced, ErrGone} {
		if errors.Is(err, lost) {
			return &NotStartedError{What: what, Err: lost}
		}
	}
	if exit, ok := errors.AsType[*remote.ExitError](err); ok {
		return &NotStartedError{What: what, Status: exit.Status, Said: strings.TrimSpace(said.String())}
	}
	return err
}

// NotStartedError is a switch that surely did not start.
type NotStartedError struct {
	What   string
	Status int
	Said   string
	Err    error // nil where the machine said why
}

// Unwrap gives the cause.
func (e *NotStartedError) Unwrap() error { return e.Err }

// Error gives what the machine said.
func (e *NotStartedError) Error() string {
	if e.Err != nil {
		return e.What + ": " + e.Err.Error()
	}
	return fmt.Sprintf("%s: exit status %d: %s", e.What, e.Status, e.Said)
}

// collectScript takes away a unit that ended, so that it neither makes the
// machine degraded nor stays in the way. Its guard must not take a unit that is gone
// for one that was never started.
const collectScript = `
[ ! -e "$3/guard" ] || touch "$3/started"
systemctl stop "$1" 2>/dev/null; systemctl reset-failed "$1" 2>/dev/null
say half "$([ ! -e "$3/half" ] || echo yes)"
say pending "$(cat ` + pendingFile + ` 2>/dev/null)"
say current "$(readlink -f /run/current-system)"
say profile "$(readlink ` + systemProfile + `)"
[ "$2" != 0 ] || rm -f ` + pendingFile + `
:`

const untouchedScript = restoreScript + `
restore "$1"`

// Collect ends what is left of a switch on the machine, and looks which system
// runs now and which generation is the default. Only a change that ended well, or
// that left all as it was, is no longer pending: any other is done again by the next
// run.
func Collect(ctx context.Context, conn *remote.Conn, fence Fence, s Switch, ended *Switched) error {
	var out tail.Tail
	how := "signal"
	if ended.exited() {
		how = strconv.Itoa(int(ended.Code))
	}
	err := fence.step(ctx, conn, "collect the switch", remote.Command{Script: sayScript + collectScript, Args: []string{s.Unit, how, s.dir()}, Stdout: &out})
	if err != nil {
		return err
	}
	if to := ended.collected(out.String()); !s.Activates() || !ended.Untouched(to) {
		return nil
	}
	err = fence.step(ctx, conn, "note that the switch changed nothing", remote.Command{Script: untouchedScript, Args: []string{s.dir()}})
	return err
}

// collected reads what collectScript printed, and gives the toplevel of the switch.
func (s *Switched) collected(text string) (to string) {
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimRight(line, "\n"), "=")
		switch key {
		case "half":
			s.Half = value != ""
		case "pending":
			to = storePath(value)
		case "current":
			s.Current = storePath(value)
		case "profile":
			s.Generation = generationOf(value)
		}
	}
	return to
}

// Settle notes that a switch ended well whose exit code alone does not say so: it
// put its system in place, with failed units that are of no interest.
func Settle(ctx context.Context, conn *remote.Conn, fence Fence) error {
	return fence.step(ctx, conn, "note that the switch ended well", remote.Command{Script: "rm -f " + pendingFile})
}
