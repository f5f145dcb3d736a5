//go:build checks

package integrations

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/checks/fakestate"
	"fediversity.eu/slipway/targets/report"
)

// giving answers every GET with one thing.
func giving(a fakestate.Answer) fakestate.Fault {
	return func(r *http.Request, _ int) (*fakestate.Answer, bool) {
		if r.Method == http.MethodGet {
			return &a, false
		}
		return nil, false
	}
}

func TestSteadyRefusesLostState(t *testing.T) {
	w := newWorld(t, fakestate.Strict)
	w.things(3)
	first := w.must(cold, "apply")
	good := w.State()
	whole := func(text string) fakestate.Answer { return fakestate.Answer{Status: http.StatusOK, Body: text} }
	for _, c := range []struct {
		name   string
		answer fakestate.Answer
		reason string
	}{
		{"204", fakestate.Answer{Status: http.StatusNoContent}, "absent"},
		{"404", fakestate.Answer{Status: http.StatusNotFound}, "absent"},
		{"an empty 200", whole(""), "absent"},
		{"an empty object", whole("{}"), "garbage"},
		{"a page", whole("<html><title>Sign in</title></html>"), "garbage"},
		{"cut off", whole(good[:len(good)-20]), "garbage"},
		{"another lineage", whole(strings.ReplaceAll(good, first.result.Lineage, "0c7ee6c5-another")), "other lineage"},
		{"an older serial", whole(strings.Replace(good, `"serial":`, `"serial":0,"was":`, 1)), "older serial"},
		{"no objects", whole(`{"version":4,"serial":99,"lineage":"` + first.result.Lineage + `","resources":[]}`), "empty"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := w.as(t)
			for _, command := range []string{
				"apply", "plan", "refresh", "destroy", "output", "show", "state-list", "state-show terraform_data.thing[0]", "import terraform_data.thing[0] one",
			} {
				verb, rest, _ := strings.Cut(command, " ")
				if verb == "destroy" && c.reason == "empty" {
					continue // it detaches the state
				}
				w.Break(giving(c.answer))
				o := w.run(settings{"STATE_LINEAGE": first.result.Lineage, "STATE_SERIAL": "1"}, verb, strings.Fields(rest)...)
				asked := w.Asked()
				w.Break(nil)
				assert.Equal(t, o.code, report.Refused, "%s", verb)
				assert.Assert(t, contains(o.stderr, "error: use the state: "+c.reason), o.stderr)
				assert.Equal(t, strings.Count(o.stderr, "error: "), 1, "one line says which")
				assert.Assert(t, contains(o.stderr, "hint: "), o.stderr)
				for _, request := range asked {
					assert.Assert(t, !strings.HasPrefix(request, http.MethodPost) && !strings.HasPrefix(request, http.MethodDelete), request)
				}
				assert.Equal(t, w.State(), good)
				assert.Equal(t, w.Locked(), "")
				w.each(3)
			}
		})
	}
}

func TestPlanChangesNothing(t *testing.T) {
	for _, way := range fakestate.Ways() {
		t.Run(way, func(t *testing.T) {
			w := newWorld(t, way)
			w.things(2)
			w.Break(nil)
			w.must(cold, "plan")
			assert.DeepEqual(t, w.Asked(), []string{"GET /state"})
			w.must(cold, "apply")
			before := w.State()
			for _, n := range []int{2, 5, 0} {
				w.things(n)
				w.Break(nil)
				w.must(nil, "plan")
				assert.DeepEqual(t, w.Asked(), []string{"GET /state"})
			}
			assert.Equal(t, w.State(), before)
			assert.Equal(t, w.Locked(), "")
			w.each(2)
		})
	}
}

