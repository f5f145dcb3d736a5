package tf

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/groups"
	"fediversity.eu/slipway/methods"
	"fediversity.eu/slipway/methods/deploy"
	"fediversity.eu/slipway/methods/tofu"
	"fediversity.eu/slipway/methods/tofu/binary"
	"fediversity.eu/slipway/methods/tofu/ledger"
	"fediversity.eu/slipway/methods/tofu/lock"
	"fediversity.eu/slipway/methods/tofu/rundir"
	"fediversity.eu/slipway/methods/tofu/state"
	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/report"
	"fediversity.eu/slipway/targets/task"
)

// floor is a host that boots nothing, and holds one machine or none.
type floor struct{ there bool }

func (f *floor) Up(context.Context, *task.Run, methods.Deployment) (deploy.Reached, error) {
	return deploy.Reached{}, errors.New("it boots nothing")
}

func (f *floor) Find(context.Context, *task.Run, methods.Deployment) (deploy.Reached, error) {
	return deploy.Reached{}, deploy.ErrNotThere
}

func (f *floor) Down(context.Context, *task.Run, methods.Deployment) error {
	f.there = false
	return nil
}

func TestDestroyEndsAMachineThatNoStateHolds(t *testing.T) {
	for _, c := range []struct{ name, left string }{
		{"a first run that was killed while it brought the machine up", `{"type":"apply_start","hook":{"resource":{"addr":"slipway_machine.web","resource_type":"slipway_machine"},"action":"create"}}` + "\n"},
		{"a first run that was killed before", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			environment := env.Map(map[string]string{"CACHE_DIR": t.TempDir(), "HOME": t.TempDir(), "PATH": "/usr/bin:/bin"})
			found, err := binary.Look(t.Context(), env.Process())
			if errors.Is(err, binary.ErrNone) {
				t.Skip("missing part: tofu")
			}
			assert.NilError(t, err)
			log := report.NewLog(nil)
			run := &task.Run{Environment: environment, Log: log, Record: &report.Record{}, Out: io.Discard}
			s, err := embed(t.Context(), run, "operator-web")
			assert.NilError(t, err)
			engine := &tofu.Engine{}
			s.furnish(engine)
			const killed = "killed"
			seed, err := state.Seed("77777777-1111-4222-8333-444455556666", "1.12.6", &state.Marker{Run: killed})
			assert.NilError(t, err)
			put(t, engine, string(seed))
			// As a run leaves it that a reboot ends: nobody can ask for its process.
			id := lock.ID{Owner: "operator-web", Verb: tofu.Apply, Place: lock.Place{Host: "here", Boot: "before", Namespace: "1"}, PID: 7, Start: 7, Nonce: killed}
			ask(t, engine, "LOCK", `{"ID":"`+id.String()+`","Operation":"apply","Info":"","Who":"me","Version":"1.12.6","Created":"2026-01-02T03:04:05Z","Path":""}`)
			dir, err := rundir.Open(t.Context(), string(engine.Keys.Dir), killed, log)
			assert.NilError(t, err)
			assert.NilError(t, ledger.Start(dir.Events(), killed))
			begun, err := os.OpenFile(dir.Events(), os.O_APPEND|os.O_WRONLY, 0)
			assert.NilError(t, err)
			_, err = begun.WriteString(c.left)
			assert.NilError(t, errors.Join(err, begun.Close(), dir.Close(false), s.close()))

			host := &floor{there: true}
			v := New(host, nil).Task(deployment(groups.Local{}), tofu.Destroy).(*verbTask)
			v.found.Path = env.Path(found.Path)
			assert.NilError(t, v.Run(t.Context(), run))
			assert.Assert(t, !host.there)
			assert.Assert(t, run.Record.Changed)
		})
	}
}

// put writes a state into the backend of an engine.
func put(t *testing.T, engine *tofu.Engine, text string) {
	t.Helper()
	ask(t, engine, http.MethodPost, text)
}

func ask(t *testing.T, engine *tofu.Engine, method, text string) {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), method, string(engine.Backend.Address), strings.NewReader(text))
	assert.NilError(t, err)
	q.SetBasicAuth(engine.Backend.Username, engine.Backend.Password.Reveal())
	answer, err := http.DefaultClient.Do(q)
	assert.NilError(t, err)
	assert.NilError(t, answer.Body.Close())
	assert.Equal(t, answer.StatusCode, http.StatusOK)
}

func TestEmbeddedStates(t *testing.T) {
	run := &task.Run{Environment: env.Map(map[string]string{"CACHE_DIR": t.TempDir()})}
	s, err := embed(t.Context(), run, "dev-local")
	assert.NilError(t, err)
	_, err = embed(t.Context(), run, "dev-local")
	assert.Equal(t, report.CodeOf(err), report.Busy, "a second run at once")

	engine := &tofu.Engine{}
	s.furnish(engine)
	assert.Equal(t, engine.Keys.Phase, "cold")
	assert.Equal(t, engine.Keys.Takeover, lock.Own)
	given := &tofu.Engine{Keys: tofu.Keys{Takeover: "slipway1.x"}}
	s.furnish(given)
	assert.Equal(t, given.Keys.Takeover, "slipway1.x")
	assert.Assert(t, engine.Keys.Dir != "", "the address changes from run to run, so the folder can't go by it")

	const lineage = "77777777-1111-4222-8333-444455556666"
	seed, err := state.Seed(lineage, "1.12.6", &state.Marker{Run: "one"})
	assert.NilError(t, err)
	put(t, engine, string(seed))
	s.furnish(engine)
	assert.Equal(t, engine.Keys.Phase, "cold", "a first run that has not ended goes on")
	put(t, engine, `{"version":4,"terraform_version":"1.12.6","serial":9,"lineage":"`+lineage+`","outputs":{},"resources":[
		{"mode":"managed","type":"slipway_machine","name":"local","provider":"x","instances":[{"attributes":{"id":"dev-local"}}]}]}`)
	s.furnish(engine)
	assert.Equal(t, engine.Keys.Phase, "steady")
	assert.NilError(t, s.close())

	s, err = embed(t.Context(), run, "dev-local")
	assert.NilError(t, err)
	assert.Equal(t, s.kind(), state.Sound, "it is there in the next run")
	assert.NilError(t, s.close())
}
