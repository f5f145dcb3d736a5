//go:build checks

package integrations

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/checks/fakestate"
	"fediversity.eu/slipway/targets/report"
)

// children gives the processes whose parent is pid.
func children(t *testing.T, pid int) []int {
	t.Helper()
	paths, err := filepath.Glob("/proc/[0-9]*/stat")
	assert.NilError(t, err)
	var found []int
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it ended meanwhile
		}
		fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
		if len(fields) > 1 && fields[1] == strconv.Itoa(pid) {
			number, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			assert.NilError(t, err)
			found = append(found, number)
		}
	}
	return found
}

// family is the program, its supervisor, and its tofu with the group of that.
type family struct{ program, supervisor, tofu int }

func (r *running) family() family {
	r.w.t.Helper()
	f := family{program: <-r.pid}
	r.pid <- f.program
	r.w.until("a tofu that applies", func() bool {
		for _, f.supervisor = range children(r.w.t, f.program) {
			for _, f.tofu = range children(r.w.t, f.supervisor) {
				text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", f.tofu))
				return strings.Contains(string(text), "\x00apply\x00")
			}
		}
		return false
	})
	return f
}

// TestPowerLoss takes from a run in the middle of an apply whatever may go: the
// program, its supervisor, its tofu, or all of them in one instant.
func TestPowerLoss(t *testing.T) {
	const n = 8
	w := newWorld(t, fakestate.Strict)
	// interrupted starts a bootstrap of n objects and kills when some are made.
	interrupted := func(w *world, kill func(family)) outcome {
		w.things(n)
		w.hold()
		r := w.start(cold, "apply")
		f := r.family()
		w.done(free)
		kill(f)
		o := r.wait()
		w.quiet()
		w.let()
		return o
	}
	sigkill := func(pids ...int) {
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	fresh := func(t *testing.T) *world {
		t.Helper()
		w.Set(nil, nil)
		own := w.as(t)
		own.dir = t.TempDir()
		assert.NilError(t, os.MkdirAll(filepath.Join(own.dir, "configuration"), 0o755))
		return own
	}

	t.Run("the program", func(t *testing.T) {
		w := fresh(t)
		interrupted(w, func(f family) { sigkill(f.program) })
		o := w.must(cold, "apply")
		assert.Assert(t, contains(o.stderr, "recovering its state"), o.stderr)
		w.each(n)
		w.sound(n)
	})
	t.Run("the supervisor", func(t *testing.T) {
		w := fresh(t)
		interrupted(w, func(f family) { sigkill(f.supervisor) })
		w.afterLoss(n)
	})
	t.Run("tofu", func(t *testing.T) {
		w := fresh(t)
		o := interrupted(w, func(f family) { sigkill(f.tofu, -f.tofu) })
		assert.Equal(t, o.code, report.Failed)
		assert.Equal(t, w.Locked(), "")
		w.afterLoss(n)
	})
	t.Run("all in one instant", func(t *testing.T) {
		w := fresh(t)
		interrupted(w, func(f family) { sigkill(f.program, f.supervisor, f.tofu, -f.tofu) })
		w.afterLoss(n)
	})
}

// afterLoss holds what comes after a tofu that did not end by itself: what it made
// and no state tells of is refused by name and id, and taken in when the caller
// says so, without anything made twice.
func (w *world) afterLoss(n int) {
	w.t.Helper()
	made := w.there()
	o := w.run(cold, "apply")
	if o.code == report.Refused {
		assert.DeepEqual(w.t, w.there(), made)
		for i := range made {
			known := contains(w.State(), fmt.Sprintf(`"index_key":%d,`, i)) || contains(w.State(), fmt.Sprintf(`"index_key": %d,`, i))
			assert.Assert(w.t, known || contains(o.stderr, fmt.Sprintf("terraform_data.thing[%d]", i)), o.stderr)
		}
		o = w.takeIn(o)
	}
	assert.Equal(w.t, o.code, report.Healthy, o.stderr)
	w.each(n)
	w.sound(n)
}

// takeIn does what the refusal says: those that are known by their id are taken
// in, and those of unknown fate are looked for and removed by hand.
func (w *world) takeIn(o outcome) outcome {
	w.t.Helper()
	s := settings{"STATE_PHASE": "cold", "STATE_ORPHANS": "import"}
	if contains(o.stderr, "fate unknown") {
		again := w.run(s, "apply")
		assert.Equal(w.t, again.code, report.Refused, "what nobody has looked for is not forgotten: %s", again.stderr)
		for i := range w.there() {
			if contains(o.stderr, fmt.Sprintf("thing[%d] (begun", i)) {
				w.leave("- %d\n", i)
			}
		}
		_, run, _ := strings.Cut(o.stderr, "STATE_ABANDON=")
		run, _, _ = strings.Cut(run, ",")
		s["STATE_ABANDON"] = run
	}
	return w.run(s, "apply")
}

// leave writes into the trace.
func (w *world) leave(format string, args ...any) {
	w.t.Helper()
	file, err := os.OpenFile(w.trace(), os.O_APPEND|os.O_WRONLY, 0)
	assert.NilError(w.t, err)
	_, err = fmt.Fprintf(file, format, args...)
	assert.NilError(w.t, errors.Join(err, file.Close()))
}

// TestPowerLossOfAProvider kills a program that serves the provider itself: what
// that was making is there, and nobody has heard of it. Its next Create finds it.
func TestPowerLossOfAProvider(t *testing.T) {
	const n = 8
	w := newWorld(t, fakestate.GitLab)
	assert.NilError(t, os.Remove(filepath.Join(w.dir, "configuration", "main.tf")))
	assert.NilError(t, os.WriteFile(filepath.Join(w.dir, "configuration", "traces.tf"), fmt.Appendf(nil, `
terraform {
  required_providers {
    traces = { source = "example.org/slipway/traces" }
  }
}
resource "traces_thing" "thing" {
  count = %d
  id    = tostring(count.index)
  trace = %q
}`, n, w.trace()), 0o600))
	w.hold()
	r := w.start(cold, "apply")
	w.until("four objects", func() bool { return len(w.there()) == free })
	r.kill()
	r.wait()
	assert.Equal(t, len(w.there()), free)
	w.let()
	o := w.must(cold, "apply")
	assert.Assert(t, contains(o.stderr, "its provider finds it by its name"), o.stderr)
	w.each(n)
	w.sound(n)
	w.must(nil, "destroy")
	w.each(0)
	for _, sockets := range []string{"plugin*", "slipway-*"} {
		left, err := filepath.Glob(filepath.Join(w.dir, sockets))
		assert.NilError(t, err)
		assert.DeepEqual(t, left, []string(nil))
	}
}
