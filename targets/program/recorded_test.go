package program

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/effects/address"
	"fediversity.eu/slipway/targets/report"
	"fediversity.eu/slipway/targets/task"
)

// addressed makes the machines of a world be found where found says, and the effect
// dns say where it takes them to be.
func (w *world) addressed(found map[string][]string) {
	w.ssh.do = func(ctx context.Context, it *work, run *task.Run) error {
		run.Record.Addresses = found[it.machine]
		if it.machine != "dns" {
			return nil
		}
		for _, m := range w.registry.groupOf(w.group).Machines {
			list, err := address.Of(ctx, run.Environment, m, false)
			if err != nil {
				return err
			}
			if _, err := fmt.Fprintf(run.Out, "%s=%v\n", m.Name, list); err != nil {
				return err
			}
		}
		return nil
	}
}

// record runs a program of the world that leaves its record, and gives its path.
func (w *world) record(rest string) string {
	w.t.Helper()
	path := filepath.Join(w.t.TempDir(), rest+".json")
	w.run(w.t.Context(), map[string]string{"REPORT": path}, rest)
	return path
}

// onDisk is a record as a file.
func onDisk(t *testing.T, r *report.Record) string {
	t.Helper()
	r.Version = 1
	path := filepath.Join(t.TempDir(), "record.json")
	assert.NilError(t, r.Write(path, nil))
	return path
}

func TestEffectsLearnWhereMachinesAreFromRecords(t *testing.T) {
	declared := machine("mail")
	declared.Addresses = []string{"192.0.2.25"}
	found := map[string][]string{"web": {"192.0.2.7", "2001:db8::7"}, "db": {"192.0.2.8"}, "mail": {"192.0.2.9"}, "local": {"127.0.0.1"}}
	w := withEffects(t, machine("web"), machine("db"), declared, machine("local"))
	w.addressed(found)
	records := []string{w.record("ssh-web"), w.record("ssh-db"), w.record("ssh-mail"), w.record("ssh-local")}
	whole := w.record("ssh-all")

	const want = "web=[192.0.2.7 2001:db8::7]\ndb=[192.0.2.88]\nmail=[192.0.2.25]\nlocal=[]\n"
	w.addressed(nil)
	for name, named := range map[string]string{"one of each": strings.Join(records, ", "), "one of all": whole, "both": whole + "," + records[0]} {
		t.Run(name, func(t *testing.T) {
			got := w.run(t.Context(), map[string]string{"RECORDS": named, "DB_ADDRESSES": "192.0.2.88"}, "dns")
			assert.NilError(t, got.err)
			assert.Equal(t, got.out, want)
			assert.Assert(t, strings.Contains(got.log, "web has the address 192.0.2.7,2001:db8::7, as the record of its deployment tells"), got.log)
		})
	}

	t.Run("a run of its own is newer", func(t *testing.T) {
		w.addressed(map[string][]string{"web": {"192.0.2.77"}})
		got := w.run(t.Context(), map[string]string{"RECORDS": whole}, "ssh-web", "dns")
		assert.NilError(t, got.err)
		assert.Equal(t, got.out, "web=[192.0.2.77]\ndb=[192.0.2.8]\nmail=[192.0.2.25]\nlocal=[]\n")
	})
}

// TestRecordsThatTellNothingAreRefused shows that they are never taken for machines
// without addresses.
func TestRecordsThatTellNothingAreRefused(t *testing.T) {
	w := withEffects(t, machine("web"), machine("db"))
	web := &report.Record{
		Program: w.name("ssh-web-apply"), Group: w.group, Method: "ssh", Machine: "web", Verb: "apply", Outcome: "healthy", Addresses: []string{"192.0.2.7"},
	}
	good := onDisk(t, web)
	changed := func(change func(*report.Record)) string {
		other := &report.Record{Program: web.Program, Group: web.Group, Method: web.Method, Machine: web.Machine, Verb: web.Verb, Outcome: web.Outcome, Addresses: web.Addresses}
		change(other)
		return onDisk(t, other)
	}
	garbage := filepath.Join(t.TempDir(), "garbage.json")
	assert.NilError(t, os.WriteFile(garbage, []byte("[]\n"), 0o600))
	for name, c := range map[string]struct{ path, why string }{
		"missing":      {filepath.Join(t.TempDir(), "none.json"), "RECORDS: read record: open "},
		"a folder":     {t.TempDir(), "RECORDS: read record: read "},
		"garbage":      {garbage, "RECORDS: read record: " + garbage},
		"of an effect": {changed(func(r *report.Record) { r.Method, r.Machine, r.Effect, r.Program = "", "", "dns", "x-dns-apply" }), "is the record of x-dns-apply, which deployed no machine of " + w.group},
		"of another group": {
			changed(func(r *report.Record) { r.Group, r.Program = "other", "other-ssh-web-apply" }), "is the record of other-ssh-web-apply, which deployed no machine of " + w.group,
		},
		"of a machine that is no more": {
			changed(func(r *report.Record) { r.Machine, r.Program = "old", "old-apply" }), "is the record of old-apply, which deployed no machine of " + w.group,
		},
		"of a run that failed": {
			changed(func(r *report.Record) { r.ExitCode, r.Outcome, r.Addresses = report.Unhealthy, "unhealthy", nil }), web.Program + " ended unhealthy, and may not tell where web is",
		},
		"of another address": {
			changed(func(r *report.Record) { r.Addresses = []string{"192.0.2.8"} }), web.Program + " found web at [192.0.2.8], and another run at [192.0.2.7]; name the record of the last",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := w.run(t.Context(), map[string]string{"RECORDS": good + "," + c.path}, "dns")
			assert.Equal(t, report.CodeOf(got.err), report.Usage)
			assert.ErrorContains(t, got.err, c.why)
			assert.Equal(t, len(w.ssh.starts()), 0)
		})
	}

	t.Run("where nobody reads them", func(t *testing.T) {
		assert.NilError(t, w.run(t.Context(), map[string]string{"RECORDS": "/none"}, "registrars").err)
	})
}

func TestAPlanWithChangesTellsWhereAMachineIs(t *testing.T) {
	w := withEffects(t, machine("web"))
	w.addressed(nil)
	path := onDisk(t, &report.Record{
		Program: "x", Group: w.group, Method: "ssh", Machine: "web", Verb: "plan", ExitCode: report.RebootNeeded, Addresses: []string{"192.0.2.7"},
	})
	got := w.run(t.Context(), map[string]string{"RECORDS": path}, "dns-plan")
	assert.NilError(t, got.err)
	assert.Equal(t, got.out, "web=[192.0.2.7]\n")
}
