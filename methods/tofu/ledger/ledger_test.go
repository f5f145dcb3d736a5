package ledger

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/methods/tofu/state"
)

// event is a line as OpenTofu writes it.
func event(kind, action, address, id string) string {
	line := fmt.Sprintf(`{"@level":"info","type":%q,"hook":{"resource":{"addr":%q,"resource_type":"terraform_data"},"action":%q`, kind, address, action)
	if id != "" {
		line += fmt.Sprintf(`,"id_key":"id","id_value":%q`, id)
	}
	return line + "}}\n"
}

func write(t *testing.T, dir, run, text string) {
	t.Helper()
	path := filepath.Join(dir, "events-"+run+".jsonl")
	assert.NilError(t, Start(path, run))
	file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	assert.NilError(t, err)
	_, err = file.WriteString(text)
	assert.NilError(t, err)
	assert.NilError(t, file.Close())
}

func TestMissing(t *testing.T) {
	const known = `{"version":4,"lineage":"l","resources":[{"mode":"managed","type":"t","name":"known","instances":[{"attributes":{"id":"k"}}]}]}`
	s, err := state.Parse([]byte(known))
	assert.NilError(t, err)
	made := func(address, id string) string {
		return event("apply_start", "create", address, "") + event("apply_complete", "create", address, id)
	}
	for _, c := range []struct {
		name   string
		runs   []string
		others bool // somebody else has written the state since
		want   []string
	}{
		{"nothing", nil, false, nil},
		{"what the state knows", []string{made("t.known", "k")}, false, nil},
		{"another object of an address that the state knows", []string{made("t.known", "other")}, false, []string{"t.known (id other)"}},
		{"made", []string{made("t.a", "1")}, false, []string{"t.a (id 1)"}},
		{"begun", []string{event("apply_start", "create", "t.a", "")}, false, []string{"t.a (begun, fate unknown)"}},
		{"begun and failed, and its tofu ended", []string{event("apply_start", "create", "t.a", "") + event("apply_errored", "create", "t.a", "") + string(End())}, false, nil},
		{"made, and its tofu ended", []string{made("t.a", "1") + string(End())}, false, []string{"t.a (id 1)"}},
		{"made and removed", []string{made("t.a", "1") + event("apply_start", "delete", "t.a", "1") + event("apply_complete", "delete", "t.a", "")}, false, nil},
		{"replaced", []string{made("t.a", "1") + event("apply_start", "delete", "t.a", "1") + made("t.a", "2")}, false, []string{"t.a (id 2)"}},
		{"made by one run and removed by the next", []string{made("t.a", "1"), event("apply_start", "delete", "t.a", "1")}, false, nil},
		{"a last line that was cut off", []string{made("t.a", "1") + `{"type":"apply_st`}, false, []string{"t.a (id 1)"}},
		{"updated", []string{event("apply_start", "update", "t.a", "1") + event("apply_complete", "update", "t.a", "1")}, false, nil},
		{"begun, and the state knows one of its address", []string{event("apply_start", "create", "t.known", "")}, false, nil},
		{"begun, and others have written a state that knows one of its address", []string{event("apply_start", "create", "t.known", "")}, true, []string{"t.known (begun, fate unknown)"}},
		{"made without an id, and others have written a state that knows one of its address", []string{made("t.known", "")}, true, []string{"t.known"}},
		{"what a state of others knows", []string{made("t.known", "k")}, true, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), `[prod]*\`)
			assert.NilError(t, os.Mkdir(dir, 0o700))
			for i, text := range c.runs {
				write(t, dir, fmt.Sprintf("run%d", i), text)
			}
			l, err := Read(dir)
			assert.NilError(t, err)
			assert.Equal(t, len(l.Runs), len(c.runs))
			if c.others {
				assert.NilError(t, l.Doubt(s))
			}
			again, err := Read(dir)
			assert.NilError(t, err)
			for _, l := range []*Ledger{l, again} {
				var got []string
				for _, o := range l.Missing(s) {
					got = append(got, o.String())
					assert.Assert(t, o.Run != "")
				}
				assert.DeepEqual(t, got, c.want)
			}
		})
	}
}

func TestWhatIsForgottenStaysForgotten(t *testing.T) {
	const made = `{"type":"apply_complete","hook":{"resource":{"addr":"t.nameless"},"action":"create"}}` + "\n"
	for _, c := range []struct {
		name string
		all  bool
		want []string // of both runs
	}{
		{"all", true, []string{"t.b (id 2)"}},
		{"what has no id", false, []string{"t.a (id 1)", "t.b (id 2)"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, "one", event("apply_complete", "create", "t.a", "1")+made+event("apply_start", "create", "t.c", "")+`{"type":"apply_st`)
			write(t, dir, "two", event("apply_complete", "create", "t.b", "2"))
			first, err := Read(dir)
			assert.NilError(t, err)
			assert.NilError(t, first.Forget("one", c.all))
			again, err := Read(dir)
			assert.NilError(t, err)
			for _, l := range []*Ledger{first, again} {
				var got []string
				for _, o := range l.Missing(nil) {
					got = append(got, o.String())
				}
				assert.DeepEqual(t, got, c.want)
			}
		})
	}
}

func TestOnlyWhatIsMadeIsDurable(t *testing.T) {
	assert.Assert(t, Durable([]byte(`{"type":"apply_start"}`)))
	assert.Assert(t, Durable([]byte(`{"type":"apply_complete"}`)))
	assert.Assert(t, !Durable([]byte(`{"type":"apply_progress"}`)))
	assert.Assert(t, !Durable([]byte(`{"type":"planned_change"}`)))
}
