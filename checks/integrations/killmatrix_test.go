//go:build checks

package integrations

import (
	"fmt"
	"net/http"
	"sync"
	"testing"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/checks/fakestate"
	"fediversity.eu/slipway/targets/report"
)

// killing is one request at which a run is killed: before the backend has done
// anything about it, or after.
type killing struct {
	request int
	after   bool
}

func (k killing) String() string {
	if k.after {
		return fmt.Sprintf("after request %d", k.request)
	}
	return fmt.Sprintf("at request %d", k.request)
}

// killed runs a verb and kills it there. It returns which request it was; empty
// when the run ended before it came to that.
func (w *world) killed(k killing, s settings, verb string) string {
	w.t.Helper()
	var once sync.Once
	var r *running
	ready := make(chan struct{})
	at := ""
	w.Break(func(request *http.Request, n int) (*fakestate.Answer, bool) {
		if n < k.request {
			return nil, false
		}
		<-ready
		return &fakestate.Answer{Then: func() {
			once.Do(func() {
				at = request.Method + " " + request.URL.Path
				r.kill()
				<-r.done
			})
		}}, k.after && n == k.request
	})
	r = w.start(s, verb)
	close(ready)
	r.wait()
	w.Break(nil)
	return at
}

// TestKillMatrix kills the program at each of its requests to the backend, before
// and after the backend has done its part, and runs it again: elsewhere, where it
// must refuse, and here, where it must go on without making anything twice.
func TestKillMatrix(t *testing.T) {
	const n = 4
	for _, way := range fakestate.Ways() {
		for _, c := range []struct {
			name    string
			phase   settings
			verb    string
			prepare func(w *world)
			// again is what a run here comes to after all.
			again func(w *world)
		}{
			{"bootstrap", cold, "apply", func(w *world) { w.things(n) }, func(w *world) {
				w.must(cold, "apply")
				w.each(n)
				w.sound(n)
				w.must(nil, "apply")
			}},
			{"change", nil, "apply", func(w *world) {
				w.things(2)
				w.must(cold, "apply")
				w.things(n)
			}, func(w *world) {
				w.must(nil, "apply")
				w.each(n)
				w.sound(n)
			}},
			{"destroy", nil, "destroy", func(w *world) {
				w.things(n)
				w.must(cold, "apply")
			}, func(w *world) {
				o := w.run(nil, "destroy")
				if o.code == report.Refused { // it was detached before
					assert.Assert(w.t, contains(o.stderr, "absent"), o.stderr)
				} else {
					assert.Equal(w.t, o.code, report.Healthy)
				}
				w.each(0)
				assert.Equal(w.t, w.State(), "")
				assert.Equal(w.t, w.Locked(), "")
			}},
		} {
			t.Run(way+" "+c.name, func(t *testing.T) {
				t.Parallel() // most of it is waiting
				for request := 1; ; request++ {
					ended := true
					for _, after := range []bool{false, true} {
						k := killing{request, after}
						t.Run(k.String(), func(t *testing.T) {
							w := newWorld(t, way)
							c.prepare(w)
							at := w.killed(k, c.phase, c.verb)
							if at == "" {
								return
							}
							ended = false
							t.Logf("killed %s, which was %s", k, at)
							w.refusedElsewhere(c.phase, c.verb)
							c.again(w)
						})
					}
					if ended {
						break
					}
				}
			})
		}
	}
}

// refusedElsewhere holds a run on another host to change nothing, be it for the
// lock, for the marker, or for the state. A run that was killed before it took the
// lock leaves nothing to refuse.
func (w *world) refusedElsewhere(s settings, verb string) {
	w.t.Helper()
	if w.Locked() == "" {
		return
	}
	before, things := w.State(), w.there()
	o := w.run(w.elsewhere(s), verb)
	assert.Equal(w.t, o.code, report.Busy, "%s", o.stderr)
	assert.Equal(w.t, w.State(), before)
	assert.DeepEqual(w.t, w.there(), things)
}
