//go:build checks

package integrations

import (
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/checks/fakestate"
	"fediversity.eu/slipway/checks/port"
	"fediversity.eu/slipway/targets/report"
)

func TestColdStartBootstraps(t *testing.T) {
	for _, way := range fakestate.Ways() {
		t.Run(way, func(t *testing.T) {
			w := newWorld(t, way)
			w.things(3)
			assert.Equal(t, w.run(nil, "apply").code, report.Refused, "without STATE_PHASE=cold there must be a state")
			assert.Equal(t, len(w.there()), 0)

			// The state is in the backend before the first object.
			w.Break(func(*http.Request, int) (*fakestate.Answer, bool) {
				if len(w.there()) > 0 {
					assert.Check(t, len(w.Stored()) > 0, "an object is there of which no state tells")
				}
				return nil, false
			})
			first := w.must(cold, "apply")
			w.each(3)
			w.sound(3)
			assert.Assert(t, strings.Contains(w.Stored()[0], "slipway_bootstrap"))
			assert.Assert(t, !strings.Contains(w.State(), "slipway_bootstrap"))
			assert.Assert(t, contains(w.State(), first.result.Lineage))

			again := w.must(settings{"STATE_LINEAGE": first.result.Lineage}, "apply")
			assert.Equal(t, again.result.Serial, first.result.Serial)
			assert.Equal(t, w.must(cold, "apply").result.Serial, first.result.Serial, "cold over a state that is there is as steady")
			w.each(3)
		})
	}
}

func TestColdStartThatFailed(t *testing.T) {
	w := newWorld(t, fakestate.GitLab)
	t.Run("with some made is gone on with in steady state", func(t *testing.T) {
		w := w.as(t)
		w.things(2)
		text, err := os.ReadFile(filepath.Join(w.dir, "configuration", "main.tf"))
		assert.NilError(t, err)
		w.write(string(text) + "resource \"terraform_data\" \"bad\" {\n  depends_on = [terraform_data.thing]\n  provisioner \"local-exec\" { command = \"exit 3\" }\n}\n")
		o := w.run(cold, "apply")
		assert.Equal(t, o.code, report.Failed)
		assert.Assert(t, contains(o.stderr, "local-exec provisioner error"), o.stderr)
		w.sound(3) // the one that failed is in the state, tainted
		w.write(string(text))
		w.must(w.here(), "apply")
		w.each(2)
		w.sound(2)
	})
	t.Run("with nothing made is gone on with from anywhere", func(t *testing.T) {
		w := newWorld(t, fakestate.GitLab)
		w.write("resource \"terraform_data\" \"bad\" {\n  lifecycle {\n    precondition {\n      condition     = terraform.workspace == \"another\"\n      error_message = \"not today\"\n    }\n  }\n}\n")
		o := w.run(cold, "apply")
		assert.Equal(t, o.code, report.Failed)
		assert.Assert(t, contains(o.stderr, "not today"), o.stderr)
		assert.Equal(t, w.Locked(), "")
		w.things(2)
		w.must(w.elsewhere(cold), "apply")
		w.each(2)
		w.sound(2)
	})
}

// here is a steady run on this host.
func (w *world) here() settings { return nil }

// TestBootstrapOfTheBackendItself brings up a backend that answers only once the
// deployment that it keeps the state of has run.
func TestBootstrapOfTheBackendItself(t *testing.T) {
	w := newWorld(t, fakestate.Strict)
	listen := port.Address(port.Keep(t)) // nobody is there yet
	address := "http://" + listen
	at := settings{
		"STATE_PHASE": "bootstrap", "TF_HTTP_ADDRESS": address + "/state",
		"TF_HTTP_LOCK_ADDRESS": address + "/lock", "TF_HTTP_UNLOCK_ADDRESS": address + "/lock",
	}
	w.things(3)

	t.Run("that never comes up keeps the state and says where", func(t *testing.T) {
		w := w.as(t)
		o := w.run(at, "apply")
		assert.Equal(t, o.code, report.Failed)
		assert.Assert(t, contains(o.stderr, "the state is NOT in the backend; it is in "+filepath.Join(w.dir, "state", "journal")), o.stderr)
		w.each(3)
		assert.Equal(t, w.State(), "")
	})
	t.Run("is picked up by the next run", func(t *testing.T) {
		w := w.as(t)
		w.serve(t, listen)
		o := w.must(at, "apply")
		assert.Assert(t, contains(o.stderr, "recovering its state"), o.stderr)
		w.each(3)
		w.sound(3)
		at["STATE_PHASE"] = "steady"
		w.must(at, "apply")
	})
}

