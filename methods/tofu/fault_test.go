package tofu

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"fediversity.eu/slipway/checks/fakestate"
	"fediversity.eu/slipway/methods/tofu/backend"
	"fediversity.eu/slipway/methods/tofu/state"
	"fediversity.eu/slipway/targets/report"
)

// held is a lock as another would hold it.
func held(id string) *backend.LockInfo {
	return &backend.LockInfo{ID: id, Who: "ann@host", Operation: "OperationTypeApply", Created: time.Now().Add(-time.Hour)}
}

// on breaks every request of a method.
func on(method string, a fakestate.Answer, took bool) fakestate.Fault {
	return func(r *http.Request, _ int) (*fakestate.Answer, bool) {
		if r.Method == method {
			return &a, took
		}
		return nil, false
	}
}

// once breaks the first request of a method.
func once(method string, a fakestate.Answer, took bool) fakestate.Fault {
	done := false
	return func(r *http.Request, _ int) (*fakestate.Answer, bool) {
		if r.Method == method && !done {
			done = true
			return &a, took
		}
		return nil, false
	}
}

func TestBackendFaults(t *testing.T) {
	b := newBench(t, fakestate.Strict)
	b.cold(2)
	before := b.State()
	const intact, kept, done = "untouched", "kept in the journal", "done"
	for _, c := range []struct {
		name  string
		fault fakestate.Fault
		code  report.Code
		says  string
		left  string
	}{
		{"401 to the lock", on("LOCK", fakestate.Answer{Status: 401, Body: "who are you"}, false), report.Failed, "LOCK with 401 Unauthorized (who are you)", intact},
		{"403 to the state", on("GET", fakestate.Answer{Status: 403}, false), report.Failed, "GET with 403", intact},
		{"409 with a holder", on("LOCK", fakestate.Answer{Status: 409, Body: `{"ID":"x","Who":"ann","Operation":"plan"}`}, false), report.Busy, "held by ann (plan), id x, since an unknown time", intact},
		{"423 without a body", on("LOCK", fakestate.Answer{Status: 423}, false), report.Busy, "does not say by whom", intact},
		{"409 with a page", on("LOCK", fakestate.Answer{Status: 409, Body: "<html>"}, false), report.Busy, "does not say by whom", intact},
		{"423 to the state", on("GET", fakestate.Answer{Status: 423}, false), report.Failed, "GET with 423", intact},
		{"422 to the state, which is being removed", on("GET", fakestate.Answer{Status: 422}, false), report.Busy, "GET with 422", intact},
		{"404 to the lock", on("LOCK", fakestate.Answer{Status: 404}, false), report.Failed, "LOCK with 404", intact},
		{"a redirect of the state", on("GET", fakestate.Answer{Status: 302, Header: map[string]string{"Location": "/login"}}, false), report.Failed, "GET with 302", intact},
		{"a lock that binds nobody", on("LOCK", fakestate.Answer{Status: 200}, false), report.Refused, "gave it to two at once", intact},
		{"the answer to the lock is lost", once("LOCK", fakestate.Answer{}, true), report.Healthy, "", done},
		{"500 to the lock that was taken", once("LOCK", fakestate.Answer{Status: 500}, true), report.Healthy, "", done},
		{"503 once", once("GET", fakestate.Answer{Status: 503, Header: map[string]string{"Retry-After": "1"}}, false), report.Healthy, "", done},
		{"429 once", once("POST", fakestate.Answer{Status: 429}, false), report.Healthy, "", done},
		{"the answer to the write is lost", once("POST", fakestate.Answer{}, true), report.Healthy, "", done},
		{"500 to the write that was done", once("POST", fakestate.Answer{Status: 500}, true), report.Healthy, "", done},
		{"403 to the write that was done", on("POST", fakestate.Answer{Status: 403}, true), report.Healthy, "", done},
		{"413 to the write", on("POST", fakestate.Answer{Status: 413, Body: "<h1>413 Request Entity Too Large</h1>"}, false), report.Failed, "POST with 413", kept},
		{"403 to the write", on("POST", fakestate.Answer{Status: 403}, false), report.Failed, "POST with 403", kept},
		{"a redirect of the write to a page that is there", on("POST", fakestate.Answer{Status: 302, Header: map[string]string{"Location": "/state"}}, false), report.Failed, "POST with 302", kept},
		{"a proxy that says yes to the write", on("POST", fakestate.Answer{Status: 200}, false), report.Failed, "does not have it", kept},
		{"the unlock is refused", on("UNLOCK", fakestate.Answer{Status: 403}, false), report.Failed, "give back the lock", done},
		{"the answer to the unlock is lost", once("UNLOCK", fakestate.Answer{}, true), report.Healthy, "", done},
		{"204 to the unlock", once("UNLOCK", fakestate.Answer{Status: 204}, true), report.Healthy, "", done},
	} {
		t.Run(c.name, func(t *testing.T) {
			b.Set([]byte(before), nil)
			b.Break(c.fault)
			e := b.engine(Keys{})
			quick(e)
			_, err := e.Apply(t.Context(), objects(4))
			assert.Equal(t, report.CodeOf(err), c.code, "%v", err)
			if c.code != report.Healthy {
				assert.ErrorContains(t, err, c.says)
				assert.Assert(t, len(report.Hints(err)) > 0)
			}
			b.Break(nil)
			switch c.left {
			case intact:
				assert.Equal(t, b.State(), before)
			case kept:
				assert.Equal(t, b.State(), before)
				assert.ErrorContains(t, err, "state")
				found, _ := filepath.Glob(string(b.dir) + "/journal/*.json")
				assert.Equal(t, len(found), 1)
				assert.Assert(t, b.Locked() != "", "the lock is kept: the backend has an older state")
				// The next run brings it there. Its lock's process, this test, lives.
				b.Set([]byte(before), nil)
				result, err := b.engine(Keys{}).Apply(t.Context(), objects(4))
				assert.NilError(t, err)
				assert.Assert(t, !result.Plan.Changed, "nothing is made twice")
			case done:
				b.Set([]byte(b.State()), nil)
			}
			if c.left != intact {
				kind, s := b.judged()
				assert.Equal(t, kind, state.Sound)
				assert.Equal(t, len(s.Objects()), 4)
			}
		})
	}
}

