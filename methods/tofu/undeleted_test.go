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
