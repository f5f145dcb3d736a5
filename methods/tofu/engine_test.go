package tofu

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/checks/fakestate"
	"fediversity.eu/slipway/internal/disposition"
	"fediversity.eu/slipway/methods/tofu/binary"
	"fediversity.eu/slipway/methods/tofu/state"
	"fediversity.eu/slipway/methods/tofu/supervisor"
	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/report"
)

// TestMain lets the test's own binary be the supervisor, as a program's is.
func TestMain(m *testing.M) {
	if code, ours := supervisor.Main(os.Args); ours {
		os.Exit(code)
	}
	disposition.Default()
	os.Exit(m.Run())
}

// built gives an OpenTofu that is there; these tests build none.
func built(t *testing.T) *binary.Tofu {
	t.Helper()
	found, err := binary.Look(t.Context(), env.Process())
	if errors.Is(err, binary.ErrNone) {
		t.Skip("missing part: tofu")
	}
	assert.NilError(t, err)
	return found
}

type testLog struct{ t *testing.T }

func (l testLog) Take(e report.Event) { l.t.Logf("%s: %s", e.Step, e.Text) }

// bench is a backend with a run directory and what the test wants of a run.
type bench struct {
	*fakestate.Backend

	t   *testing.T
	dir env.Path
}

func newBench(t *testing.T, way string) *bench {
	t.Helper()
	built(t)
	b := &bench{Backend: fakestate.New(way), t: t, dir: env.Path(filepath.Join(t.TempDir(), "state"))}
	t.Cleanup(b.Close)
	return b
}

// engine is one run.
func (b *bench) engine(k Keys) *Engine {
	b.t.Helper()
	if k.Dir == "" {
		k.Dir = b.dir
	}
	return &Engine{
		Tofu: built(b.t), Log: report.NewLog(testLog{b.t}), Backend: b.Keys(), Keys: k,
		Environment: env.Map(map[string]string{"PATH": "/usr/bin:/bin", "HOME": b.t.TempDir(), "TF_VAR_leak": "x", "TF_CLI_ARGS_plan": "-destroy"}),
	}
}

// cold makes n objects where there is nothing.
func (b *bench) cold(n int) *Result {
	b.t.Helper()
	result, err := b.engine(Keys{Phase: cold}).Apply(b.t.Context(), objects(n))
	assert.NilError(b.t, err)
	return result
}

// judged is what the backend holds.
func (b *bench) judged() (state.Kind, *state.State) {
	b.t.Helper()
	kind, s, err := state.Judge(b.State() != "", []byte(b.State()))
	assert.NilError(b.t, err)
	return kind, s
}

// refused holds an error to be a refusal that names its reason.
func refusedFor(t *testing.T, err error, reason string) {
	t.Helper()
	assert.Equal(t, report.CodeOf(err), report.Refused, "%v", err)
	assert.ErrorContains(t, err, reason)
	assert.Assert(t, len(report.Hints(err)) > 0, "a refusal says how to go on")
}

// objects is a deployment of n things that only the state knows.
func objects(n int) Deployment {
	return Deployment{Name: "web", Files: map[string][]byte{"main.tf": fmt.Appendf(nil, `
resource "terraform_data" "thing" {
  count = %d
  input = "thing ${count.index}"
}
output "things" { value = length(terraform_data.thing) }
`, n)}}
}

