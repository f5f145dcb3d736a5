//go:build checks

package checks

import (
	"strings"
	"sync"
	"testing"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/checks/guest"
	"fediversity.eu/slipway/targets/report"
)

// brokenBefore gives a machine a unit that fails whenever its target starts, and
// mended takes it away.
const (
	brokenBefore = `mkdir -p /run/systemd/system/multi-user.target.wants
printf '[Service]\nType=oneshot\nExecStart=/bin/false\n' >/run/systemd/system/old.service
ln -s ../old.service /run/systemd/system/multi-user.target.wants/old.service
systemctl daemon-reload; systemctl start old.service || :`
	mended = `rm /run/systemd/system/old.service /run/systemd/system/multi-user.target.wants/old.service
systemctl daemon-reload; systemctl reset-failed`
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
			name: "a unit fails that was broken before", more: `environment.etc.changed.text = "x";`,
			before: brokenBefore, after: mended, code: report.Healthy, says: "old.service: failed",
			left: func(toplevel string) string { return toplevel + "\n" + toplevel },
		},
		{
			name: "the activation script fails beside a unit that was broken before", more: `system.activationScripts.bad = "echo no good >&2; false";`,
			before: brokenBefore, after: mended, code: report.Failed, says: "the activation script failed, and units did too",
			left: func(toplevel string) string { return toplevel + "\n" + deployed.record.Toplevel },
		},
		{
			name: "a switch before left a unit to be reloaded that is gone", more: `environment.etc.changed.text = "y";`,
			before: "mkdir -p /run/nixos; echo gone.mount >/run/nixos/reload-list",
			code:   report.Healthy, says: "left gone.mount to be reloaded",
			left: func(toplevel string) string { return toplevel + "\n" + toplevel },
		},
		{
			name: "nobody knows who is logged in", more: service("changes", `ExecStart = "/bin/sleep 1000000";`),
			before: "systemctl mask --quiet --runtime systemd-logind; systemctl stop systemd-logind", after: "systemctl unmask --quiet --runtime systemd-logind",
			code: report.Failed, says: "the switch program died half-way (exit code ",
			left: func(toplevel string) string { return toplevel + "\n" + deployed.record.Toplevel },
		},
		{
			name: "nobody knows who is logged in, at first", more: service("changes", `ExecStart = "/bin/sleep 1000001";`) + `
				system.activationScripts.late = "if [ -e /run/once ]; then systemctl unmask --quiet --runtime systemd-logind; else touch /run/once; fi";`,
			before: "systemctl mask --quiet --runtime systemd-logind; systemctl stop systemd-logind", after: "systemctl unmask --quiet --runtime systemd-logind",
			code: report.Healthy, says: "; once more",
			left: func(toplevel string) string { return toplevel + "\n" + toplevel },
		},
		{
			name: "a unit fails", more: `systemd.services.broken = { wantedBy = [ "multi-user.target" ]; serviceConfig.ExecStart = "/bin/false"; };`,
			code: report.Unhealthy, says: "broken.service: failed",
			left: func(toplevel string) string { return toplevel + "\n" + deployed.record.Toplevel },
		},
		{
			name: "a user's activation fails", more: `environment.etc.changed.text = "u";`,
			before: "useradd --create-home ann; loginctl enable-linger ann; u=/run/user/$(id -u ann); until [ -S $u/bus ]; do sleep 0.1; done; rm -rf $u/nixos; touch $u/nixos",
			after:  "rm -f /run/user/$(id -u ann)/nixos; loginctl disable-linger ann; while loginctl list-users | grep -q ' ann'; do sleep 0.1; done; userdel --remove ann",
			code:   report.Unhealthy, says: "the activation of user ann failed (exit code 4)",
			left: func(toplevel string) string { return toplevel + "\n" + deployed.record.Toplevel },
		},
		{
			name: "a check refuses the boot loader", more: `system.preSwitchChecks.no = "[ $2 != boot ] || { echo not on a sunday >&2; exit 1; }";`,
			code: report.Failed, says: "its pre-switch check no refuses (exit code 1)",
			left: func(toplevel string) string { return toplevel + "\n" + deployed.record.Toplevel },
		},
		{
			name: "the boot loader fails", more: `boot.loader.external = { enable = true; installHook = pkgs.writeShellScript "full" "exit 1"; };`,
			code: report.Failed, says: "the boot loader can't be installed (exit code 1)",
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
			undo := sync.OnceFunc(func() { w.on(g, c.after+"\n:") })
			defer undo()
			w.write("operator/web.nix", strings.Replace(trivial, "  system.stateVersion", "  "+c.more+"\n  system.stateVersion", 1))
			o := w.slipway(map[string]string{"VERDICT_TIMEOUT": "10s"}, "operator-ssh-web-apply")
			assert.Equal(t, o.code, c.code)
			assert.Assert(t, strings.Contains(o.stderr, c.says), "%q is not in what the run said", c.says)
			assert.Equal(t, state(), c.left(o.record.Toplevel))
			if state() == before {
				assert.Assert(t, !o.record.Changed)
				assert.Equal(t, w.slipway(nil, "operator-ssh-web-verify").code, report.Healthy)
			}
			undo()
			w.write("operator/web.nix", trivial)
			assert.Equal(t, w.slipway(nil, "operator-ssh-web-apply").code, report.Healthy)
			assert.Equal(t, state(), before)
		})
	}
}
