package tf

import (
	"net/http"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/methods/tofu"
	"fediversity.eu/slipway/methods/tofu/state"
	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/report"
	"fediversity.eu/slipway/targets/task"
)

func TestEmbeddedStates(t *testing.T) {
	run := &task.Run{Environment: env.Map(map[string]string{"CACHE_DIR": t.TempDir()})}
	s, err := embed(t.Context(), run, "dev-local")
	assert.NilError(t, err)
	_, err = embed(t.Context(), run, "dev-local")
	assert.Equal(t, report.CodeOf(err), report.Busy, "a second run at once")

	engine := &tofu.Engine{}
	s.furnish(engine)
	assert.Equal(t, engine.Keys.Phase, "cold")
	assert.Assert(t, engine.Keys.Dir != "", "the address changes from run to run, so the folder can't go by it")

	put := func(text string) {
		t.Helper()
		q, err := http.NewRequestWithContext(t.Context(), http.MethodPost, string(engine.Backend.Address), strings.NewReader(text))
		assert.NilError(t, err)
		q.SetBasicAuth(engine.Backend.Username, engine.Backend.Password.Reveal())
		answer, err := http.DefaultClient.Do(q)
		assert.NilError(t, err)
		assert.NilError(t, answer.Body.Close())
		assert.Equal(t, answer.StatusCode, http.StatusOK)
	}
	const lineage = "77777777-1111-4222-8333-444455556666"
	seed, err := state.Seed(lineage, "1.12.6", &state.Marker{Run: "one"})
	assert.NilError(t, err)
	put(string(seed))
	s.furnish(engine)
	assert.Equal(t, engine.Keys.Phase, "cold", "a first run that has not ended goes on")
	put(`{"version":4,"terraform_version":"1.12.6","serial":9,"lineage":"` + lineage + `","outputs":{},"resources":[
		{"mode":"managed","type":"slipway_machine","name":"local","provider":"x","instances":[{"attributes":{"id":"dev-local"}}]}]}`)
	s.furnish(engine)
	assert.Equal(t, engine.Keys.Phase, "steady")
	assert.NilError(t, s.close())

	s, err = embed(t.Context(), run, "dev-local")
	assert.NilError(t, err)
	assert.Equal(t, s.kind(), state.Sound, "it is there in the next run")
	assert.NilError(t, s.close())
}
