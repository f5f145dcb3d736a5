package program

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"fediversity.eu/slipway/groups"
	"fediversity.eu/slipway/targets/report"
	"fediversity.eu/slipway/targets/task"
)

// failing makes the tasks of some machines end with a code.
func failing(codes map[string]report.Code) func(context.Context, *work, *task.Run) error {
	return func(_ context.Context, task *work, _ *task.Run) error {
		if code, ok := codes[task.machine]; ok {
			return &report.Fault{Code: code, What: "deploy " + task.machine, Why: errors.New("as the test wants")}
		}
		return nil
	}
}

func TestAllOfPublishedMachines(t *testing.T) {
	w := newWorld(t, machine("web"), machine("mail"), internal("db"))
	assert.NilError(t, w.run(t.Context(), nil, "all-plan").err)
	assert.DeepEqual(t, w.ssh.starts(), []string{"mail", "web"})
}

func TestOneFailureOfAllStopsNoOther(t *testing.T) {
	w := newWorld(t, machine("a"), machine("b"), machine("c"), machine("d"))
	w.ssh.do = failing(map[string]report.Code{"b": report.Busy, "d": report.Unhealthy})
	got := w.run(t.Context(), map[string]string{"PARALLELISM": "1"}, "all")
	assert.DeepEqual(t, w.ssh.starts(), []string{"a", "b", "c", "d"})
	assert.Equal(t, report.CodeOf(got.err), report.Unhealthy)
	assert.Error(t, got.err, "2 of 4 did not end healthy: 1 busy, 1 unhealthy")
	for _, text := range []string{
		"[" + w.name("ssh-b-apply") + "] error: deploy b: as the test wants\n",
		"[" + w.name("ssh-b-apply") + "] busy after 0.0 s\n",
		"[" + w.name("ssh-d-apply") + "] error: deploy d: as the test wants\n",
		"[" + w.name("all-apply") + "] error: 2 of 4 did not end healthy: 1 busy, 1 unhealthy\n",
	} {
		assert.Equal(t, strings.Count(got.log, text), 1, "%q in\n%s", text, got.log)
	}
}

func TestExitCodeOfAllIsTheWorst(t *testing.T) {
	for _, c := range []struct {
		codes []report.Code
		want  report.Code
	}{
		{[]report.Code{0, 0, 0}, 0},
		{[]report.Code{0, 6, 0}, 6},
		{[]report.Code{6, 75, 0}, 75},
		{[]report.Code{75, 4, 6}, 4},
		{[]report.Code{4, 5, 75}, 5},
		{[]report.Code{5, 3, 4}, 3},
		{[]report.Code{3, 1, 5}, 1},
	} {
		t.Run(fmt.Sprint(c.codes), func(t *testing.T) {
			w := newWorld(t, machine("a"), machine("b"), machine("c"))
			codes := map[string]report.Code{}
			for i, name := range []string{"a", "b", "c"} {
				if c.codes[i] != report.Healthy {
					codes[name] = c.codes[i]
				}
			}
			w.ssh.do = failing(codes)
			assert.Equal(t, report.CodeOf(w.run(t.Context(), nil, "all").err), c.want)
		})
	}
}

func TestATableEndsAnAggregate(t *testing.T) {
	w := newWorld(t, machine("web"), machine("a-longer-name"), machine("late", "web"), internal("db"))
	w.ssh.do = failing(map[string]report.Code{"web": report.Unhealthy})
	got := w.run(t.Context(), nil, "combined")
	var rows []string
	for line := range strings.Lines(got.log) {
		if row, ok := strings.CutPrefix(line, "["+w.name("combined-apply")+"] "); ok {
			rows = append(rows, strings.Join(strings.Fields(row), " "))
		}
	}
	assert.Assert(t, cmp.Len(rows, 6), "a row a member, the count and the end: %s", got.log)
	for i, want := range []string{
		`ssh-web-apply unhealthy \d+\.\d s deploy web: as the test wants`,
		`ssh-a-longer-name-apply done \d+\.\d s`,
		`ssh-late-apply not started \d+\.\d s ` + w.name("ssh-web-apply") + ` ended unhealthy`,
		`ssh-db-apply done \d+\.\d s`,
	} {
		assert.Assert(t, cmp.Regexp("^"+w.name(want)+"$", rows[i]))
	}
}