// TestBootstrapOfTheBackendItself, when the program is killed before there is any
// backend to tell.
func TestBootstrapOfTheBackendItselfThatIsKilled(t *testing.T) {
	w := newWorld(t, fakestate.GitLab)
	listen := port.Address(port.Keep(t))
	address := "http://" + listen
	at := settings{
		"STATE_PHASE": "bootstrap", "TF_HTTP_ADDRESS": address + "/state",
		"TF_HTTP_LOCK_ADDRESS": address + "/lock", "TF_HTTP_UNLOCK_ADDRESS": address + "/lock",
	}
	w.things(8)
	w.hold()
	r := w.start(at, "apply")
	w.done(free)
	r.kill()
	r.wait()
	w.quiet()
	assert.Equal(t, len(w.there()), free)
	w.let()
	w.serve(t, listen)
	o := w.must(at, "apply")
	assert.Assert(t, contains(o.stderr, "recovering its state"), o.stderr)
	w.each(8)
	w.sound(8)
}

// TestBootstrapOfTheBackendItself, when the backend comes up and does not take the
// state.
func TestBootstrapOfTheBackendItselfThatRefuses(t *testing.T) {
	w := newWorld(t, fakestate.GitLab)
	listen := port.Address(port.Keep(t))
	address := "http://" + listen
	at := settings{
		"STATE_PHASE": "bootstrap", "TF_HTTP_ADDRESS": address + "/state",
		"TF_HTTP_LOCK_ADDRESS": address + "/lock", "TF_HTTP_UNLOCK_ADDRESS": address + "/lock",
	}
	w.things(8)
	w.hold()
	r := w.start(at, "apply")
	w.done(free)
	w.Break(func(r *http.Request, _ int) (*fakestate.Answer, bool) {
		if r.Method == http.MethodPost {
			return &fakestate.Answer{Status: http.StatusRequestEntityTooLarge}, false
		}
		return nil, false
	})
	w.serve(t, listen)
	w.let()
	o := r.wait()
	assert.Equal(t, o.code, report.Failed, o.stderr)
	assert.Assert(t, contains(o.stderr, "The next run from here with the same STATE_PHASE brings it there"), o.stderr)
	assert.Equal(t, w.State(), "")
	w.each(8)
	w.Break(nil)
	o = w.must(at, "apply")
	assert.Assert(t, contains(o.stderr, "recovering its state"), o.stderr)
	w.each(8)
	w.sound(8)
	at["STATE_PHASE"] = "steady"
	w.must(at, "apply")
}

// serve lets the backend answer at an address that was kept for it.
func (w *world) serve(t *testing.T, address string) {
	t.Helper()
	listener, err := net.Listen("tcp", address)
	assert.NilError(t, err)
	server := &http.Server{Handler: w.Backend}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
}

func TestDestroyDetachesState(t *testing.T) {
	for _, way := range fakestate.Ways() {
		t.Run(way, func(t *testing.T) {
			w := newWorld(t, way)
			w.things(3)
			first := w.must(cold, "apply")
			w.must(nil, "destroy")
			w.each(0)
			assert.Equal(t, w.State(), "")
			assert.Equal(t, w.Locked(), "")
			o := w.run(nil, "apply")
			assert.Equal(t, o.code, report.Refused)
			assert.Assert(t, contains(o.stderr, "absent"), o.stderr)
			anew := w.must(cold, "apply")
			assert.Assert(t, anew.result.Lineage != first.result.Lineage)
			w.each(3)
		})
	}
	t.Run("incomplete", func(t *testing.T) {
		w := newWorld(t, fakestate.Strict)
		w.write("resource \"terraform_data\" \"kept\" {\n  provisioner \"local-exec\" {\n    when    = destroy\n    command = \"exit 1\"\n  }\n}\nresource \"terraform_data\" \"gone\" {\n}\n")
		w.must(cold, "apply")
		o := w.run(nil, "destroy")
		assert.Equal(t, o.code, report.Failed)
		assert.Assert(t, contains(o.stderr, "still there: terraform_data.kept"), o.stderr)
		w.sound(1)
	})
}