func TestBackendFaults(t *testing.T) {
	w := newWorld(t, fakestate.Strict)
	w.things(2)
	w.must(cold, "apply")
	before := w.State()
	answering := func(method string, a fakestate.Answer) fakestate.Fault {
		return func(r *http.Request, _ int) (*fakestate.Answer, bool) {
			if r.Method == method {
				return &a, false
			}
			return nil, false
		}
	}
	for _, c := range []struct {
		name  string
		fault fakestate.Fault
		code  report.Code
		says  string
		kept  bool // the write failed: the state is in the journal
	}{
		{"401", answering("LOCK", fakestate.Answer{Status: 401}), report.Failed, "TF_HTTP_USERNAME", false},
		{"403", answering(http.MethodGet, fakestate.Answer{Status: 403, Body: "not you"}), report.Failed, "not you", false},
		{"409 with a body", answering("LOCK", fakestate.Answer{Status: 409, Body: `{"ID":"i","Who":"ann","Operation":"o"}`}), report.Busy, "held by ann (o)", false},
		{"409 without a body", answering("LOCK", fakestate.Answer{Status: 409}), report.Busy, "does not say by whom", false},
		{"423 with a body", answering("LOCK", fakestate.Answer{Status: 423, Body: `{"ID":"i","Who":"ann","Operation":"o"}`}), report.Busy, "held by ann (o)", false},
		{"423 without a body", answering("LOCK", fakestate.Answer{Status: 423}), report.Busy, "does not say by whom", false},
		{"413 on the write", answering(http.MethodPost, fakestate.Answer{Status: 413}), report.Failed, "limits the size", true},
		{"500 on the last write", answering(http.MethodPost, fakestate.Answer{Status: 500, Body: "disk full"}), report.Failed, "disk full", true},
		{"500 on every read", answering(http.MethodGet, fakestate.Answer{Status: 500}), report.Failed, "GET with 500", false},
		{"connections are cut", answering("LOCK", fakestate.Answer{}), report.Failed, "EOF", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := w.as(t)
			w.things(2)
			w.Set([]byte(before), nil)
			w.things(4)
			w.Break(c.fault)
			o := w.run(nil, "apply")
			w.Break(nil)
			assert.Equal(t, o.code, c.code, o.stderr)
			assert.Assert(t, contains(o.stderr, c.says), o.stderr)
			if !c.kept {
				assert.Equal(t, w.State(), before)
				w.each(2)
				return
			}
			assert.Assert(t, contains(o.stderr, "the state is NOT in the backend"), o.stderr)
			assert.Assert(t, w.Locked() != "", "nobody may work on the older state")
			o = w.must(nil, "apply")
			assert.Equal(t, o.result.Plan.Add, 0, "what was made is not made twice")
			w.each(4)
			w.sound(4)
			w.things(2)
			w.must(nil, "apply")
		})
	}
	t.Run("refused connections", func(t *testing.T) {
		w := w.as(t)
		w.Set([]byte(before), nil)
		nobody := httptest.NewServer(http.NotFoundHandler())
		nobody.Close()
		w.things(4)
		o := w.run(settings{
			"TF_HTTP_ADDRESS": nobody.URL + "/state", "TF_HTTP_LOCK_ADDRESS": nobody.URL + "/lock", "TF_HTTP_UNLOCK_ADDRESS": nobody.URL + "/lock",
		}, "apply")
		assert.Equal(t, o.code, report.Failed, o.stderr)
		assert.Assert(t, contains(o.stderr, "connection refused"), o.stderr)
		assert.Equal(t, w.State(), before)
		w.each(2)
	})
	t.Run("slow answers", func(t *testing.T) {
		w := w.as(t)
		w.Set([]byte(before), nil)
		w.things(4)
		w.Break(func(r *http.Request, _ int) (*fakestate.Answer, bool) {
			if r.Method == http.MethodGet || r.Method == http.MethodPost {
				<-time.After(1100 * time.Millisecond)
			}
			return nil, false
		})
		o := w.must(nil, "apply")
		w.Break(nil)
		assert.Assert(t, contains(o.stderr, "GET /state: 200"), "a slow answer is told of: %s", o.stderr)
		w.each(4)
		w.sound(4)
	})
}