func TestColdThenSteadyThenDestroy(t *testing.T) {
	for _, way := range fakestate.Ways() {
		t.Run(way, func(t *testing.T) {
			b := newBench(t, way)
			ctx := t.Context()

			_, err := b.engine(Keys{}).Apply(ctx, objects(3))
			refusedFor(t, err, "absent")
			assert.Equal(t, b.State(), "")

			first := b.cold(3)
			kind, s := b.judged()
			assert.Equal(t, kind, state.Sound)
			assert.Equal(t, s.Lineage, first.Lineage)
			assert.Equal(t, s.Serial, first.Serial)
			assert.Equal(t, len(s.Objects()), 3)
			assert.Equal(t, first.Plan.Add, 3)
			assert.Equal(t, string(first.Outputs["things"].Value), "3")

			again, err := b.engine(Keys{Lineage: first.Lineage, Serial: env.Count(first.Serial)}).Apply(ctx, objects(3)) //nolint:gosec // small
			assert.NilError(t, err)
			assert.Assert(t, !again.Plan.Changed, "%+v", again.Plan)
			assert.Equal(t, again.Serial, first.Serial)

			more, err := b.engine(Keys{}).Apply(ctx, objects(5))
			assert.NilError(t, err)
			assert.Equal(t, more.Plan.Add, 2)
			assert.Equal(t, len(more.Objects), 5)
			assert.Equal(t, b.Locked(), "", "the lock is given back")

			gone, err := b.engine(Keys{}).Destroy(ctx, objects(5))
			assert.NilError(t, err)
			assert.Equal(t, gone.Plan.Remove, 5)
			assert.Equal(t, b.State(), "")
			assert.Equal(t, b.Locked(), "")

			_, err = b.engine(Keys{}).Apply(ctx, objects(5))
			refusedFor(t, err, "absent")
			anew := b.cold(2)
			assert.Assert(t, anew.Lineage != first.Lineage)

			left, err := filepath.Glob(string(b.dir) + "/*")
			assert.NilError(t, err)
			for _, path := range left {
				assert.Assert(t, filepath.Base(path) == "journal" || filepath.Ext(path) == ".lock" || filepath.Base(path) == "lock", path)
			}
		})
	}
}

func TestEveryVerb(t *testing.T) {
	b := newBench(t, fakestate.Strict)
	ctx := t.Context()
	d := objects(2)
	b.cold(2)
	before := b.State()

	t.Run("validate", func(t *testing.T) {
		assert.NilError(t, b.engine(Keys{}).Validate(ctx, d))
		err := b.engine(Keys{}).Validate(ctx, Deployment{Name: "web", Files: map[string][]byte{"main.tf": []byte(`output "x" { value = nothing.there }`)}})
		assert.ErrorContains(t, err, "main.tf:1: Reference to undeclared resource")
	})
	t.Run("output", func(t *testing.T) {
		out, err := b.engine(Keys{}).Output(ctx, d)
		assert.NilError(t, err)
		assert.Equal(t, string(out["things"].Value), "2")
	})
	t.Run("show", func(t *testing.T) {
		shown, err := b.engine(Keys{}).Show(ctx, d)
		assert.NilError(t, err)
		assert.Equal(t, len(shown.Values.RootModule.Resources), 2)
	})
	t.Run("state list", func(t *testing.T) {
		list, err := b.engine(Keys{}).StateList(ctx, d)
		assert.NilError(t, err)
		assert.DeepEqual(t, list, []string{"terraform_data.thing[0]", "terraform_data.thing[1]"})
	})
	t.Run("state show", func(t *testing.T) {
		text, err := b.engine(Keys{}).StateShow(ctx, d, "terraform_data.thing[1]")
		assert.NilError(t, err)
		assert.Assert(t, len(text) > 0)
		_, err = b.engine(Keys{}).StateShow(ctx, d, "terraform_data.other")
		assert.ErrorContains(t, err, "No instance found")
		_, err = b.engine(Keys{}).StateShow(ctx, d, "-state=/etc/passwd")
		assert.Equal(t, report.CodeOf(err), report.Usage)
	})
	t.Run("plan", func(t *testing.T) {
		result, err := b.engine(Keys{}).Plan(ctx, objects(3))
		assert.NilError(t, err)
		assert.Equal(t, result.Plan.Add, 1)
		assert.DeepEqual(t, result.Plan.Changes, []Change{{"terraform_data.thing[2]", "terraform_data", "create", "", false}})
		assert.Assert(t, len(result.Plan.Text) > 0)
	})
	assert.Equal(t, b.State(), before, "none of these writes")
	t.Run("refresh", func(t *testing.T) {
		result, err := b.engine(Keys{}).Refresh(ctx, d)
		assert.NilError(t, err)
		assert.Equal(t, len(result.Objects), 2)
	})
	t.Run("import", func(t *testing.T) {
		result, err := b.engine(Keys{}).Import(ctx, objects(3), "terraform_data.thing[2]", "taken-in")
		assert.NilError(t, err)
		assert.Equal(t, len(result.Objects), 3)
		assert.Equal(t, b.Locked(), "")
	})
}
