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

var (
	refusal = said("Pre-switch check 'no' failed", "Pre-switch checks failed")
	locked  = said("Could not acquire lock")
	begun   = said("stopping the following units: web.service")
)

func said(lines ...string) Said {
	var s Said
	for _, line := range lines {
		s.hear(line)
	}
	return s
}

func TestWhatASwitchSays(t *testing.T) {
	for _, c := range []struct {
		name  string
		lines []string
		want  Said
	}{
		{"nothing", nil, Said{}},
		{"that it is refused", []string{"Pre-switch checks failed"}, Said{Something: true, Refused: true}},
		{"by what it is refused", []string{"Pre-switch check 'switchInhibitors' failed", "Pre-switch checks failed"}, Said{Something: true, Refused: true, Checks: []string{"switchInhibitors"}}},
		{"that the boot loader is not there", []string{"Failed to install bootloader"}, Said{Something: true, BootLoader: true}},
		{"that it stops swap", []string{"stopping swap device: /dev/vdb"}, Said{Something: true, Began: true}},
		{
			"which units failed, whose names have colons",
			[]string{"Failed to start dev-disk-by\\x2dpath-pci\\x2d0000:00:1f.2.swap", "Failed to start a:b.service: Unit a:b.service not found."},
			Said{Something: true, Units: []string{"dev-disk-by\\x2dpath-pci\\x2d0000:00:1f.2.swap", "a:b.service"}},
		},
		{"that another is under way", []string{"Could not acquire lock at /nix/store/x line 107."}, Said{Something: true, Locked: true}},
		{"which units failed", []string{
			"activating the configuration...", "Failed to start a.service", "Failed to reload srv.mount: no such unit", "Job for b.service failed because it did.",
			"A dependency job for c@1.service failed. See 'journalctl -xe' for details.",
			"warning: the following units failed: a.service, d.timer", "Failed to stop swapping to /dev/vda: busy",
		}, Said{Something: true, Began: true, Units: []string{"a.service", "srv.mount", "b.service", "c@1.service", "d.timer"}}},
		{"that the activation failed", []string{"Failed to run activate script"}, Said{Something: true, Activation: true}},
		{"which part of the activation failed", []string{"Activation script snippet 'users' failed (1)"}, Said{Something: true, Activation: true}},
		{"that a user's activation failed", []string{"warning: user activation for ann failed"}, Said{Something: true, Users: []string{"ann"}}},
		{"which of a user's units failed, as part of the activation", []string{
			"reloading user units for ann...", "stopping the following user units: web.service", "starting the following user units: web.service",
			"Failed to start user unit web.service", "Failed to restart user unit a.service: no such unit", "Failed to restart nixos-activation.service: no such unit",
			"warning: the following user units failed: web.service", "See `systemctl --user status web.service` for details.",
			"warning: user activation for ann failed", "reloading user units for ben...",
		}, Said{Something: true, Began: true, Users: []string{"ann"}}},
		{"that it does it once more, and then well", []string{
			"activating the configuration...", "Failed to run activate script", "Failed to start a.service",
			"slipway: the switch program died half-way (exit code 1); once more", "activating the configuration...",
		}, Said{Something: true, Began: true}},
	} {
		t.Run(c.name, func(t *testing.T) { assert.DeepEqual(t, said(c.lines...), c.want) })
	}
}

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
		{"refused", Switched{Code: 1, Result: "exit-code", Current: oldSystem, Said: refusal}, report.Refused, "the old system runs on", true},
		{"refused, of a system that runs already", Switched{Code: 1, Result: "exit-code", Current: newSystem, Said: refusal}, report.Refused, "nothing was changed", true},
		{"refused, as one whose output is lost", Switched{Code: 1, Result: "exit-code", Current: oldSystem}, report.Refused, "the old system runs on", true},
		{"refused by a number that means another thing", Switched{Code: 2, Result: "exit-code", Current: oldSystem, Said: refusal}, report.Refused, "refused (exit code 2)", true},
		{"without a bus while it stopped units", Switched{Code: 1, Result: "exit-code", Current: oldSystem, Said: begun}, report.Failed, "failed half-way (exit code 1)", false},
		{"without a bus while it stopped units, as one whose output is lost", Switched{Code: 1, Result: "exit-code", Current: oldSystem, Half: true}, report.Failed, "died half-way (exit code 1)", false},
		{"failed half-way", Switched{Code: 1, Result: "exit-code", Current: newSystem}, report.Failed, "failed half-way (exit code 1)", false},
		{"with a failed activation script", Switched{Code: 2, Result: "exit-code", Current: newSystem}, report.Failed, "the activation script failed", false},
		{"with a failed activation script, before the link moved", Switched{Code: 2, Result: "exit-code", Current: oldSystem}, report.Failed, "the activation script failed", false},
		{"with another under way", Switched{Code: 11, Result: "exit-code", Current: oldSystem, Said: locked}, report.Busy, "another switch is under way", true},
		{"with another under way, of a system that runs already", Switched{Code: 11, Result: "exit-code", Current: newSystem, Said: locked}, report.Busy, "another switch is under way", true},
		{"without an answer about who is logged in", Switched{Code: 11, Result: "exit-code", Current: newSystem, Said: begun, Half: true}, report.Failed, "died half-way (exit code 11)", false},
		{"with a number of a lock that it had", Switched{Code: 11, Result: "exit-code", Current: newSystem, Said: begun}, report.Failed, "exit code 11", false},
		{"with a number of a lock, whose output is lost", Switched{Code: 11, Result: "exit-code", Current: oldSystem}, report.Failed, "exit code 11", false},
		{"with the number of failed units, half-way", Switched{Code: 4, Result: "exit-code", Current: newSystem, Said: begun, Half: true}, report.Failed, "died half-way (exit code 4)", false},
		{"with the number of a reboot, half-way", Switched{Code: 100, Result: "exit-code", Current: newSystem, Said: begun}, report.Failed, "exit code 100", false},
		{"with a failed activation that failed units hide", Switched{Code: 4, Result: "exit-code", Current: newSystem, Said: Said{Something: true, Began: true, Activation: true}}, report.Failed, "the activation script failed, and units did too (exit code 4)", false},
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
