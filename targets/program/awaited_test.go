package program

import (
	"context"
	"slices"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"fediversity.eu/slipway/targets/task"
)

// TestAPlanSaysThatItWaitsForMachines plans a group of which machines are to be made:
// nothing that follows can be planned for those.
func TestAPlanSaysThatItWaitsForMachines(t *testing.T) {
	for _, c := range []struct {
		name    string
		verb    string
		awaited []string
		vars    map[string]string
		says    string // empty: the effect itself is run
	}{
		{"all are there", "plan", nil, nil, ""},
		{"one is not", "plan", []string{"db"}, nil, "not planned: db is not made yet"},
		{"two are not", "plan", []string{"web", "db"}, nil, "not planned: web, db are not made yet"},
		{"its address is named", "plan", []string{"db"}, map[string]string{"DB_ADDRESSES": "192.0.2.8"}, ""},
		{"it is made in the same run", "apply", []string{"db"}, nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := withEffects(t, machine("web"), machine("db"))
			w.ssh.do = func(_ context.Context, it *work, run *task.Run) error {
				run.Record.Awaited = slices.Contains(c.awaited, it.machine)
				return nil
			}
			got := w.run(t.Context(), c.vars, "combined-"+c.verb)
			assert.NilError(t, got.err)
			assert.Equal(t, slices.Contains(w.ssh.seen(), "start dns "+c.verb), c.says == "")
			if c.says != "" {
				assert.Assert(t, cmp.Contains(got.out, c.says))
			}
		})
	}
}
