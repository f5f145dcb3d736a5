package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"
)

// schema is the published schema of records.
func schema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	return schemaOf(t, RecordSchema)
}

// schemaOf compiles a schema, with formats asserted.
func schemaOf(t *testing.T, text []byte) *jsonschema.Schema {
	t.Helper()
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	assert.NilError(t, err)
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	assert.NilError(t, compiler.AddResource("schema.json", document))
	compiled, err := compiler.Compile("schema.json")
	assert.NilError(t, err)
	return compiled
}

// written is the document that Write makes of a record.
func written(t *testing.T, r *Record) any {
	t.Helper()
	path := filepath.Join(t.TempDir(), "record.json")
	assert.NilError(t, r.Write(path, nil))
	file, err := os.Open(path)
	assert.NilError(t, err)
	defer func() { _ = file.Close() }()
	document, err := jsonschema.UnmarshalJSON(file)
	assert.NilError(t, err)
	return document
}

// full is a record with everything in it.
func full() *Record {
	code := 4
	since := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	r := &Record{
		Program: "operator-ssh-web-apply", Group: "operator", Method: "ssh", Machine: "web", Verb: "apply",
		Started: time.Now().Add(-time.Minute),
		State:   &State{Lineage: "0b0c", Serial: 7, Plan: &Counts{Changes: true, Change: 1}},
		Layers: []Layer{
			{Layer: "machines", Side: "operator", Source: "git+/srv/modules", Revision: strings.Repeat("0a", 20), Hash: strings.Repeat("0b", 32)},
			{Layer: "effects", Side: "provider", Source: "operator (baked in)", Hash: strings.Repeat("0c", 32), Effects: []string{"dns"}},
		},
		Source: &Source{
			Modules: "operator (baked in)", Hash: strings.Repeat("0a", 32), Nixpkgs: "/srv/nixpkgs", Cached: true,
		},
		Toplevel: "/nix/store/00000000000000000000000000000000-nixos-system-web", Generation: 12, Addresses: []string{"192.0.2.7"}, Changed: true,
		Copied: &Copied{Paths: 3, Bytes: 1 << 30}, Switch: &code,
		Inventory: &Objects{Create: 3, Change: 2, Delete: 1},
		Zones:     []Zone{{Name: "example.org.", Records: 10, Create: 3, Change: 2, Delete: 1}, {Name: "lab.example.org."}},
		Units: []Unit{
			{
				Name: "web.service", User: "1000", Class: "new", Fault: "failed", Why: "systemd gave up restarting it", Since: &since, Result: "exit-code",
				ExitStatus: 1, Exit: "exit status 1", Restarts: 5, Journal: []string{"alas"},
			},
			{Name: "bare.socket", Class: "old", Fault: "still starting"},
		},
		Probes: []Probe{
			{Name: "site", Asked: "http://127.0.0.1/", Outcome: "wrong", Why: "HTTP status 503 instead of 200", Seconds: 30},
			{Name: "database", Asked: "tcp 127.0.0.1:5432", Outcome: "right"},
		},
		Needs: []string{"operator-ssh-db-apply"},
	}
	r.Time("evaluate")()
	r.Time("copy")()
	r.Close(&Fault{Code: Unhealthy, What: "judge the machine", Why: errors.New("2 units unhealthy"), Hint: "mend it"})
	return r
}

func TestRecordIsOfThePublishedForm(t *testing.T) {
	least := &Record{Program: "operator-web", Started: time.Now()}
	least.Close(nil)
	aggregate := &Record{Program: "operator-all-apply", Group: "operator", Verb: "apply", Started: time.Now()}
	aggregate.Add(full())
	aggregate.Add(least)
	aggregate.Close(&Exit{Code: Unhealthy, Err: errors.New("1 of 2")})
	for _, c := range []struct {
		name   string
		record *Record
	}{
		{"with everything", full()},
		{"with the least", least},
		{"with members", aggregate},
		{"with steps that don't say when they began", &Record{Version: 1, Program: "p", Timings: []Timing{{Step: "copy", Seconds: 1}}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			assert.NilError(t, schema(t).Validate(written(t, c.record)))
		})
	}
}