func TestParallelismBoundsWhatRunsAtOnce(t *testing.T) {
	for _, c := range []struct {
		name        string
		parallelism string
		machines    int
		peak        int
		took        time.Duration // by the clock of the bubble, at a second a machine
	}{
		{"one at a time", "1", 5, 1, 5 * time.Second},
		{"some at a time", "4", 20, 4, 5 * time.Second},
		{"ten by default", "", 25, 10, 3 * time.Second},
		{"more than there are", "100", 7, 7, time.Second},
		{"300 machines", "50", 300, 50, 6 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var machines []groups.Machine
				for i := range c.machines {
					machines = append(machines, machine(fmt.Sprintf("m-%d", i)))
				}
				w := newWorld(t, machines...)
				w.ssh.do = func(context.Context, *work, *task.Run) error {
					time.Sleep(time.Second) // of the bubble: it ends when everybody waits
					return nil
				}
				started := time.Now()
				assert.NilError(t, w.run(t.Context(), map[string]string{"PARALLELISM": c.parallelism}, "all").err)
				assert.Equal(t, time.Since(started), c.took)
				running, peak := 0, 0
				for _, event := range w.ssh.seen() {
					if strings.HasPrefix(event, "start") {
						running++
					} else {
						running--
					}
					peak = max(peak, running)
				}
				assert.Equal(t, peak, c.peak)
				assert.Assert(t, cmp.Len(w.ssh.starts(), c.machines))
			})
		})
	}
}

// before tells whether one event came before another.
func before(t *testing.T, events []string, first, then string) {
	t.Helper()
	i, j := slices.Index(events, first), slices.Index(events, then)
	assert.Assert(t, i >= 0 && j >= 0 && i < j, "%q must come before %q: %q", first, then, events)
}

func TestCombinedRunsInOrderOfDependency(t *testing.T) {
	w := newWorld(t,
		machine("web", "forge"), machine("forge", "db"), machine("alone"),
		internal("db", "disk"), internal("disk"), internal("probe", "web"))
	assert.NilError(t, w.run(t.Context(), nil, "combined").err)
	events := w.ssh.seen()
	assert.Assert(t, cmp.Len(w.ssh.starts(), 6))
	for _, pair := range [][2]string{
		{"disk", "db"}, {"db", "forge"}, {"forge", "web"}, // as declared
		{"db", "alone"}, {"disk", "alone"}, {"disk", "web"}, // internal ones first
		{"web", "probe"}, // unless an internal one needs a published one
	} {
		before(t, events, "end "+pair[0]+" apply", "start "+pair[1]+" apply")
	}
}

func TestCombinedDestroysBackwards(t *testing.T) {
	w := newWorld(t, machine("web", "forge"), machine("forge", "db"), machine("alone"), internal("db"))
	assert.NilError(t, w.run(t.Context(), nil, "combined-destroy").err)
	events := w.ssh.seen()
	for _, pair := range [][2]string{{"web", "forge"}, {"forge", "db"}, {"alone", "db"}} {
		before(t, events, "end "+pair[0]+" destroy", "start "+pair[1]+" destroy")
	}
}

func TestWhatDependsOnAFailureIsNotStarted(t *testing.T) {
	w := newWorld(t, machine("web", "forge"), machine("forge", "db"), machine("alone"), internal("db"), internal("cache"))
	w.ssh.do = failing(map[string]report.Code{"forge": report.Unhealthy})
	got := w.run(t.Context(), nil, "combined")
	assert.DeepEqual(t, w.ssh.starts(), []string{"alone", "cache", "db", "forge"})
	assert.Error(t, got.err, "2 of 5 did not end healthy: 1 not started, 1 unhealthy")
	assert.Equal(t, got.rows(w.name("ssh-web-apply")), "not started 0.0 s "+w.name("ssh-forge-apply ended unhealthy"))
}

