//go:build checks

package integrations

import (
	"fmt"
	"net/http"
	"sync"
	"syscall"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/checks/fakestate"
	"fediversity.eu/slipway/targets/report"
)

// TestInterruptReleases sends each signal at each request of a bootstrap, and in
// the middle of the apply: the state is written, the lock given back, and the next
// run goes on.
func TestInterruptReleases(t *testing.T) {
	const n = 4
	for _, s := range []struct {
		signal syscall.Signal
		code   report.Code
	}{{syscall.SIGINT, report.Interrupted}, {syscall.SIGTERM, report.Terminated}} {
		for request := 1; ; request++ {
			ended := true
			t.Run(fmt.Sprintf("%s at request %d", s.signal, request), func(t *testing.T) {
				w := newWorld(t, fakestate.Strict)
				w.things(n)
				o, at := w.interrupted(request, s.signal)
				if at == "" {
					return
				}
				ended = false
				assert.Equal(t, w.Locked(), "", "%s", at)
				if o.code == report.Healthy && request >= 7 { // it came when all was done
					w.each(n)
					w.sound(n)
				} else {
					assert.Equal(t, o.code, s.code, "%s: %s", at, o.stderr)
				}
				w.must(cold, "apply")
				w.each(n)
				w.sound(n)
			})
			if ended {
				break
			}
		}
		t.Run(fmt.Sprintf("%s in the middle of the apply", s.signal), func(t *testing.T) {
			w := newWorld(t, fakestate.GitLab)
			w.things(8)
			r := w.start(cold, "apply")
			w.until("four objects", func() bool { return len(w.there()) >= 4 })
			r.signals <- s.signal
			o := r.wait()
			assert.Equal(t, o.code, s.code)
			assert.Equal(t, w.Locked(), "")
			assert.Assert(t, len(w.there()) < 8, "it stopped")
			w.must(nil, "apply") // its state is whole, so that a steady run may go on
			w.each(8)
			w.sound(8)
		})
	}
	t.Run("a second signal forces", func(t *testing.T) {
		w := newWorld(t, fakestate.Strict)
		w.things(8)
		r := w.start(cold, "apply")
		w.until("four objects", func() bool { return len(w.there()) >= 4 })
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
		<-written
		r.signals <- syscall.SIGINT
		assert.Equal(t, r.wait().code, report.Interrupted)
		w.Break(nil)
		assert.Assert(t, w.Locked() != "")
		w.must(cold, "apply")
		w.each(8)
		w.sound(8)
	})
}

// interrupted runs a bootstrap and sends a signal at a request, which is then
// answered as ever. at is empty when it ended before.
func (w *world) interrupted(request int, s syscall.Signal) (o outcome, at string) {
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
				r.heard(q)
			})
		}
		return nil, false
	})
	r = w.start(cold, "apply")
	close(ready)
	o = r.wait()
	w.Break(nil)
	return o, at
}

// heard gives the program time to act on a signal, which shows in that it lets go
// of the request. In the last steps, which end whatever happens, it does not.
func (r *running) heard(q *http.Request) {
	select {
	case <-q.Context().Done():
	case <-r.done:
	case <-time.After(time.Second):
	}
}
