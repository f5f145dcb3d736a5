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
		{"well", Switched{0, "success", newSystem}, report.Healthy, "", false},
		{"with failed units, which the verdict is about", Switched{4, "exit-code", newSystem}, report.Healthy, "", false},
		{"well, but elsewhere", Switched{0, "success", oldSystem}, report.Failed, `it ended with exit code 0, but "` + oldSystem + `" runs`, false},
		{"well, but nobody knows where", Switched{0, "success", ""}, report.Failed, `but "" runs`, false},
		{"with failed units, but elsewhere", Switched{4, "exit-code", oldSystem}, report.Failed, "exit code 4", false},
		{"refused", Switched{1, "exit-code", oldSystem}, report.Refused, "the old system runs on", true},
		{"failed half-way", Switched{1, "exit-code", newSystem}, report.Failed, "failed half-way (exit code 1)", false},
		{"with a failed activation script", Switched{2, "exit-code", newSystem}, report.Failed, "the activation script failed", false},
		{"with a failed activation script, before the link moved", Switched{2, "exit-code", oldSystem}, report.Failed, "the activation script failed", false},
		{"with another under way", Switched{11, "exit-code", oldSystem}, report.Busy, "another switch is under way", true},
		{"with a reboot needed", Switched{100, "exit-code", oldSystem}, report.RebootNeeded, "it needs a reboot", false},
		{"crashed", Switched{101, "exit-code", newSystem}, report.Failed, "crashed half-way", false},
		{"with a code that nobody knows", Switched{42, "exit-code", newSystem}, report.Failed, "exit code 42", false},
		{"by a signal", Switched{15, "signal", oldSystem}, report.Failed, "the switch program was ended: signal", false},
		{"by a signal, though it had arrived", Switched{9, "signal", newSystem}, report.Failed, "was ended: signal", false},
		{"by its time limit", Switched{15, "timeout", newSystem}, report.Failed, "was ended: timeout", false},
		{"by a fault of memory", Switched{6, "core-dump", newSystem}, report.Failed, "was ended: core-dump", false},
		{"by the kernel for want of memory", Switched{9, "oom-kill", newSystem}, report.Failed, "exit code 9", false},
		// Signals have numbers that are exit codes too: 1 is SIGHUP, 4 SIGILL, 11 SIGSEGV.
		{"by a signal whose number is that of a refusal", Switched{1, "signal", oldSystem}, report.Failed, "was ended: signal", false},
		{"by a signal whose number is that of a lock", Switched{11, "core-dump", oldSystem}, report.Failed, "was ended: core-dump", false},
		{"by a signal whose number is that of failed units", Switched{4, "signal", newSystem}, report.Failed, "was ended: signal", false},
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
				err := Switched{code, result, current}.Err(newSystem)
				if err == nil && (current != newSystem || (code != 0 && code != 4) || result == "signal" || result == "core-dump" || result == "timeout") {
					t.Errorf("exit code %d, result %q, running %q: taken for a switch that ended well", code, result, current)
				}
			}
		}
	}
}