func TestEveryCodeIsInTheSchema(t *testing.T) {
	compiled := schema(t)
	for code := range meanings {
		r := &Record{Program: "p", Started: time.Now()}
		r.Close(&Exit{Code: code, Err: errors.New("x")})
		assert.NilError(t, compiled.Validate(written(t, r)), "exit code %d", code)
	}
}

func TestSchemaRefuses(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(document map[string]any)
	}{
		{"an unknown property", func(d map[string]any) { d["colour"] = "blue" }},
		{"an exit code that is none", func(d map[string]any) { d["exit_code"] = 7 }},
		{"no program", func(d map[string]any) { delete(d, "program") }},
		{"another version", func(d map[string]any) { d["version"] = 2 }},
		{"a time that is none", func(d map[string]any) { d["started"] = "yesterday" }},
		{"a member that is no record", func(d map[string]any) { d["members"] = []any{map[string]any{}} }},
		{"a toplevel elsewhere", func(d map[string]any) { d["toplevel"] = "/tmp/system" }},
	} {
		t.Run(c.name, func(t *testing.T) {
			document, ok := written(t, full()).(map[string]any)
			assert.Assert(t, ok)
			compiled := schema(t)
			assert.NilError(t, compiled.Validate(document))
			c.change(document)
			assert.ErrorType(t, compiled.Validate(document), &jsonschema.ValidationError{})
		})
	}
}

func TestCloseNotesHowItEnded(t *testing.T) {
	for _, c := range []struct {
		name    string
		err     error
		code    Code
		outcome string
		problem *Problem
	}{
		{"well", nil, Healthy, "done", nil},
		{"with a plain error", errors.New("no"), Failed, "failed", &Problem{What: "no"}},
		{
			"with a fault", Refuse("copy", errors.New("disk full"), "free some"), Refused, "refused",
			&Problem{What: "copy: disk full", Hints: []string{"free some"}},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := &Record{Program: "p", Started: time.Now()}
			r.Close(c.err)
			assert.Equal(t, r.Version, 1)
			assert.Equal(t, r.ExitCode, c.code)
			assert.Equal(t, r.Outcome, c.outcome)
			assert.DeepEqual(t, r.Error, c.problem)
			assert.Assert(t, !r.Ended.Before(r.Started))
		})
	}
}

func TestRecordIsFilledByManyAtOnce(t *testing.T) {
	r := &Record{}
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() { r.Time("copy")(); r.Add(&Record{}) })
	}
	all.Wait()
	assert.Assert(t, cmp.Len(r.Timings, 50))
	assert.Assert(t, cmp.Len(r.Members, 50))
}

func TestWriteIsWholeOrNotAtAll(t *testing.T) {
	t.Run("replaces what was there and leaves nothing beside it", func(t *testing.T) {
		dir := t.TempDir()
		path := filepath.Join(dir, "record.json")
		assert.NilError(t, os.WriteFile(path, []byte(strings.Repeat("old ", 10_000)), 0o600))
		assert.NilError(t, full().Write(path, nil))
		text, err := os.ReadFile(path)
		assert.NilError(t, err)
		var r Record
		assert.NilError(t, json.Unmarshal(text, &r))
		assert.Equal(t, r.Program, "operator-ssh-web-apply")
		entries, err := os.ReadDir(dir)
		assert.NilError(t, err)
		assert.Assert(t, cmp.Len(entries, 1))
	})
	t.Run("a folder that is not there", func(t *testing.T) {
		err := full().Write(filepath.Join(t.TempDir(), "no", "record.json"), nil)
		assert.ErrorIs(t, err, os.ErrNotExist)
		assert.ErrorContains(t, err, "write record: ")
	})
	t.Run("a folder in the place of the file", func(t *testing.T) {
		dir := t.TempDir()
		path := filepath.Join(dir, "record.json")
		assert.NilError(t, os.Mkdir(path, 0o700))
		assert.ErrorContains(t, full().Write(path, nil), "write record: ")
		entries, err := os.ReadDir(dir)
		assert.NilError(t, err)
		assert.Assert(t, cmp.Len(entries, 1), "the half-made file must be gone")
	})
}

