package nixos

import (
	"testing"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/targets/report"
)

const (
	oldSystem = "/nix/store/00000000000000000000000000000000-nixos-system-web"
	newSystem = "/nix/store/11111111111111111111111111111111-nixos-system-web"
)

func TestHowASwitchEnded(t *testing.T) {
	for _, c := range []struct {
		name      string
		ended     Switched
		code      report.Code
		text      string
		untouched bool
	}{
		{"well", Switched{Code: 0, Result: "success", Current: newSystem}, report.Healthy, "", false},
		{"with failed units, which the verdict is about", Switched{Code: 4, Result: "exit-code", Current: newSystem}, report.Healthy, "", false},
		{"well, but elsewhere", Switched{Code: 0, Result: "success", Current: oldSystem}, report.Failed, `it ended with exit code 0, but "` + oldSystem + `" runs`, false},
		{"well, but nobody knows where", Switched{Code: 0, Result: "success", Current: ""}, report.Failed, `but "" runs`, false},
		{"with failed units, but elsewhere", Switched{Code: 4, Result: "exit-code", Current: oldSystem}, report.Failed, "exit code 4", false},
		{"refused", Switched{Code: 1, Result: "exit-code", Current: oldSystem}, report.Refused, "the old system runs on", true},
		{"failed half-way", Switched{Code: 1, Result: "exit-code", Current: newSystem}, report.Failed, "failed half-way (exit code 1)", false},
		{"with a failed activation script", Switched{Code: 2, Result: "exit-code", Current: newSystem}, report.Failed, "the activation script failed", false},
		{"with a failed activation script, before the link moved", Switched{Code: 2, Result: "exit-code", Current: oldSystem}, report.Failed, "the activation script failed", false},
		{"with another under way", Switched{Code: 11, Result: "exit-code", Current: oldSystem}, report.Busy, "another switch is under way", true},
		{"with another under way, of a system that runs already", Switched{Code: 11, Result: "exit-code", Current: newSystem}, report.Busy, "another switch is under way", true},
		{"with a reboot needed", Switched{Code: 100, Result: "exit-code", Current: oldSystem}, report.RebootNeeded, "it needs a reboot", false},
		{"crashed", Switched{Code: 101, Result: "exit-code", Current: newSystem}, report.Failed, "crashed half-way", false},
		{"with a code that nobody knows", Switched{Code: 42, Result: "exit-code", Current: newSystem}, report.Failed, "exit code 42", false},
		{"by a signal", Switched{Code: 15, Result: "signal", Current: oldSystem}, report.Failed, "the switch program was ended: signal", false},
		{"by a signal, though it had arrived", Switched{Code: 9, Result: "signal", Current: newSystem}, report.Failed, "was ended: signal", false},
		{"by its time limit", Switched{Code: 15, Result: "timeout", Current: newSystem}, report.Failed, "was ended: timeout", false},
		{"by a fault of memory", Switched{Code: 6, Result: "core-dump", Current: newSystem}, report.Failed, "was ended: core-dump", false},
		{"by the kernel for want of memory", Switched{Code: 9, Result: "oom-kill", Current: newSystem}, report.Failed, "exit code 9", false},
		// Signals have numbers that are exit codes too: 1 is SIGHUP, 4 SIGILL, 11 SIGSEGV.
		{"by a signal whose number is that of a refusal", Switched{Code: 1, Result: "signal", Current: oldSystem}, report.Failed, "was ended: signal", false},
		{"by a signal whose number is that of a lock", Switched{Code: 11, Result: "core-dump", Current: oldSystem}, report.Failed, "was ended: core-dump", false},
		{"by a signal whose number is that of failed units", Switched{Code: 4, Result: "signal", Current: newSystem}, report.Failed, "was ended: signal", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := c.ended.Err(newSystem)
			assert.Equal(t, report.CodeOf(err), c.code)
			if c.code == report.Healthy {
				assert.NilError(t, err)
			} else {
				assert.ErrorContains(t, err, "switch to the new system: ")
				assert.ErrorContains(t, err, c.text)
				assert.Assert(t, len(report.Hints(err)) > 0, "it must say what to do")
			}
			assert.Equal(t, c.ended.Untouched(newSystem), c.untouched, "whether the running system was left alone")
		})
	}
}

func TestNoOutcomeIsHealthyByAccident(t *testing.T) {
	for code := range SwitchCode(256) {
		for _, result := range []string{"", "success", "exit-code", "signal", "core-dump", "timeout", "oom-kill", "start-limit-hit", "resources"} {
			for _, current := range []string{"", oldSystem, newSystem} {
				err := Switched{Code: code, Result: result, Current: current}.Err(newSystem)
				if err == nil && (current != newSystem || (code != 0 && code != 4) || result == "signal" || result == "core-dump" || result == "timeout") {
					t.Errorf("exit code %d, result %q, running %q: taken for a switch that ended well", code, result, current)
				}
			}
		}
	}
}
