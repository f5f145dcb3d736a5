package tofu

import (
	"net/http"
	"testing"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/checks/fakestate"
	"fediversity.eu/slipway/methods/tofu/state"
	"fediversity.eu/slipway/targets/report"
)

// TestAStateThatMayNotBeDeleted is of callers who may read, write and lock a state, and
// not delete it. All is destroyed, the lock is given back, and a cold run starts over it.
func TestAStateThatMayNotBeDeleted(t *testing.T) {
	for _, way := range fakestate.Ways() {
		t.Run(way, func(t *testing.T) {
			b := newBench(t, way)
			b.cold(2)
			b.Break(on(http.MethodDelete, fakestate.Answer{Status: http.StatusForbidden}, false))
			_, err := b.engine(Keys{}).Destroy(t.Context(), objects(2))
			assert.Equal(t, report.CodeOf(err), report.Failed)
			assert.ErrorContains(t, err, "detach the state")
			assert.Equal(t, b.Locked(), "", "the lock is given back")
			_, left := b.judged()
			assert.Assert(t, left.Empty())

			_, err = b.engine(Keys{}).Apply(t.Context(), objects(2))
			refusedFor(t, err, "empty: ")
			_, err = b.engine(Keys{Phase: cold}).Destroy(t.Context(), objects(2))
			assert.ErrorContains(t, err, "detach the state")
			assert.Equal(t, b.Locked(), "")

			result, err := b.engine(Keys{Phase: cold}).Apply(t.Context(), objects(3))
			assert.NilError(t, err)
			assert.Equal(t, result.Plan.Add, 3)
			kind, s := b.judged()
			assert.Equal(t, kind, state.Sound)
			assert.Equal(t, s.Lineage, left.Lineage)

			b.Break(nil)
			_, err = b.engine(Keys{}).Destroy(t.Context(), objects(3))
			assert.NilError(t, err)
			assert.Equal(t, b.State(), "")
		})
	}
}

// TestAStateIsDeletedOnceWithoutALock is of backends that delete nothing that is locked:
// a second request could meet what somebody else made since.
func TestAStateIsDeletedOnceWithoutALock(t *testing.T) {
	for _, c := range []struct {
		name string
		then bool // somebody else writes a state before the answer is lost
		ends report.Code
	}{
		{"the answer is lost", false, report.Healthy},
		{"the answer is lost, and somebody else writes", true, report.Failed},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, fakestate.GitLab)
			b.cold(2)
			theirs, err := state.Numbered([]byte(b.State()), 99)
			assert.NilError(t, err)
			deletions := 0
			b.Break(func(r *http.Request, _ int) (*fakestate.Answer, bool) {
				if r.Method != http.MethodDelete {
					return nil, false
				}
				if deletions++; deletions != 2 {
					return nil, false
				}
				return &fakestate.Answer{Then: func() {
					if c.then {
						b.Set(theirs, nil)
					}
				}}, true
			})
			_, err = b.engine(Keys{}).Destroy(t.Context(), objects(2))
			assert.Equal(t, report.CodeOf(err), c.ends, "%v", err)
			assert.Equal(t, deletions, 2)
			if c.then {
				assert.Equal(t, b.State(), string(theirs))
				return
			}
			assert.Equal(t, b.State(), "")
		})
	}
}