func TestAFailedInternalMachineHoldsBackThePublishedOnes(t *testing.T) {
	w := newWorld(t, machine("web"), machine("mail"), internal("db"), internal("cache"))
	w.ssh.do = failing(map[string]report.Code{"db": report.Failed, "cache": report.Refused})
	got := w.run(t.Context(), nil, "combined")
	assert.DeepEqual(t, w.ssh.starts(), []string{"cache", "db"})
	for _, name := range []string{"ssh-web-apply", "ssh-mail-apply"} {
		assert.Equal(t, got.rows(w.name(name)), "not started 0.0 s "+w.name("ssh-db-apply ended failed, ")+w.name("ssh-cache-apply ended refused"))
	}
}

func TestADestroyThatFailsKeepsWhatItStandsOn(t *testing.T) {
	w := newWorld(t, machine("web", "db"), machine("alone"), internal("db"))
	w.ssh.do = failing(map[string]report.Code{"web": report.Failed})
	got := w.run(t.Context(), nil, "combined-destroy")
	assert.DeepEqual(t, w.ssh.starts(), []string{"alone", "web"})
	assert.Equal(t, got.rows(w.name("ssh-db-destroy")), "not started 0.0 s "+w.name("ssh-web-destroy ended failed"))
}

func TestWhatWasNotStartedTakesNothingFromTheCause(t *testing.T) {
	for _, code := range []report.Code{report.Unhealthy, report.Unknown, report.Refused, report.Busy, report.RebootNeeded} {
		t.Run(code.String(), func(t *testing.T) {
			w := newWorld(t, machine("web", "db"), internal("db"))
			w.ssh.do = failing(map[string]report.Code{"db": code})
			got := w.run(t.Context(), nil, "combined")
			assert.DeepEqual(t, w.ssh.starts(), []string{"db"})
			assert.Equal(t, report.CodeOf(got.err), code, "the worst of what ran")
		})
	}
}

func TestAnInterruptionLeavesTheRestNotStarted(t *testing.T) {
	for _, c := range []struct {
		signal syscall.Signal
		code   report.Code
	}{{syscall.SIGINT, report.Interrupted}, {syscall.SIGTERM, report.Terminated}} {
		t.Run(c.signal.String(), func(t *testing.T) {
			for range 20 { // it is the moment between two members that matters
				var machines []groups.Machine
				for i := range 20 {
					machines = append(machines, machine(fmt.Sprintf("m-%d", i)))
				}
				w := newWorld(t, machines...)
				ctx, cancel := context.WithCancelCause(t.Context())
				w.ssh.do = func(ctx context.Context, _ *work, _ *task.Run) error {
					cancel(&report.Interruption{Signal: c.signal})
					return fmt.Errorf("copy: %w", context.Cause(ctx))
				}
				got := w.run(ctx, map[string]string{"PARALLELISM": "1"}, "all")
				assert.Equal(t, report.CodeOf(got.err), c.code)
				assert.Assert(t, cmp.Len(w.ssh.starts(), 1), "started after the interruption: %v", w.ssh.seen())
				assert.ErrorContains(t, got.err, "20 of 20 did not end healthy: ")
				assert.ErrorContains(t, got.err, "19 not started")
				assert.Equal(t, strings.Count(got.log, "  not started "), 19, "in the table: %s", got.log)
			}
		})
	}
}

func TestAnInterruptionEndsMembersThatRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, machine("a"), machine("b"), machine("c"))
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Minute, func() { cancel(&report.Interruption{Signal: syscall.SIGTERM}) })
		w.ssh.do = func(ctx context.Context, _ *work, _ *task.Run) error {
			<-ctx.Done()
			return context.Cause(ctx)
		}
		started := time.Now()
		got := w.run(ctx, nil, "all")
		assert.Equal(t, report.CodeOf(got.err), report.Terminated)
		assert.Equal(t, time.Since(started), time.Minute)
		assert.Assert(t, cmp.Len(w.ssh.starts(), 3))
	})
}

