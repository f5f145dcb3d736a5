package verdict

import (
	"testing"

	"gotest.tools/v3/assert"
)

// unit is a unit that is well.
func unit(name string, change func(u *Unit)) Unit {
	u := Unit{Name: name, Load: "loaded", Active: "active", Sub: "running", Result: "success", Invocation: "0a" + name}
	if change != nil {
		change(&u)
	}
	return u
}

func state(active, sub string) func(*Unit) {
	return func(u *Unit) { u.Active, u.Sub = active, sub }
}

func TestJudge(t *testing.T) {
	for _, c := range []struct {
		name    string
		unit    Unit
		fault   Fault // empty means that nothing is wrong
		settled bool
		stuck   bool // when the time is up
	}{
		{"runs", unit("web.service", nil), "", true, false},
		{"ended well", unit("once.service", state("active", "exited")), "", true, false},
		{"is not wanted", unit("old.service", state("inactive", "dead")), "", true, false},
		{"failed", unit("web.service", state("failed", "failed")), FailedUnit, true, false},
		{"failed, with a job that will try again", unit("web.service", func(u *Unit) { u.Active, u.Job = "failed", true }), FailedUnit, true, false},
		{"starts", unit("web.service", state("activating", "start")), "", false, true},
		{"reloads", unit("web.service", state("reloading", "reload")), "", false, true},
		{"stops", unit("web.service", state("deactivating", "stop")), "", false, true},
		{"has yet to start", unit("web.service", func(u *Unit) { u.Active, u.Job = "inactive", true }), "", false, true},
		{"runs, with a job", unit("web.service", func(u *Unit) { u.Job = true }), "", true, false},
		{"starts again for the first time", unit("web.service", func(u *Unit) { u.Active, u.Sub, u.Restarts = "activating", "auto-restart", 1 }), "", false, true},
		{"starts again and again", unit("web.service", func(u *Unit) { u.Active, u.Sub, u.Restarts = "activating", "auto-restart", 2 }), RestartLoop, true, false},
		{"runs after it was restarted", unit("web.service", func(u *Unit) { u.Restarts = 7 }), "", true, false},
		{"is a device that udev never announced", unit("dev-ttyS0.device", state("activating", "tentative")), "", true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			sample := Sample{Units: []Unit{unit("other.service", nil), c.unit}}
			findings, settled := judge(sample)
			var want []Finding
			if c.fault != "" {
				want = []Finding{{Unit: c.unit, Fault: c.fault}}
			}
			assert.DeepEqual(t, findings, want)
			assert.Equal(t, settled, c.settled)
			want = nil
			if c.stuck {
				want = []Finding{{Unit: c.unit, Fault: StillStarts}}
			}
			assert.DeepEqual(t, stuck(sample), want)
		})
	}
}

func TestFindingsAreSortedByName(t *testing.T) {
	findings, _ := judge(Sample{Units: []Unit{
		unit("b.service", state("failed", "failed")), unit("c.service", state("failed", "failed")), unit("a.service", state("failed", "failed")),
	}})
	var names []string
	for _, f := range findings {
		names = append(names, f.Unit.Name)
	}
	assert.DeepEqual(t, names, []string{"a.service", "b.service", "c.service"})
}

func TestEveryUnitIsFoundOnceAtTheEnd(t *testing.T) {
	sample := Sample{Units: []Unit{
		unit("a.service", state("failed", "failed")), unit("b.service", state("activating", "start")),
		unit("c.service", func(u *Unit) { u.Active, u.Restarts = "activating", 5 }),
	}}
	findings, settled := judge(sample)
	assert.Assert(t, !settled)
	seen := map[string]int{}
	for _, f := range append(findings, stuck(sample)...) {
		seen[f.Unit.Name]++
	}
	assert.DeepEqual(t, seen, map[string]int{"a.service": 1, "b.service": 1, "c.service": 1})
}
