package verdict

import (
	"context"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/godbus/dbus/v5"
	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/targets/report"
)

// brought are the faults that were brought about on the recorded machine, all of
// them by units that multi-user.target wants.
var brought = map[string]string{
	// What fails.
	"f-oneshot-false.service": "new: failed", "f-oneshot-false2.service": "new: failed", "f-oneshot-false3.service": "new: failed",
	"f-simple-exit1.service": "new: failed", "f-exec-exit1.service": "new: failed", "f-notify-exit1.service": "new: failed",
	"f-notify-exit0.service": "new: failed", "f-forking-nopid.service": "new: failed", "f-dbus-noname.service": "new: failed",
	"f-late3.service": "new: failed", "f-late3b.service": "new: failed", "f-segv.service": "new: failed", "f-watchdog.service": "new: failed",
	"x-missing-bin.service": "new: failed", "x-missing-bin-exec.service": "new: failed", "x-bad-user.service": "new: failed",
	"x-bad-cwd.service": "new: failed", "x-bad-envfile.service": "new: failed", "x-bad-ns.service": "new: failed",
	"x-startpre.service": "new: failed", "x-startpost.service": "new: failed", "t-notify.service": "new: failed", "run-mnt1.mount": "new: failed",
	// What is started by something else.
	"a-bind.socket": "new: failed", "a-timer.service": "new: failed", "a-timer-nosvc.timer": "new: did not start",
	"a-timer-bad.timer": "new: can't be loaded",
	// What is restarted.
	"l-fast.service": "new: failed", "l-missing-bin.service": "new: failed",
	"l-fast-nolimit.service": "new: restarts again and again", "l-exit0-1s.service": "new: restarts again and again",
	"l-live3.service": "new: restarts again and again", "l-live3-direct.service": "new: restarts again and again",
	"l-restartsec5.service": "new: restarts again and again", "l-notify.service": "new: restarts again and again",
	"l-oneshot.service": "new: restarts again and again", "t-notify-restart.service": "new: restarts again and again",
	"h-restart-once.service": "remark: was restarted, and runs",
	// What can't start.
	"x-bad-noexec.service": "new: can't be loaded", "x-bad-exec-rel.service": "new: can't be loaded", "x-bad-section.service": "new: can't be loaded",
	"does-not-exist.service": "new: does not exist", "x-missing-dep.service": "new: did not start", "x-dep-failed.service": "new: did not start",
	"x-requisite.service": "new: did not start", "x-assert.service": "new: did not start", "x-bindsto.service": "new: did not start",
	"f-late3-exit0.service": "remark: ended by itself",
	// All others are well: h-simple, h-oneshot, h-oneshot-norae, h-notify, s-notify10, s-oneshot10, x-wants-missing, x-bad-type (which
	// systemd takes for a simple one), x-condition, x-dep-failed-noafter, a.target, and sockets and paths that nobody used.
}

// judgeRecorded judges the recorded machine.
func judgeRecorded(t *testing.T, m *machine) map[string]string {
	t.Helper()
	got := map[string]string{}
	synctest.Test(t, func(t *testing.T) {
		watch, err := Observe(t.Context(), m, &report.Log{})
		assert.NilError(t, err)
		assert.Equal(t, watch.bus != nil, m.bus != nil)
		synctest.Wait()
		<-time.After(time.Minute) // the change, all of it recorded
		v, err := watch.Judge(t.Context(), m, Options{Limit: 5 * time.Minute})
		assert.NilError(t, err)
		watch.Close()
		for _, f := range v.Findings {
			got[f.Name()] = string(f.Class) + ": " + string(f.Fault)
		}
		assert.Equal(t, v.Code(), report.Unhealthy)
	})
	return got
}

func TestRecordedFaultsByTheJournal(t *testing.T) {
	m := &machine{samples: []any{recorded(t, "before.txt"), recorded(t, "after.txt")}, journal: recorded(t, "journal.txt")}
	assert.DeepEqual(t, judgeRecorded(t, m), brought)
}

func TestRecordedFaultsOnTheBus(t *testing.T) {
	p := &peer{says: replay(recorded(t, "signals.txt"))}
	m := &machine{samples: []any{recorded(t, "before.txt"), recorded(t, "after.txt")}, bus: p.serve}
	assert.DeepEqual(t, judgeRecorded(t, m), brought)
	assert.Assert(t, strings.Contains(strings.Join(p.kept, " "), "x-dep-failed.service"), "new units are kept: %v", p.kept)
}

func TestRecordedFaultsWhenTheBusIsLost(t *testing.T) {
	signals := recorded(t, "signals.txt")
	half := strings.Join(strings.SplitAfter(signals, "\n")[:strings.Count(signals, "\n")/2], "")
	p := &peer{says: func(ctx context.Context, say func(*dbus.Message) error) error {
		ctx, end := context.WithTimeout(ctx, 5*time.Second)
		defer end()
		_ = replay(half)(ctx, say)
		return io.EOF
	}}
	m := &machine{samples: []any{recorded(t, "before.txt"), recorded(t, "after.txt")}, bus: p.serve, journal: recorded(t, "journal.txt")}
	assert.DeepEqual(t, judgeRecorded(t, m), brought)
}

func TestTheRecordedMachineWasWellBefore(t *testing.T) {
	m := &machine{samples: []any{recorded(t, "before.txt")}}
	synctest.Test(t, func(t *testing.T) {
		v, err := Look(t.Context(), m, Options{Limit: time.Minute}, &report.Log{})
		assert.NilError(t, err)
		assert.Equal(t, v.Code(), report.Healthy)
		assert.Equal(t, len(v.Findings), 0)
		assert.Equal(t, m.looks, 1)
	})
}
