//go:build checks

package integrations

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/checks/fakestate"
	"fediversity.eu/slipway/methods/tofu/state"
	"fediversity.eu/slipway/targets/report"
)

// TestInterruptReleases sends each signal at each request of a bootstrap, of a
// change and of a destroy, and in the middle of OpenTofu's work: the state is
// written, the lock given back, and the next run goes on. A second signal forces.
func TestInterruptReleases(t *testing.T) {
	for _, c := range interruptions {
		for _, s := range []struct {
			signal syscall.Signal
			code   report.Code
		}{{syscall.SIGINT, report.Interrupted}, {syscall.SIGTERM, report.Terminated}} {
			t.Run(fmt.Sprintf("%s of a %s", s.signal, c.name), func(t *testing.T) {
				t.Parallel() // most of it is waiting
				request := 1
				for c.atRequest(t, request, s.signal, s.code) {
					request++
				}
				t.Run("in the middle", func(t *testing.T) {
					w := newWorld(t, fakestate.GitLab)
					r := c.halfway(w)
					r.signals <- s.signal
					assert.Equal(t, r.wait().code, s.code)
					assert.Equal(t, w.Locked(), "")
					assert.Equal(t, len(w.there()), 4, "it stopped: %v", w.there())
					w.told()
					w.let()
					w.must(nil, c.verb) // the state is whole, so that a steady run may go on
					c.done(w, 8)
				})
			})
		}
		t.Run("a second signal forces a "+c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, fakestate.Strict)
			r := c.halfway(w)
			// The backend takes its time over what is written after the first signal.
			var once sync.Once
			written := make(chan struct{})
			w.Break(func(q *http.Request, _ int) (*fakestate.Answer, bool) {
				if q.Method != http.MethodPost {
					return nil, false
				}
				once.Do(func() { close(written) })
				<-r.done
				return &fakestate.Answer{}, false
			})
			r.signals <- syscall.SIGINT
			r.heard()
			<-written
			r.signals <- syscall.SIGINT
			assert.Equal(t, r.wait().code, report.Interrupted)
			w.Break(nil)
			assert.Assert(t, w.Locked() != "")
			w.quiet()
			w.let()
			w.must(c.phase, c.verb)
			c.done(w, 8)
		})
	}
}

// interruption is a kind of run that is interrupted.
type interruption struct {
	name  string
	phase settings
	verb  string
	// prepare brings the world to where the run begins, which then is about n
	// objects, and done holds it to have come to its end.
	prepare func(w *world, n int)
	done    func(w *world, n int)
	// late is the first request at which OpenTofu may have done all that it had to.
	late int
}

var interruptions = []interruption{
	{"bootstrap", cold, "apply", (*world).things, made, 7},
	{"change", nil, "apply", func(w *world, n int) {
		w.things(1)
		w.must(cold, "apply")
		w.things(n)
	}, made, 5},
	{"destroy", nil, "destroy", func(w *world, n int) {
		w.things(n)
		w.must(cold, "apply")
		w.lasting(n)
	}, func(w *world, _ int) {
		w.t.Helper()
		w.each(0)
		assert.Equal(w.t, w.State(), "")
		assert.Equal(w.t, w.Locked(), "")
	}, 5},
}

func made(w *world, n int) {
	w.t.Helper()
	w.each(n)
	w.sound(n)
}

// atRequest interrupts a run at one of its requests. It is false when the run ended
// before it.
func (c interruption) atRequest(t *testing.T, request int, s syscall.Signal, code report.Code) bool {
	t.Helper()
	came := false
	t.Run(fmt.Sprintf("at request %d", request), func(t *testing.T) {
		const n = 4
		w := newWorld(t, fakestate.Strict)
		c.prepare(w, n)
		o, at := w.interrupted(c, request, s)
		if at == "" {
			return
		}
		came = true
		assert.Equal(t, w.Locked(), "", "%s", at)
		if o.code == report.Healthy && request >= c.late { // it came when all was done
			c.done(w, n)
			return
		}
		assert.Equal(t, o.code, code, "%s: %s", at, o.stderr)
		o = w.run(c.phase, c.verb)
		if c.verb != "destroy" || w.State() != "" { // or it was detached before
			assert.Equal(t, o.code, report.Healthy, o.stderr)
		}
		c.done(w, n)
	})
	return came
}

// halfway starts a run about eight objects, which has done its part about four of
// them and goes no further.
func (c interruption) halfway(w *world) *running {
	w.t.Helper()
	c.prepare(w, 8)
	w.hold()
	already := len(w.there())
	r := w.start(c.phase, c.verb)
	if c.verb == "destroy" {
		w.done(free)
	} else {
		w.done(free - already)
	}
	return r
}

// lasting makes the destruction of the i-th object take i tenths of a second.
func (w *world) lasting(n int) {
	w.t.Helper()
	w.things(n)
	path := filepath.Join(w.dir, "configuration", "main.tf")
	text, err := os.ReadFile(path)
	assert.NilError(w.t, err)
	w.write(strings.Replace(string(text), `"echo - `, `"`+w.slowly()+`; echo - `, 1))
}

// told holds every object that is there to be in the state.
func (w *world) told() {
	w.t.Helper()
	s, err := state.Parse([]byte(w.State()))
	assert.NilError(w.t, err)
	for i := range w.there() {
		assert.Assert(w.t, s.Holds(fmt.Sprintf("terraform_data.thing[%d]", i), ""), "object %d is in no state", i)
	}
}

// interrupted starts a run and sends a signal at a request, which is then answered
// as ever. at is empty when it ended before.
func (w *world) interrupted(c interruption, request int, s syscall.Signal) (o outcome, at string) {
	w.t.Helper()
	ready := make(chan struct{})
	var once sync.Once
	var r *running
	w.Break(func(q *http.Request, n int) (*fakestate.Answer, bool) {
		if n == request {
			<-ready
			once.Do(func() {
				at = q.Method + " " + q.URL.Path
				r.signals <- s
				r.heard()
			})
		}
		return nil, false
	})
	r = w.start(c.phase, c.verb)
	close(ready)
	o = r.wait()
	w.Break(nil)
	return o, at
}
