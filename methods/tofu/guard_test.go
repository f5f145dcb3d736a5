package tofu

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/checks/fakestate"
	"fediversity.eu/slipway/methods/tofu/lock"
	"fediversity.eu/slipway/methods/tofu/state"
	"fediversity.eu/slipway/targets/report"
)

// always answers GET with one thing.
func always(a fakestate.Answer) fakestate.Fault {
	return func(r *http.Request, _ int) (*fakestate.Answer, bool) {
		if r.Method == http.MethodGet {
			return &a, false
		}
		return nil, false
	}
}

func TestSteadyRefusesLostState(t *testing.T) {
	b := newBench(t, fakestate.Strict)
	first := b.cold(2)
	good := b.State()
	raw := func(text string) fakestate.Answer { return fakestate.Answer{Status: 200, Body: text} }
	for _, c := range []struct {
		name   string
		answer fakestate.Answer
		keys   Keys
		reason string
	}{
		{"204", fakestate.Answer{Status: 204}, Keys{}, "absent"},
		{"404", fakestate.Answer{Status: 404, Body: "not found"}, Keys{}, "absent"},
		{"an empty 200", raw(""), Keys{}, "absent"},
		{"an empty object", raw("{}"), Keys{}, "garbage"},
		{"null", raw("null"), Keys{}, "garbage"},
		{"a version alone", raw(`{"version":4}`), Keys{}, "garbage"},
		{"a page", raw("<!DOCTYPE html><html>Sign in</html>"), Keys{}, "garbage"},
		{"cut off", raw(good[:len(good)/2]), Keys{}, "garbage"},
		{"no objects", raw(`{"version":4,"lineage":"` + first.Lineage + `","serial":9,"resources":[]}`), Keys{}, "empty"},
		{"another lineage", raw(strings.ReplaceAll(good, first.Lineage, "other")), Keys{Lineage: first.Lineage}, "other lineage"},
		{"an older serial", raw(good), Keys{Lineage: first.Lineage, Serial: 1000}, "older serial"},
		{"a bootstrap elsewhere", raw(marked(t, good)), Keys{}, "bootstrap that has not ended"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for name, run := range map[string]func() error{
				"apply":   func() error { _, err := b.engine(c.keys).Apply(t.Context(), objects(3)); return err },
				"plan":    func() error { _, err := b.engine(c.keys).Plan(t.Context(), objects(3)); return err },
				"refresh": func() error { _, err := b.engine(c.keys).Refresh(t.Context(), objects(3)); return err },
				"output":  func() error { _, err := b.engine(c.keys).Output(t.Context(), objects(3)); return err },
			} {
				b.Break(always(c.answer))
				refusedFor(t, run(), c.reason)
				for _, asked := range b.Asked() {
					assert.Assert(t, !strings.HasPrefix(asked, "POST") && !strings.HasPrefix(asked, "DELETE"), "%s sent %s", name, asked)
				}
				assert.Equal(t, b.State(), good)
				assert.Equal(t, b.Locked(), "")
			}
		})
	}
}

func marked(t *testing.T, raw string) string {
	t.Helper()
	text, err := state.Marked([]byte(raw), &state.Marker{Run: "r", Host: "elsewhere", Dir: "/d"})
	assert.NilError(t, err)
	return string(text)
}

func TestPlanChangesNothing(t *testing.T) {
	b := newBench(t, fakestate.GitLab)
	b.Break(nil)
	_, err := b.engine(Keys{Phase: cold}).Plan(t.Context(), objects(3))
	assert.NilError(t, err)
	assert.DeepEqual(t, b.Asked(), []string{"GET /state"})
	assert.Equal(t, b.State(), "")

	b.cold(3)
	before := b.State()
	b.Break(nil)
	result, err := b.engine(Keys{}).Plan(t.Context(), objects(4))
	assert.NilError(t, err)
	assert.Equal(t, result.Plan.String(), "1 to add, 0 to change, 0 to remove")
	assert.DeepEqual(t, b.Asked(), []string{"GET /state"})
	assert.Equal(t, b.State(), before)
}

func TestPlanAfterAFirstRunThatMadeNothing(t *testing.T) {
	b := newBench(t, fakestate.Strict)
	b.cold(2)
	_, err := b.engine(Keys{}).Destroy(t.Context(), objects(2))
	assert.NilError(t, err)
	_, err = b.engine(Keys{Phase: cold}).Apply(t.Context(), bad())
	assert.ErrorContains(t, err, "not today")
	kind, _ := b.judged()
	assert.Equal(t, kind, state.Begun)
	result, err := b.engine(Keys{Phase: cold}).Plan(t.Context(), objects(2))
	assert.NilError(t, err)
	assert.Equal(t, result.Plan.Add, 2)
}

// bad is a deployment that makes nothing.
func bad() Deployment {
	return Deployment{Name: "web", Files: map[string][]byte{"main.tf": []byte(`resource "terraform_data" "bad" {
  lifecycle {
    precondition {
      condition     = terraform.workspace == "another"
      error_message = "not today"
    }
  }
}`)}}
}

