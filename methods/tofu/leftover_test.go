package tofu

import (
	"testing"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/checks/fakestate"
	"fediversity.eu/slipway/methods/tofu/rundir"
	"fediversity.eu/slipway/methods/tofu/state"
	"fediversity.eu/slipway/targets/report"
)

func TestLeftoversOfAKilledRun(t *testing.T) {
	b := newBench(t, fakestate.GitLab)
	b.cold(2)
	_, older := b.judged()
	_, err := b.engine(Keys{}).Apply(t.Context(), objects(3))
	assert.NilError(t, err)
	_, newer := b.judged()
	raw, err := state.Numbered(newer.Raw, older.Serial)
	assert.NilError(t, err)
	twin, err := state.Parse(raw)
	assert.NilError(t, err)
	alien, err := state.Parse([]byte(`{"version":4,"lineage":"alien","serial":99}`))
	assert.NilError(t, err)
	otherwise := func(s *state.State) *state.State {
		other, err := s.WithMarker(&state.Marker{Run: "another"})
		assert.NilError(t, err)
		return other
	}
	for _, c := range []struct {
		name        string
		left, there *state.State
		begun       *state.State // what the run that was killed began from
		says        string       // of the refusal; empty is none
	}{
		{"newer than the backend's", newer, older, older, ""},
		{"newer than the backend's, and begun from another version of its serial", newer, older, otherwise(older), "neither began from nor wrote"},
		{"newer than the backend's, and begun from nobody knows what", newer, older, nil, "neither began from nor wrote"},
		{"the backend's own", newer, newer, older, ""},
		{"older than the backend's", older, newer, older, "the backend has gone on to serial"},
		{"another version of the same serial", twin, older, older, "another version of the same serial"},
		{"of another lineage", alien, newer, older, "other lineage"},
		{"of a state that is gone", newer, nil, older, "absent"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.there == nil {
				b.Set(nil, nil)
			} else {
				b.Set(c.there.Raw, nil)
			}
			before := b.State()
			dir, err := rundir.Open(t.Context(), string(b.dir), "killed", nil)
			assert.NilError(t, err)
			if c.begun != nil {
				assert.NilError(t, dir.Know(c.begun))
			}
			_, err = dir.Keep(c.left, nil)
			assert.NilError(t, err)
			assert.NilError(t, dir.Close(false))

			_, err = b.engine(Keys{}).Plan(t.Context(), objects(3))
			refusedFor(t, err, "a version of the state that is not in the backend")
			result, err := b.engine(Keys{}).Apply(t.Context(), objects(3))
			if c.says == "" {
				assert.NilError(t, err)
				assert.Assert(t, !result.Plan.Changed)
				assert.Equal(t, b.State(), string(newer.Raw))
				return
			}
			refusedFor(t, err, c.says)
			assert.Equal(t, report.CodeOf(err), report.Refused)
			assert.Equal(t, b.State(), before)
			dir, err = rundir.Open(t.Context(), string(b.dir), "cleaner", nil)
			assert.NilError(t, err)
			assert.Assert(t, dir.Kept() != "", "it is kept for a person to look at")
			assert.NilError(t, dir.Clear(false))
			assert.NilError(t, dir.Close(false))
		})
	}
}
