//go:build checks

package checks

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"fediversity.eu/slipway/checks/guest"
	"fediversity.eu/slipway/targets/report"
)

// TestDeploymentAggregates deploys a group of which one machine is down and one
// does not get well.
func TestDeploymentAggregates(t *testing.T) {
	t.Parallel() // most of it is waiting
	w := newWorld(t)
	var err error
	w.binary, err = buildCommand("./checks/fleet")
	assert.NilError(t, err)
	broken := strings.ReplaceAll(trivial, "sleep 1000000", "sh -c 'echo the reason is this >&2; exit 7'")
	guests := map[string]*guest.Guest{}
	for _, name := range []string{"web", "wiki", "blog", "mail", "db"} {
		w.write("fleet/"+name+".nix", trivial)
		guests[name] = w.bootAs(guest.Options{Kind: guest.Container, Name: name}, strings.ToUpper(name)+"_")
	}
	w.write("fleet/wiki.nix", broken)
	w.env["MAIL_SSH_CONNECT_TIMEOUT"] = "5s"
	assert.NilError(t, guests["mail"].SetLink(t.Context(), false))

	t.Run("all machines side by side", func(t *testing.T) {
		w := w.as(t)
		o := w.slipway(map[string]string{"PROGRESS": "json", "PARALLELISM": "2"}, "fleet-all")
		assert.Equal(t, o.code, report.Unhealthy, "the worst of healthy, unhealthy and unknown")
		assert.Equal(t, o.stdout, "")
		codes := map[string]report.Code{
			"fleet-ssh-web-apply": report.Healthy, "fleet-ssh-wiki-apply": report.Unhealthy,
			"fleet-ssh-blog-apply": report.Healthy, "fleet-ssh-mail-apply": report.Unknown,
		}
		assert.DeepEqual(t, memberCodes(o.record), codes)
		events := o.events(t)
		assert.DeepEqual(t, endCodes(of(report.KindRow, events)), codes)
		codes["fleet-all-apply"] = report.Unhealthy
		assert.DeepEqual(t, endCodes(of(report.KindEnd, events)), codes)
		assert.Equal(t, atOnce(events), 2)
		assert.Assert(t, len(of(report.KindProgress, events)) > 0)
		steps := map[string]bool{}
		for _, e := range of(report.KindStep, events) {
			steps[e.Step] = true
		}
		for _, step := range []string{"evaluate", "build", "connect", "copy", "switch", "verdict"} {
			assert.Assert(t, steps[step], "no step %s among %v", step, slices.Sorted(maps.Keys(steps)))
		}
		for _, name := range []string{"web", "blog"} {
			assert.Equal(t, w.on(guests[name], "cat /etc/motd-of-check"), "first", "%s was not deployed", name)
		}
	})

	t.Run("the whole group in order", func(t *testing.T) {
		w := w.as(t)
		o := w.slipway(nil, "fleet-combined")
		assert.Equal(t, o.code, report.Unhealthy)
		for row, want := range map[string]string{
			"fleet-ssh-db-apply": "healthy", "fleet-ssh-web-apply": "healthy", "fleet-ssh-wiki-apply": "unhealthy",
			"fleet-ssh-mail-apply": "unknown", "fleet-ssh-blog-apply": "not started",
		} {
			assert.Equal(t, rowOf(o.stderr, "fleet-combined-apply", row, want), 1, "%s: %s in\n%s", row, want, o.stderr)
		}
		assert.Assert(t, cmp.Contains(o.stderr, "fleet-ssh-wiki-apply ended unhealthy"), "what was not started says why")
		assert.Assert(t, cmp.Contains(o.stderr, "3 of 5 did not end healthy: 1 not started, 1 unhealthy, 1 unknown"))
		assert.Equal(t, strings.Count(o.stderr, "    trivial.service: failed (exit-code"), 1, "details are told once")
		for _, m := range o.record.Members {
			if m.Machine == "blog" {
				assert.Equal(t, m.Outcome, report.NotStarted)
			}
		}
		assert.Equal(t, w.on(guests["db"], "cat /etc/motd-of-check"), "first")
		assert.Assert(t, ended(o.record, "db").Before(started(o.record, "web")), "what web needs came first")
	})

	t.Run("results say whose they are", func(t *testing.T) {
		w := w.as(t)
		o := w.slipway(nil, "fleet-all-generations")
		assert.Equal(t, o.code, report.Unknown)
		for _, name := range []string{"web", "blog"} {
			assert.Assert(t, cmp.Regexp(`(?m)^`+name+`: 1 /nix/store/\S+ 20\S+Z default running$`, o.stdout))
		}
	})

	t.Run("a record for everybody, readable by others", func(t *testing.T) {
		w := w.as(t)
		assert.NilError(t, guests["mail"].SetLink(t.Context(), true))
		w.write("fleet/wiki.nix", trivial)
		o := w.slipway(map[string]string{"MAIL_SSH_CONNECT_TIMEOUT": ""}, "fleet-combined")
		assert.Equal(t, o.code, report.Healthy)
		assert.Equal(t, len(o.record.Members), 5)
		assert.Assert(t, o.record.Changed)
		path := w.dir + "/schema.json"
		assert.NilError(t, os.WriteFile(path, []byte(w.slipway(nil, "schema", "record").stdout), 0o600))
		text, err := os.ReadFile(path)
		assert.NilError(t, err)
		assert.DeepEqual(t, text, report.RecordSchema)
	})
}

func memberCodes(r *report.Record) map[string]report.Code {
	codes := map[string]report.Code{}
	for _, m := range r.Members {
		codes[m.Program] = m.ExitCode
	}
	return codes
}

// endCodes are the exit codes of ends, or of rows.
func endCodes(events []report.Event) map[string]report.Code {
	codes := map[string]report.Code{}
	for _, e := range events {
		who := e.Program
		if e.Kind == report.KindRow {
			who = e.Member
		}
		codes[who] = *e.Code
	}
	return codes
}

// atOnce is how many machines were worked on at once, at most.
func atOnce(events []report.Event) int {
	running, peak := 0, 0
	for _, e := range events {
		switch {
		case e.Kind == report.KindStart && len(e.Members) == 0:
			running++
		case e.Kind == report.KindEnd && e.Outcome != report.NotStarted:
			running--
		}
		peak = max(peak, running)
	}
	return peak
}

// rowOf counts the rows of a table that say something of a member.
func rowOf(text, aggregate, member, outcome string) int {
	n := 0
	for line := range strings.Lines(text) {
		row, ok := strings.CutPrefix(line, "["+aggregate+"] "+member+" ")
		if ok && strings.HasPrefix(strings.TrimSpace(row), outcome+" ") {
			n++
		}
	}
	return n
}

func started(r *report.Record, machine string) time.Time { return memberOf(r, machine).Started }

func ended(r *report.Record, machine string) time.Time { return memberOf(r, machine).Ended }

func memberOf(r *report.Record, machine string) *report.Record {
	for _, m := range r.Members {
		if m.Machine == machine {
			return m
		}
	}
	return &report.Record{}
}
