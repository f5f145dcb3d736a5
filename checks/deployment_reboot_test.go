//go:build checks

package checks

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/checks/guest"
	"fediversity.eu/slipway/targets/report"
)

// with adds an option to trivial.
func with(option string) string {
	return strings.Replace(trivial, "  system.stateVersion", "  "+option+"\n  system.stateVersion", 1)
}

func TestDeploymentReboot(t *testing.T) {
	for _, kind := range []guest.Kind{guest.Container, guest.VM} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			g := w.boot(kind)
			bootID := func() string { return w.on(g, "cat /proc/sys/kernel/random/boot_id") }
			apply := func(t *testing.T, text string, changes map[string]string) outcome {
				t.Helper()
				w := w.as(t)
				w.write("operator/web.nix", text)
				return w.slipway(changes, "operator-ssh-web-apply")
			}
			if kind == guest.Container {
				w.env["SSH_CONNECT_TIMEOUT"] = "20s" // it is up long before
			}
			ifNeeded := map[string]string{"SSH_REBOOT": "if-needed"}
			first := apply(t, trivial, map[string]string{"SSH_REBOOT": "always"})
			assert.Equal(t, first.code, report.Healthy)
			assert.Equal(t, w.on(g, "readlink -f /run/booted-system"), first.record.Toplevel)

			t.Run("nothing is rebooted that needs it not", func(t *testing.T) {
				before := bootID()
				assert.Equal(t, apply(t, strings.ReplaceAll(trivial, "first", "second"), ifNeeded).code, report.Healthy)
				assert.Equal(t, bootID(), before)
				assert.Equal(t, apply(t, trivial, nil).code, report.Healthy)
			})

			t.Run("a new initial system needs a reboot, and says so until it had one", func(t *testing.T) {
				before := bootID()
				changed := with(`boot.initrd.kernelModules = [ "one" ];`)
				plan := func() outcome {
					w := w.as(t)
					w.write("operator/web.nix", changed)
					return w.slipway(nil, "operator-ssh-web-plan")
				}()
				assert.DeepEqual(t, plan.record.Plan.Reboot, []string{"initrd"})
				o := apply(t, changed, nil)
				assert.Equal(t, o.code, report.RebootNeeded)
				assert.Assert(t, strings.Contains(o.stderr, "only a reboot brings in its new initrd"), o.stderr)
				assert.Equal(t, w.as(t).slipway(nil, "operator-ssh-web-verify").code, report.RebootNeeded)
				assert.Equal(t, apply(t, changed, nil).code, report.RebootNeeded)
				assert.Equal(t, bootID(), before)
				rebooted := apply(t, changed, ifNeeded)
				assert.Equal(t, rebooted.code, report.Healthy)
				assert.Assert(t, rebooted.record.Changed)
				assert.Assert(t, bootID() != before)
				assert.Equal(t, w.on(g, boots+"; readlink -f /run/booted-system"), strings.Repeat(o.record.Toplevel+"\n", 3)+o.record.Toplevel)
				assert.Equal(t, w.as(t).slipway(nil, "operator-ssh-web-verify").code, report.Healthy)
			})

			if kind == guest.VM {
				return // a boot takes long there, and is no other for what follows
			}

			t.Run("a system that can't be switched to is booted", func(t *testing.T) {
				for _, option := range []string{`system.initInterfaceVersion = "other";`, `system.switch.inhibitors.thing = "other";`} {
					assert.Equal(t, apply(t, with(`system.switch.inhibitors.thing = "this";`), ifNeeded).code, report.Healthy)
					before := bootID()
					o := apply(t, with(option), nil)
					if strings.Contains(option, "inhibitors") {
						assert.Equal(t, o.code, report.Refused)
						assert.Assert(t, strings.Contains(o.stderr, "SSH_REBOOT=if-needed"), o.stderr)
						assert.Assert(t, !o.record.Changed)
					} else {
						assert.Equal(t, o.code, report.RebootNeeded)
					}
					assert.Equal(t, bootID(), before)
					o = apply(t, with(option), ifNeeded)
					assert.Equal(t, o.code, report.Healthy)
					assert.Assert(t, bootID() != before)
					assert.Equal(t, w.on(g, boots), strings.Repeat(o.record.Toplevel+"\n", 2)+o.record.Toplevel)
				}
			})

			t.Run("a unit that fails at boot is found", func(t *testing.T) {
				// It runs well once, and never again.
				o := apply(t, with(`systemd.services.once = { wantedBy = [ "multi-user.target" ]; serviceConfig = { Type = "oneshot"; RemainAfterExit = true; ExecStart = "/bin/sh -c '[ ! -e /root/once ] && touch /root/once'"; }; };`),
					map[string]string{"SSH_REBOOT": "always"})
				assert.Equal(t, o.code, report.Unhealthy)
				assert.Assert(t, strings.Contains(o.stderr, "once.service"), o.stderr)
			})

			t.Run("a process that dies a moment after boot is found", func(t *testing.T) {
				o := apply(t, with(`systemd.services.late = { wantedBy = [ "multi-user.target" ]; serviceConfig.ExecStart = "/bin/sh -c '[ -e /root/late ] && sleep 1.5 && exit 1; touch /root/late; exec sleep 1000000'"; };`),
					map[string]string{"SSH_REBOOT": "always"})
				assert.Equal(t, o.code, report.Unhealthy)
				compare(t, o, one("late.service", failed))
			})

			t.Run("a unit that fails at every boot is old after one more", func(t *testing.T) {
				worn := with(`systemd.services.worn = { wantedBy = [ "multi-user.target" ]; serviceConfig = { Type = "oneshot"; ExecStart = "/bin/false"; }; };`)
				assert.Equal(t, apply(t, worn, map[string]string{"VERDICT_TOLERATE": "worn"}).code, report.Healthy)
				o := apply(t, strings.ReplaceAll(worn, "first", "next"), map[string]string{"SSH_REBOOT": "always"})
				assert.Equal(t, o.code, report.Healthy)
				compare(t, o, one("worn.service", "old: failed"))
			})

			t.Run("a machine that crashes in an unproved system boots the one before", func(t *testing.T) {
				assert.Equal(t, apply(t, trivial, ifNeeded).code, report.Healthy)
				o := apply(t, strings.ReplaceAll(trivial, "sleep 1000000", "sh -c 'exit 7'"), nil)
				assert.Equal(t, o.code, report.Unhealthy)
				before := bootID()
				// A witness that is cut off by it must not do it again.
				w.on(g, "[ $(cat /proc/sys/kernel/random/boot_id) != "+before+" ] || systemd-run --quiet --on-active=1 --timer-property=AccuracySec=10ms systemctl reboot --force --force")
				w.cameUp(g, before)
				assert.Equal(t, w.on(g, boots), strings.Repeat(first.record.Toplevel+"\n", 2)+first.record.Toplevel)
				assert.Equal(t, w.as(t).slipway(nil, "operator-ssh-web-verify").code, report.Healthy)
			})

			t.Run("a machine that does not come up in time", func(t *testing.T) {
				o := apply(t, strings.ReplaceAll(trivial, "first", "late"), map[string]string{"SSH_REBOOT": "always", "SSH_REBOOT_TIMEOUT": "10ms"})
				assert.Equal(t, o.code, report.Unknown)
				assert.Assert(t, strings.Contains(o.stderr, "SSH_REBOOT_TIMEOUT"), o.stderr)
			})
		})
	}
}
