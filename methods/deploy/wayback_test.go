package deploy

import (
	"errors"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"fediversity.eu/slipway/methods/nixos"
	"fediversity.eu/slipway/methods/remote"
	"fediversity.eu/slipway/targets/report"
	"fediversity.eu/slipway/targets/task"
)

func TestAWayBackIsToldAsItEnded(t *testing.T) {
	back := &nixos.Reverted{From: "/nix/store/new", To: "/nix/store/old", Why: "nobody confirmed it", At: "2026-11-30T00:00:00Z", Code: 4}
	for name, c := range map[string]struct {
		runs, want string
		failed     bool
	}{
		"it arrived":  {"/nix/store/old", "the machine went back by itself from /nix/store/new to /nix/store/old: nobody confirmed it (the switch back ended with exit code 4)", false},
		"it did not":  {"/nix/store/new", "was to go back by itself from /nix/store/new to /nix/store/old, and did not: nobody confirmed it; the switch back ended with exit code 4, and /nix/store/new runs", true},
		"none of two": {"", "and did not", true},
	} {
		t.Run(name, func(t *testing.T) {
			var said strings.Builder
			run := &task.Run{Log: report.NewLog(report.Plain(&said)), Record: &report.Record{}}
			machine := nixos.Machine{Current: c.runs, Reverted: back}
			tellReverted(run, machine)
			assert.Assert(t, cmp.Contains(said.String(), c.want))
			assert.Equal(t, run.Record.Reverted.Failed, c.failed)
		})
	}
}

func TestHintsFitWhereTheMachineStands(t *testing.T) {
	why := &report.Fault{Code: report.Unhealthy, What: "judge the machine", Why: errors.New("1 unit unhealthy"), Hint: "look"}
	assert.Equal(t, stays(why).Error(), why.Error())
	assert.Assert(t, cmp.Contains(report.Hints(stays(why))[0], "the new system stays in place"))
	assert.Equal(t, why.Hint, "look")
	unknown := &report.Fault{Code: report.Unknown, What: "judge the machine", Hint: "again"}
	assert.Equal(t, stays(unknown), error(unknown), "nobody knows what runs")
	hints := strings.Join(report.Hints(notBack("/nix/store/old", errors.New("no way"), why)), " ")
	assert.Assert(t, !strings.Contains(hints, "stays in place"), hints)
}

func TestWhatWentWrongWithTheContactIsSaidOnce(t *testing.T) {
	err := classify(&remote.Error{Class: remote.ConnectionRefused, Op: "reach", Host: "root@web:22", Err: errors.New("connection refused: nothing listens there")}, false)
	assert.Error(t, err, "talk to the machine: reach root@web:22: connection refused: nothing listens there")
	err = classify(&remote.Error{Class: remote.Unauthenticated, Op: "reach", Host: "root@web:22", Err: errors.New("no key")}, false)
	assert.Error(t, err, "login refused: reach root@web:22: no key")
	assert.Equal(t, report.CodeOf(err), report.Refused)
}
