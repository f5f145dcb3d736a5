package nixos

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"fediversity.eu/slipway/internal/journal"
	"fediversity.eu/slipway/internal/wait"
	"fediversity.eu/slipway/methods/remote"
	"fediversity.eu/slipway/targets/report"
)

// followScript waits a little for a unit to end, then prints its state and what
// it wrote to the journal since a cursor. A busy systemd answers late, and each
// question keeps it from the switch: while the process is there, it is left alone. Its
// name, which no other has, finds all that it wrote: of a unit that failed at once, the
// journal daemon may not see the invocation any more.
const followScript = `
look() { state=$(systemctl show --property=LoadState,ActiveState,SubState,Result,MainPID,ExecMainCode,ExecMainStatus,InvocationID "$1"); }
value() { value=${state##*"$1="} value=${value%%"$newline"*}; }
newline='
'
n=0
look "$1"
while [ $n -lt 40 ]; do
  case $newline$state$newline in
  *"$newline"SubState=running"$newline"* | *"$newline"SubState=start"$newline"*) value MainPID ;;
  *) break ;;
  esac
  while [ $n -lt 40 ]; do
    n=$((n+1)); sleep 0.05
    [ -d "/proc/$value" ] || break
  done
  look "$1"
done
printf '%s\n' "$state"
[ ! -L "$3/decision" ] || echo "Decision=$(readlink "$3/decision")"
value InvocationID
[ -n "$value" ] || exit 0
journalctl --sync 2>/dev/null
set -- "_SYSTEMD_UNIT=$1" ${2:+--after-cursor="$2"}
journalctl -qa --output=json --output-fields=MESSAGE "$@" | head -c 33554432 # the next look goes on`

// Follow waits until the unit of a switch has ended and passes on what it says.
// A connection that is lost is only a look missed: Follow makes a new one for
// as long as limit allows, and shows the guard that it could. It returns the
// connection that it ended with. The error is ErrReverted when the machine has decided
// to go back.
func Follow(ctx context.Context, conn *remote.Conn, fence Fence, s Switch, limit time.Duration, log *report.Log) (*remote.Conn, Switched, error) {
	log = log.In("switch")
	lines := log.Lines()
	defer func() { _ = lines.Close() }()
	var ended Switched
	var said Said
	cursor, lost := "", false
	unit := s.Unit
	w := wait.For{What: "the switch to end (unit " + unit + ")", Limit: limit, Try: lookLimit, Interval: 100 * time.Millisecond}
	whole := ctx
	err := w.Until(ctx, func(ctx context.Context) error {
		if lost {
			again, err := conn.Reconnect(ctx)
			if err != nil {
				return err
			}
			_ = conn.Close()
			conn, lost = again, false
			log.Infof("connected again")
			if s.Activates() && errors.Is(s.Show(ctx, conn, fence), ErrReverted) {
				return wait.Stop(ErrReverted)
			}
		}
		out, err := output(ctx, conn, "look at the switch", followScript, unit, cursor, s.dir())
		var exit *remote.ExitError
		if err != nil && !errors.As(err, &exit) {
			lost = true
			if whole.Err() == nil { // we were not told to stop
				log.Warnf("connection lost; the switch goes on without it")
			}
			return err
		}
		seen := parseFollowed(string(out))
		for _, line := range seen.lines {
			said.hear(line)
			_, _ = lines.Write(append([]byte(line), '\n'))
		}
		if seen.cursor != "" {
			cursor = seen.cursor
		}
		switch {
		case seen.properties["Decision"] == "reverted":
			return wait.Stop(ErrReverted)
		case seen.properties["LoadState"] == "not-found":
			return wait.Stop(&report.Fault{
				Code: report.Unknown, What: "follow the switch", Why: fmt.Errorf("unit %s: %w", unit, ErrGone),
				Hint: "the next run looks what became of it",
			})
		case seen.running():
			return errors.New("it is still running")
		}
		ended, err = seen.switched()
		ended.Said = said
		return err
	})
	if ctx.Err() != nil {
		log.Warnf("the switch goes on without us on the machine, as unit %s; the next run finds it", unit)
	}
	if _, ok := errors.AsType[*wait.TimeoutError](err); ok {
		err = &report.Fault{
			Code: report.Unknown, What: "follow the switch", Why: err,
			Hint: "the switch may still be running on the machine: the next run finds it; SSH_SWITCH_TIMEOUT sets the limit",
		}
	}
	return conn, ended, err
}

// followed is what one look at a switch found.
type followed struct {
	properties map[string]string
	lines      []string
	cursor     string
}

func parseFollowed(text string) followed {
	f := followed{properties: map[string]string{}}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if key, value, ok := strings.Cut(line, "="); ok && !strings.HasPrefix(line, "{") {
			f.properties[key] = value
		}
	}
	for _, entry := range journal.Parse(text) {
		f.cursor = entry.Cursor
		f.lines = append(f.lines, entry.Message)
	}
	return f
}

func (f followed) running() bool {
	sub := f.properties["SubState"]
	return sub == "running" || sub == "start" || f.properties["ActiveState"] == "deactivating"
}

func (f followed) switched() (Switched, error) {
	status, err := strconv.Atoi(f.properties["ExecMainStatus"])
	if err != nil || f.properties["Result"] == "" {
		return Switched{}, fmt.Errorf("its state can't be read: %v", f.properties)
	}
	result := f.properties["Result"]
	// Some signals count as a good end of a service (SIGHUP, SIGTERM). Of a switch
	// they are none. The codes are those of siginfo: 2 killed, 3 dumped.
	if code := f.properties["ExecMainCode"]; code == "2" || code == "3" {
		result = "signal"
	}
	return Switched{Code: SwitchCode(status), Result: result}, nil
}