func TestASecretSpoilsNoRecord(t *testing.T) {
	for _, secret := range []string{"true", "2026", "what", "error", "null", `a"b`, "web-apply", "[]{}", "exit_code"} {
		path := filepath.Join(t.TempDir(), "record.json")
		r := full()
		r.Error.What = "it is <" + secret + "> & no other"
		r.Units[0].Journal = []string{secret, "x" + secret}
		assert.NilError(t, r.Write(path, func(text string) string { return strings.ReplaceAll(text, secret, "[redacted]") }))
		text, err := os.ReadFile(path)
		assert.NilError(t, err)
		var again Record
		assert.NilError(t, json.Unmarshal(text, &again), "%q in %s", secret, text)
		assert.Equal(t, again.Error.What, "it is <[redacted]> & no other")
		assert.DeepEqual(t, again.Units[0].Journal, []string{"[redacted]", "x[redacted]"})
		assert.Equal(t, again.Changed, true)
	}
}

func TestOnlyWhatWasJudgedIsHealthy(t *testing.T) {
	judged := &Record{Program: "p"}
	judged.Time(VerdictStep)()
	judged.Close(nil)
	assert.Equal(t, judged.Outcome, "healthy")
	group := &Record{Program: "g"}
	group.Add(&Record{})
	group.Close(nil)
	assert.Equal(t, group.Outcome, Done)
	group.Add(judged)
	group.Close(nil)
	assert.Equal(t, group.Outcome, "healthy")
}

func TestLayersAreSaidInALineForEachSource(t *testing.T) {
	pin := Layer{Layer: "machines", Side: "operator", Source: "git+/srv/pin#4f", Revision: "4f", Hash: "0b"}
	baked := Layer{Layer: "resources", Side: "provider", Source: "operator (baked in)", Hash: "0a"}
	some, rest, tarball := pin, baked, pin
	some.Layer, some.Effects = "effects", []string{"dns"}
	rest.Layer, rest.Effects = "effects", []string{"registrars", "netbox"}
	assert.DeepEqual(t, Layers([]Layer{pin, baked, some, rest}), []string{
		"machines, effects (dns) from the operator: git+/srv/pin#4f, tree 0b",
		"resources, effects (registrars, netbox) from the provider: operator (baked in), tree 0a",
	})
	tarball.Source, tarball.Revision = "/srv/pin.tar", "sha256-x"
	assert.DeepEqual(t, Layers([]Layer{tarball}), []string{"machines from the operator: /srv/pin.tar, sha256-x, tree 0b"})
	assert.Equal(t, len(Layers(nil)), 0)
}

func TestRecordsAreReadAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "record.json")
	r := full()
	assert.NilError(t, r.Write(path, nil))
	again, err := ReadRecord(path)
	assert.NilError(t, err)
	assert.Equal(t, again.Program, r.Program)
	assert.DeepEqual(t, again.Units, r.Units)
	for text, want := range map[string]string{
		"{}": "not a record of version 1", `{"version":2,"program":"p"}`: "not a record of version 1", "no": "invalid character",
	} {
		assert.NilError(t, os.WriteFile(path, []byte(text), 0o600))
		_, err := ReadRecord(path)
		assert.ErrorContains(t, err, want)
	}
	_, err = ReadRecord(path + ".none")
	assert.ErrorIs(t, err, os.ErrNotExist)
}

func TestDurationIsForPeople(t *testing.T) {
	for _, c := range []struct {
		of   time.Duration
		want string
	}{
		{-time.Second, "0 ms"},
		{12*time.Millisecond + 400*time.Microsecond, "12 ms"},
		{100 * time.Millisecond, "0.1 s"},
		{44 * time.Second, "44.0 s"},
		{59*time.Second + 949*time.Millisecond, "59.9 s"},
		{59*time.Second + 951*time.Millisecond, "1m00s"},
		{187 * time.Second, "3m07s"},
		{62 * time.Minute, "1h02m"},
	} {
		assert.Equal(t, Duration(c.of), c.want)
	}
}
