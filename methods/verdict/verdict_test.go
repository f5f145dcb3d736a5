package verdict

import (
	"testing"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/targets/report"
)

func TestAHealthyVerdictIsNoError(t *testing.T) {
	v := Verdict{Units: 42}
	assert.Assert(t, v.Healthy())
	assert.NilError(t, v.Err())
}

func TestAnUnhealthyVerdictNamesEveryUnitAndWhy(t *testing.T) {
	v := Verdict{Units: 42, Findings: []Finding{
		{
			Unit:  Unit{Name: "web.service", Active: "failed", Sub: "failed", Result: "exit-code", ExitStatus: 1, Restarts: 5},
			Fault: FailedUnit, Journal: []string{"cannot bind", "Main process exited"},
		},
		{Unit: Unit{Name: "b.mount", Active: "activating", Sub: "mounting", Result: "success"}, Fault: StillStarts},
	}}
	err := v.Err()
	assert.Equal(t, report.CodeOf(err), report.Unhealthy)
	assert.Error(t, err, "judge the machine: 2 units unhealthy\n"+
		"  web.service: failed (exit-code, exit status 1, 5 restarts)\n"+
		"    | cannot bind\n    | Main process exited\n"+
		"  b.mount: still starting (activating/mounting)")
	assert.Assert(t, len(report.Hints(err)) == 1)
}

func TestAFindingIsOneLine(t *testing.T) {
	for _, c := range []struct {
		name string
		unit Unit
		want string
	}{
		{"nothing to say but its state", Unit{Name: "a", Active: "failed", Sub: "failed"}, "a: failed (failed/failed)"},
		{"a result", Unit{Name: "a", Result: "timeout"}, "a: failed (timeout)"},
		{"an exit status", Unit{Name: "a", Result: "exit-code", ExitStatus: 203}, "a: failed (exit-code, exit status 203)"},
		{"one restart", Unit{Name: "a", Result: "signal", Restarts: 1}, "a: failed (signal, 1 restart)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			assert.Equal(t, Finding{Unit: c.unit, Fault: FailedUnit}.String(), c.want)
		})
	}
}

func TestOneUnitIsOneUnit(t *testing.T) {
	assert.ErrorContains(t, Verdict{Findings: []Finding{{Unit: Unit{Name: "a"}, Fault: FailedUnit}}}.Err(), "1 unit unhealthy")
}

func TestHowAFindingStandsInARecord(t *testing.T) {
	f := Finding{
		Unit:  Unit{Name: "web.service", Result: "exit-code", ExitStatus: 1, Restarts: 5},
		Fault: RestartLoop, Journal: []string{"alas"},
	}
	assert.DeepEqual(t, f.Record(), report.Unit{
		Name: "web.service", Fault: "restarts again and again", Result: "exit-code", ExitStatus: 1, Restarts: 5, Journal: []string{"alas"},
	})
}
