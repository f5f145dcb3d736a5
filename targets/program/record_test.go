package program

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"fediversity.eu/slipway/targets/report"
	"fediversity.eu/slipway/targets/task"
)

// recordAt reads a record that a run wrote, and holds it against its schema.
func recordAt(t *testing.T, path string) *report.Record {
	t.Helper()
	text, err := os.ReadFile(path)
	assert.NilError(t, err)
	schema, err := jsonschema.UnmarshalJSON(bytes.NewReader(report.RecordSchema))
	assert.NilError(t, err)
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	assert.NilError(t, compiler.AddResource("record", schema))
	compiled, err := compiler.Compile("record")
	assert.NilError(t, err)
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	assert.NilError(t, err)
	assert.NilError(t, compiled.Validate(document))
	r := &report.Record{}
	assert.NilError(t, json.Unmarshal(text, r))
	return r
}

func TestRecordOfOneProgram(t *testing.T) {
	w := newWorld(t, machine("web"))
	w.ssh.do = func(_ context.Context, _ *work, run *task.Run) error {
		run.Record.Changed, run.Record.Generation = true, 7
		run.Record.Time("copy")()
		return report.Refuse("deploy", errors.New("no"), "ask nicely")
	}
	path := filepath.Join(t.TempDir(), "record.json")
	w.run(t.Context(), map[string]string{"REPORT": path}, "ssh-web")
	r := recordAt(t, path)
	assert.Equal(t, r.Program, w.name("ssh-web-apply"))
	assert.DeepEqual(t, []string{r.Group, r.Method, r.Machine, r.Verb}, []string{w.group, "ssh", "web", "apply"})
	assert.Equal(t, r.ExitCode, report.Refused)
	assert.Equal(t, r.Outcome, "refused")
	assert.Equal(t, r.Generation, 7)
	assert.Assert(t, r.Changed)
	assert.Assert(t, cmp.Len(r.Timings, 1))
	assert.DeepEqual(t, r.Error, &report.Problem{What: "deploy: no", Hints: []string{"ask nicely"}})
	assert.Assert(t, !r.Started.IsZero() && !r.Ended.Before(r.Started))
}

func TestRecordOfAnAggregate(t *testing.T) {
	w := newWorld(t, machine("web", "forge"), machine("forge"), internal("db"))
	w.ssh.do = func(ctx context.Context, task *work, run *task.Run) error {
		run.Record.Changed = task.machine == "db"
		return failing(map[string]report.Code{"forge": report.Failed})(ctx, task, run)
	}
	path := filepath.Join(t.TempDir(), "record.json")
	w.run(t.Context(), map[string]string{"REPORT": path}, "combined")
	r := recordAt(t, path)
	assert.Equal(t, r.Program, w.name("combined-apply"))
	assert.Equal(t, r.ExitCode, report.Failed)
	assert.Assert(t, r.Changed, "one of the members changed something")
	assert.Assert(t, cmp.Len(r.Members, 3))
	for i, want := range []struct {
		machine string
		healthy bool
		text    string
	}{{"web", false, "not started: "}, {"forge", false, "deploy forge: "}, {"db", true, ""}} {
		member := r.Members[i]
		assert.Equal(t, member.Machine, want.machine)
		assert.Equal(t, member.ExitCode == report.Healthy, want.healthy)
		if !want.healthy {
			assert.Assert(t, strings.HasPrefix(member.Error.What, want.text), member.Error.What)
		}
		assert.Assert(t, !member.Started.IsZero() && !member.Ended.Before(member.Started))
	}
}

func TestRecordOfAnInterruption(t *testing.T) {
	w := newWorld(t, machine("web"), machine("mail"))
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(&report.Interruption{Signal: os.Interrupt})
	path := filepath.Join(t.TempDir(), "record.json")
	w.run(ctx, map[string]string{"REPORT": path}, "all")
	r := recordAt(t, path)
	assert.Equal(t, r.ExitCode, report.Interrupted)
	assert.Assert(t, cmp.Len(r.Members, 2))
}

func TestAWrongArgumentThatARunFindsIsSaid(t *testing.T) {
	w := newWorld(t, machine("web"))
	w.ssh.do = func(context.Context, *work, *task.Run) error {
		return &report.Fault{Code: report.Usage, What: "read the address", Why: errors.New("no such object")}
	}
	got := w.run(t.Context(), nil, "ssh-web")
	assert.Equal(t, report.CodeOf(got.err), report.Usage)
	assert.Assert(t, strings.Contains(got.log, "error: read the address: no such object"), got.log)
}