func TestLocksOfOthersAreRespected(t *testing.T) {
	b := newBench(t, fakestate.Strict)
	b.cold(2)
	before := b.State()
	here, err := lock.Here()
	assert.NilError(t, err)
	living, err := lock.New("web", Apply, here)
	assert.NilError(t, err)
	dead, elsewhere, other := living, living, living
	dead.PID, dead.Start = 1<<22+1, 7
	elsewhere.Boot = "another-boot"
	other.Owner, other.PID = "db", dead.PID
	for _, c := range []struct {
		name     string
		id       string
		takeover string
		code     report.Code
		says     string
	}{
		{"a process that lives", living.String(), "", report.Busy, "a run of web (apply), process"},
		{"a process that lives, vouched for", living.String(), living.String(), report.Busy, "its process lives"},
		{"a process that is gone", dead.String(), "", report.Healthy, ""},
		{"a process of another boot", elsewhere.String(), "", report.Busy, "can't be asked from here"},
		{"a process of another boot, vouched for as own", elsewhere.String(), "own", report.Healthy, ""},
		{"a process of another boot, vouched for by its id", elsewhere.String(), elsewhere.String(), report.Healthy, ""},
		{"another deployment's process that is gone", other.String(), "", report.Busy, "another deployment's"},
		{"another deployment's, vouched for as own", other.String(), "own", report.Busy, "another deployment's"},
		{"a person's", "7e7c1c2e-person", "", report.Busy, "ann@host (OperationTypeApply), id 7e7c1c2e-person, for 1h0m"},
		{"a person's, vouched for as own", "7e7c1c2e-person", "own", report.Busy, "ann@host"},
		{"a person's, vouched for by its id", "7e7c1c2e-person", "7e7c1c2e-person", report.Healthy, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			b.Set([]byte(before), held(c.id))
			_, err := b.engine(Keys{Takeover: c.takeover}).Apply(t.Context(), objects(2))
			assert.Equal(t, report.CodeOf(err), c.code, "%v", err)
			if c.code == report.Healthy {
				assert.Equal(t, b.Locked(), "")
				return
			}
			assert.ErrorContains(t, err, c.says)
			assert.Equal(t, b.Locked(), c.id, "the lock stays")
			assert.Equal(t, b.State(), before)
		})
	}
	t.Run("force-unlock", func(t *testing.T) {
		b.Set([]byte(before), held(living.String()))
		assert.Equal(t, report.CodeOf(b.engine(Keys{}).ForceUnlock(t.Context(), objects(2), living.String())), report.Busy)
		b.Set([]byte(before), held("a-person"))
		refusedFor(t, b.engine(Keys{}).ForceUnlock(t.Context(), objects(2), "another"), "it is another")
		assert.Equal(t, b.Locked(), "a-person")
		assert.NilError(t, b.engine(Keys{}).ForceUnlock(t.Context(), objects(2), "a-person"))
		assert.Equal(t, b.Locked(), "")
		refusedFor(t, b.engine(Keys{}).ForceUnlock(t.Context(), objects(2), "a-person"), "nobody holds")
		assert.Equal(t, b.Locked(), "")
	})
}

// meanwhile does something just before the first write.
func meanwhile(do func()) fakestate.Fault {
	done := false
	gets := 0
	return func(r *http.Request, _ int) (*fakestate.Answer, bool) {
		if r.Method == http.MethodGet {
			gets++
		}
		if gets == 2 && !done {
			done = true
			do()
		}
		return nil, false
	}
}

// TestALockThatBindsNobody is of backends whose lock anybody can break, and which
// take what anybody writes: a run that was disturbed overwrites nothing, and does
// not give back the lock of another.
func TestALockThatBindsNobody(t *testing.T) {
	t.Run("somebody writes", func(t *testing.T) {
		b := newBench(t, fakestate.Lax)
		first := b.cold(2)
		theirs, err := state.Numbered([]byte(b.State()), first.Serial+5)
		assert.NilError(t, err)
		b.Break(meanwhile(func() { b.Set(theirs, held(b.Locked())) }))
		_, err = b.engine(Keys{}).Apply(t.Context(), objects(3))
		assert.Equal(t, report.CodeOf(err), report.Failed)
		assert.ErrorContains(t, err, "somebody wrote the state while this run had its lock")
		b.Break(nil)
		assert.Equal(t, b.State(), string(theirs))
		found, err := filepath.Glob(string(b.dir) + "/journal/*.json")
		assert.NilError(t, err)
		assert.Equal(t, len(found), 1, "what this run made is told by its journal")
	})
	t.Run("somebody breaks the lock and takes it", func(t *testing.T) {
		b := newBench(t, fakestate.Lax)
		b.cold(2)
		b.Break(meanwhile(func() { b.Set([]byte(b.State()), held("a-person")) }))
		_, err := b.engine(Keys{}).Apply(t.Context(), objects(3))
		assert.ErrorContains(t, err, "somebody broke our lock and has it now")
		assert.Equal(t, b.Locked(), "a-person")
		_, s := b.judged()
		assert.Equal(t, len(s.Objects()), 3, "what was made is told")
	})
	t.Run("somebody breaks the lock", func(t *testing.T) {
		b := newBench(t, fakestate.Strict)
		b.cold(2)
		b.Break(meanwhile(func() { b.Set([]byte(b.State()), nil) }))
		result, err := b.engine(Keys{}).Apply(t.Context(), objects(3))
		assert.NilError(t, err)
		assert.Equal(t, len(result.Objects), 3)
		assert.Equal(t, b.Locked(), "")
	})
}

func TestPlanOfABackendThatIsYetToBeMade(t *testing.T) {
	b := newBench(t, fakestate.Strict)
	b.Close()
	for phase, code := range map[string]report.Code{bootstrap: report.Healthy, cold: report.Failed, "steady": report.Failed} {
		t.Run(phase, func(t *testing.T) {
			e := b.engine(Keys{Phase: phase})
			quick(e)
			result, err := e.Plan(t.Context(), objects(2))
			assert.Equal(t, report.CodeOf(err), code, "%v", err)
			if code == report.Healthy {
				assert.Equal(t, result.Plan.Add, 2)
			}
		})
	}
}
