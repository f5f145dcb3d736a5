//go:build checks

package checks

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/checks/guest"
	"fediversity.eu/slipway/targets/report"
)

// TestDeploymentSwitchCodes brings each way about in which a switch ends, and
// looks at what the run makes of it and at what is left on the machine.
func TestDeploymentSwitchCodes(t *testing.T) {
	t.Parallel() // most of it is waiting
	w := newWorld(t)
	g := w.boot(guest.Container)
	deployed := w.slipway(nil, "operator-ssh-web-apply")
	assert.Equal(t, deployed.code, report.Healthy)
	state := func() string {
		return w.on(g, "readlink -f /run/current-system; readlink -f /nix/var/nix/profiles/system")
	}
	before := deployed.record.Toplevel + "\n" + deployed.record.Toplevel
	for _, c := range []struct {
		name   string
		more   string // options
		before string // script on the machine
		after  string
		code   report.Code
		says   string
		left   func(toplevel string) string // running system and profile
	}{
		{
			name: "a check refuses", more: `system.preSwitchChecks.no = "echo not on a sunday >&2; exit 1";`,
			code: report.Refused, says: "not on a sunday", left: func(string) string { return before },
		},
		{
			name: "another switch holds the lock", more: `environment.etc.locked.text = "x";`,
			before: "mkdir -p /run/nixos; systemd-run --quiet --unit=holder flock /run/nixos/switch-to-configuration.lock sleep 1000; " +
				"until ! flock -n /run/nixos/switch-to-configuration.lock true; do sleep 0.1; done",
			after: "systemctl stop holder",
			code:  report.Busy, says: "exit code 11", left: func(string) string { return before },
		},
		{
			name: "a check refuses only when it is late", more: `system.preSwitchChecks.no = "[ $2 = check ] || { echo not on a sunday >&2; exit 1; }";`,
			code: report.Refused, says: "the old system runs on", left: func(string) string { return before },
		},
		{
			name:  "another switch takes the lock after the check",
			more:  `system.preSwitchChecks.other = "[ $2 != check ] || systemd-run --quiet --unit=holder flock /run/nixos/switch-to-configuration.lock sleep 1000";`,
			after: "systemctl stop holder",
			code:  report.Busy, says: "exit code 11", left: func(string) string { return before },
		},
		{
			name: "the activation script fails", more: `system.activationScripts.bad = "echo no good >&2; false";`,
			code: report.Failed, says: "the activation script failed (exit code 2)",
			left: func(toplevel string) string { return toplevel + "\n" + deployed.record.Toplevel },
		},
		{
			name: "a unit fails", more: `systemd.services.broken = { wantedBy = [ "multi-user.target" ]; serviceConfig.ExecStart = "/bin/false"; };`,
			code: report.Unhealthy, says: "broken.service: failed",
			left: func(toplevel string) string { return toplevel + "\n" + deployed.record.Toplevel },
		},
		{
			name: "the init interface differs", more: `system.initInterfaceVersion = "other";`,
			code: report.RebootNeeded, says: "needs a reboot",
			left: func(toplevel string) string { return deployed.record.Toplevel + "\n" + toplevel },
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := w.as(t)
			if c.before != "" {
				w.on(g, c.before)
			}
			if c.after != "" {
				defer w.on(g, c.after)
			}
			w.write("operator/web.nix", strings.Replace(trivial, "  system.stateVersion", "  "+c.more+"\n  system.stateVersion", 1))
			o := w.slipway(map[string]string{"VERDICT_TIMEOUT": "10s"}, "operator-ssh-web-apply")
			assert.Equal(t, o.code, c.code)
			assert.Assert(t, strings.Contains(o.stderr, c.says), "%q is not in what the run said", c.says)
			assert.Equal(t, state(), c.left(o.record.Toplevel))
			if state() == before {
				assert.Assert(t, !o.record.Changed)
				assert.Equal(t, w.slipway(nil, "operator-ssh-web-verify").code, report.Healthy)
			}
			w.write("operator/web.nix", trivial)
			assert.Equal(t, w.slipway(nil, "operator-ssh-web-apply").code, report.Healthy)
			assert.Equal(t, state(), before)
		})
	}
}