// TestBackendThatDoesNotAnswer waits out one try, which is long enough for all that
// is answered.
func TestBackendThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		method string
		kept   bool // the write failed: the state is in the journal
	}{{http.MethodGet, false}, {http.MethodPost, true}} {
		t.Run(c.method, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, fakestate.Strict)
			b.cold(2)
			before := b.State()
			b.Break(silent(c.method))
			e := b.engine(Keys{})
			e.pace = backend.Pace{Try: 20 * time.Second}
			_, err := e.Apply(t.Context(), objects(4))
			assert.Equal(t, report.CodeOf(err), report.Failed, "%v", err)
			assert.ErrorContains(t, err, "no answer within 20s")
			assert.Assert(t, len(report.Hints(err)) > 0)
			assert.Equal(t, b.State(), before)
			found, err := filepath.Glob(string(b.dir) + "/journal/*.json")
			assert.NilError(t, err)
			assert.Equal(t, len(found) == 1, c.kept)
			assert.Equal(t, b.Locked() != "", c.kept)
		})
	}
}

// silent lets requests of a method wait for an answer until they give up.
func silent(method string) fakestate.Fault {
	return func(r *http.Request, _ int) (*fakestate.Answer, bool) {
		if r.Method != method {
			return nil, false
		}
		<-r.Context().Done()
		return &fakestate.Answer{}, false
	}
}

func TestJournalThatCannotBeWritten(t *testing.T) {
	for _, phase := range []string{"steady", cold} {
		t.Run(phase, func(t *testing.T) {
			b := newBench(t, fakestate.Strict)
			if phase != cold {
				b.cold(2)
			}
			locks := 0
			b.Break(func(r *http.Request, _ int) (*fakestate.Answer, bool) {
				if r.Method == "LOCK" {
					if locks++; locks == 3 { // the probe before the apply
						assert.Check(t, os.RemoveAll(filepath.Join(string(b.dir), "journal")))
					}
				}
				return nil, false
			})
			result, err := b.engine(Keys{Phase: phase}).Apply(t.Context(), objects(3))
			assert.NilError(t, err)
			assert.Assert(t, locks > 3)
			assert.Equal(t, len(result.Objects), 3)
			kind, s := b.judged()
			assert.Equal(t, kind, state.Sound)
			assert.Equal(t, s.Serial, result.Serial)
			assert.Equal(t, b.Locked(), "")
		})
	}
}

// TestNeitherJournalNorBackend leaves the state to OpenTofu's own file.
func TestNeitherJournalNorBackend(t *testing.T) {
	b := newBench(t, fakestate.Strict)
	b.cold(2)
	before := b.State()
	journal := filepath.Join(string(b.dir), "journal")
	locks := 0
	b.Break(func(r *http.Request, _ int) (*fakestate.Answer, bool) {
		if r.Method == "LOCK" {
			if locks++; locks == 3 { // the probe before the apply
				assert.Check(t, os.RemoveAll(journal))
				assert.Check(t, os.WriteFile(journal, nil, 0o600))
			}
		}
		if r.Method == http.MethodPost {
			return &fakestate.Answer{Status: http.StatusInsufficientStorage}, false
		}
		return nil, false
	})
	e := b.engine(Keys{})
	quick(e)
	_, err := e.Apply(t.Context(), objects(3))
	assert.Equal(t, report.CodeOf(err), report.Failed)
	assert.Assert(t, cmp.Contains(strings.Join(report.Hints(err), "\n"), "errored.tfstate (serial"))
	assert.Assert(t, b.Locked() != "")
	b.Break(nil)
	b.Set([]byte(before), nil)
	assert.NilError(t, os.Remove(journal))
	result, err := b.engine(Keys{}).Apply(t.Context(), objects(3))
	assert.NilError(t, err)
	assert.Assert(t, !result.Plan.Changed, "nothing is made twice")
	assert.Equal(t, len(result.Objects), 3)
}

func TestUnreachableBackend(t *testing.T) {
	b := newBench(t, fakestate.Strict)
	b.Close()
	e := b.engine(Keys{})
	quick(e)
	_, err := e.Apply(t.Context(), objects(1))
	assert.Equal(t, report.CodeOf(err), report.Failed)
	assert.ErrorContains(t, err, "connection refused")
}

// quick makes a run as impatient as a test is.
func quick(e *Engine) {
	e.pace = backend.Pace{Try: time.Hour, Pauses: []time.Duration{time.Millisecond, time.Millisecond}}
}
