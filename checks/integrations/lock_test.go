//go:build checks

package integrations

import (
	"net/http"
	"sync"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/checks/fakestate"
	"fediversity.eu/slipway/methods/tofu/backend"
	"fediversity.eu/slipway/targets/report"
)

func TestStaleLockIsTakenBack(t *testing.T) {
	for _, way := range fakestate.Ways() {
		t.Run(way, func(t *testing.T) {
			w := newWorld(t, way)
			w.things(2)
			w.must(cold, "apply")
			w.things(3)
			w.killed(killing{request: 1, after: true}, nil, "apply")
			left := w.Locked()
			assert.Assert(t, left != "")

			o := w.run(w.elsewhere(nil), "apply")
			assert.Equal(t, o.code, report.Busy)
			for _, part := range []string{"a run of web (apply)", "process", "since", left} {
				assert.Assert(t, contains(o.stderr, part), o.stderr)
			}
			assert.Equal(t, w.Locked(), left)
			w.each(2)

			t.Run("here", func(t *testing.T) {
				w := w.as(t)
				o := w.must(nil, "apply")
				assert.Assert(t, contains(o.stderr, "taking back the lock of process"), o.stderr)
				w.each(3)
				w.sound(3)
			})
			t.Run("elsewhere, when the caller vouches for it", func(t *testing.T) {
				w := w.as(t)
				w.killed(killing{request: 1, after: true}, nil, "apply")
				w.must(w.elsewhere(settings{"STATE_LOCK_TAKEOVER": "own"}), "apply")
				w.killed(killing{request: 1, after: true}, nil, "apply")
				w.must(w.elsewhere(settings{"STATE_LOCK_TAKEOVER": w.Locked()}), "apply")
				w.sound(3)
			})
		})
	}
}

func TestForeignLockIsRespected(t *testing.T) {
	for _, way := range fakestate.Ways() {
		t.Run(way, func(t *testing.T) {
			w := newWorld(t, way)
			w.things(2)
			w.must(cold, "apply")
			before := w.State()
			w.things(3)
			w.Set([]byte(before), &backend.LockInfo{ID: "a-person", Who: "ann@host", Operation: "OperationTypeApply", Created: time.Now().Add(-2 * time.Hour)})
			for _, verb := range []string{"apply", "destroy", "refresh"} {
				o := w.run(nil, verb)
				assert.Equal(t, o.code, report.Busy)
				assert.Assert(t, contains(o.stderr, "id a-person, for 2h"), o.stderr)
			}
			w.must(nil, "plan") // reads only, and asks for no lock
			assert.Equal(t, w.Locked(), "a-person")
			assert.Equal(t, w.State(), before)
			w.each(2)
			assert.Equal(t, w.run(nil, "force-unlock", "another").code, report.Refused)
			w.must(nil, "force-unlock", "a-person")
			w.must(nil, "apply")
			w.sound(3)
		})
	}
}

// TestTwoRunsOneLock starts runs that know nothing of each other over one state.
func TestTwoRunsOneLock(t *testing.T) {
	for _, way := range fakestate.Ways() {
		t.Run(way, func(t *testing.T) {
			w := newWorld(t, way)
			w.things(4)
			var runs []*running
			for range 4 {
				runs = append(runs, w.start(w.elsewhere(cold), "apply"))
			}
			healthy := 0
			for _, r := range runs {
				switch o := r.wait(); o.code {
				case report.Healthy:
					healthy++
				case report.Busy:
				default:
					t.Errorf("exit %d: %s", o.code, o.stderr)
				}
			}
			assert.Assert(t, healthy > 0)
			w.each(4)
			w.sound(4)
		})
	}
	t.Run("in one run directory", func(t *testing.T) {
		w := newWorld(t, fakestate.Strict)
		w.things(4)
		hold, let := make(chan struct{}), make(chan struct{})
		var once sync.Once
		w.Break(func(*http.Request, int) (*fakestate.Answer, bool) {
			once.Do(func() { close(hold); <-let })
			return nil, false
		})
		first := w.start(cold, "apply")
		<-hold
		second := w.run(cold, "apply")
		assert.Equal(t, second.code, report.Busy)
		assert.Assert(t, contains(second.stderr, "another run works in it"), second.stderr)
		close(let)
		assert.Equal(t, first.wait().code, report.Healthy)
		w.each(4)
	})
}