func TestOrderIsFoundInAGroupWhoseMachinesNeedMany(t *testing.T) {
	// Each of 300 needs the ten before it: there are more ways through such a
	// graph than anybody can walk.
	machines := []groups.Machine{machine("web")}
	for i := range 300 {
		m := internal(fmt.Sprintf("m-%d", i))
		for j := max(0, i-10); j < i; j++ {
			m.Needs = append(m.Needs, fmt.Sprintf("m-%d", j))
		}
		machines = append(machines, m)
	}
	found := make(chan map[string][]string, 1)
	go func() { found <- edges(group("big", []string{"ssh"}, machines...), nil, false) }()
	select {
	case before := <-found:
		assert.Assert(t, cmp.Len(before["web"], 300))
		assert.Assert(t, cmp.Len(before["m-299"], 10))
	case <-time.After(5 * time.Second):
		t.Fatal("the order was not found in five seconds")
	}
}

func TestAnErrorOfManyLinesIsToldOnce(t *testing.T) {
	w := newWorld(t, machine("web"), machine("mail"))
	w.ssh.do = func(_ context.Context, task *work, _ *task.Run) error {
		if task.machine == "mail" {
			return nil
		}
		return report.Fail("build", errors.New("exit status 1\nsecond line\nthird line"), "read the log")
	}
	got := w.run(t.Context(), nil, "all")
	assert.Equal(t, strings.Count(got.log, "second line"), 1, got.log)
	assert.Equal(t, strings.Count(got.log, "error: build: exit status 1\n"), 1, got.log)
	assert.Equal(t, got.rows(w.name("ssh-web-apply")), "failed 0.0 s build: exit status 1")
	assert.DeepEqual(t, report.Hints(got.err), []string{"read the log"})
}

func TestWhatFailsAfterAnInterruptionWasInterrupted(t *testing.T) {
	w := newWorld(t, machine("web"), machine("mail"))
	ctx, cancel := context.WithCancelCause(t.Context())
	w.ssh.do = func(context.Context, *work, *task.Run) error {
		cancel(&report.Interruption{Signal: syscall.SIGTERM})
		return report.Fail("copy", errors.New("the other side is gone"), "") // a cause that lost the context's
	}
	for _, rest := range []string{"ssh-web", "all"} {
		path := filepath.Join(t.TempDir(), "record.json")
		got := w.run(ctx, map[string]string{"REPORT": path, "PARALLELISM": "1"}, rest)
		assert.Equal(t, report.CodeOf(got.err), report.Terminated)
		assert.Equal(t, recordAt(t, path).ExitCode, report.Terminated)
	}
}

func TestResultsOfSeveralMachinesSayWhose(t *testing.T) {
	for _, c := range []struct {
		name     string
		machines []groups.Machine
		rest     string
		want     []string
	}{
		{"one program", []groups.Machine{machine("web"), machine("mail")}, "ssh-web", []string{"a result", "", "another"}},
		{"a group of one machine", []groups.Machine{machine("web")}, "all", []string{"a result", "", "another"}},
		{
			"a group",
			[]groups.Machine{machine("web"), machine("mail")},
			"all",
			[]string{"web: a result", "web: ", "web: another", "mail: a result", "mail: ", "mail: another"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, c.machines...)
			w.ssh.do = func(_ context.Context, _ *work, run *task.Run) error {
				for _, part := range []string{"a res", "ult\n\nanothe", "r"} {
					_, _ = io.WriteString(run.Out, part)
				}
				return nil
			}
			got := strings.Split(strings.TrimSuffix(w.run(t.Context(), nil, c.rest).out, "\n"), "\n")
			slices.Sort(got)
			slices.Sort(c.want)
			assert.DeepEqual(t, got, c.want)
		})
	}
}

func TestAPlanThatFoundChangesKeepsNoOtherFromBeingMade(t *testing.T) {
	for _, c := range []struct {
		name    string
		verb    string
		code    report.Code
		started []string
	}{
		{"changes", "plan", report.RebootNeeded, []string{"db", "forge", "web"}},
		{"a plan that fails", "plan", report.Unknown, []string{"db"}},
		{"a machine that needs a reboot", "apply", report.RebootNeeded, []string{"db"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, machine("web", "forge"), machine("forge", "db"), internal("db"))
			w.ssh.do = failing(map[string]report.Code{"db": c.code})
			got := w.run(t.Context(), nil, "combined-"+c.verb)
			assert.DeepEqual(t, w.ssh.starts(), c.started)
			assert.Equal(t, report.CodeOf(got.err), c.code)
		})
	}
}
