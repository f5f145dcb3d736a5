//go:build checks

package checks

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/poll"

	"fediversity.eu/slipway/checks/guest"
	"fediversity.eu/slipway/checks/guest/debian"
	"fediversity.eu/slipway/targets/report"
)

// stays is the command of a service that is up all the time.
const stays = "ExecStart=/bin/sleep 1000000\n"

// ordinary are units as healthy machines have them: text by name, and what wants
// each. Many look as if they were not well at the moment of a look.
var ordinary = []struct{ name, by, text string }{
	{"o-simple.service", "multi-user.target", "[Service]\n" + stays},
	{"o-exec.service", "multi-user.target", "[Service]\nType=exec\n" + stays},
	{"o-idle.service", "multi-user.target", "[Service]\nType=idle\n" + stays},
	{"o-notify.service", "multi-user.target", "[Service]\nType=notify\nNotifyAccess=all\nExecStart=/bin/sh -c 'systemd-notify --ready; exec sleep 1000000'\n"},
	{"o-watchdog.service", "multi-user.target", "[Service]\nType=notify\nNotifyAccess=all\nWatchdogSec=5\nExecStart=/bin/sh -c 'systemd-notify --ready; while sleep 1; do systemd-notify WATCHDOG=1; done'\n"},
	{"o-forking.service", "multi-user.target", "[Service]\nType=forking\nPIDFile=/run/o-forking.pid\nExecStart=/bin/sh -c 'sleep 1000000 & echo $! >/run/o-forking.pid'\n"},
	{"o-dbus.service", "multi-user.target", "[Service]\nType=dbus\nBusName=org.example.ordinary\nExecStart=/bin/sh -c 'exec busctl --system monitor org.example.none'\nExecCondition=/bin/false\n"},
	{"o-restart.service", "multi-user.target", "[Service]\nRestart=always\nRestartSec=1\n" + stays},
	{"o-oneshot.service", "multi-user.target", "[Service]\nType=oneshot\nExecStart=/bin/true\n"},
	{"o-several.service", "multi-user.target", "[Service]\nType=oneshot\nExecStart=/bin/true\nExecStart=-/bin/false\nExecStart=/bin/true\n"},
	{"o-remains.service", "multi-user.target", "[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/bin/true\n"},
	{"o-nothing.service", "multi-user.target", "[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStop=/bin/true\n"},
	{"o-condition.service", "multi-user.target", "[Unit]\nConditionPathExists=/nonexistent\n[Service]\n" + stays},
	{"o-virtual.service", "multi-user.target", "[Unit]\nConditionVirtualization=!container\n[Service]\n" + stays},
	{"o-condition-of-it.service", "multi-user.target", "[Service]\nExecCondition=/bin/false\n" + stays},
	{"o-condition.timer", "timers.target", "[Unit]\nConditionPathExists=/nonexistent\n[Timer]\nOnCalendar=daily\n"},
	{"o-condition.path", "paths.target", "[Unit]\nConditionPathExists=/nonexistent\n[Path]\nPathExists=/nonexistent\n"},
	{"o-part.service", "multi-user.target", "[Unit]\nPartOf=o-simple.service\nAfter=o-simple.service\n[Service]\n" + stays},
	{"o-bound.service", "multi-user.target", "[Unit]\nBindsTo=o-simple.service\nAfter=o-simple.service\n[Service]\n" + stays},
	{"o-requires.service", "multi-user.target", "[Unit]\nRequires=o-oneshot.service o-remains.service\nAfter=o-oneshot.service o-remains.service\n[Service]\n" + stays},
	{"o-upholds.service", "multi-user.target", "[Unit]\nUpholds=o-upheld.service\n[Service]\n" + stays},
	{"o-upheld.service", "", "[Service]\n" + stays},
	{"o-wants-none.service", "multi-user.target", "[Unit]\nWants=o-none.service o-masked.service\nAfter=o-none.service\n[Service]\n" + stays},
	{"o-unneeded.service", "", "[Unit]\nStopWhenUnneeded=yes\n[Service]\n" + stays},
	{"o-needs-once.service", "multi-user.target", "[Unit]\nRequires=o-unneeded.service\nAfter=o-unneeded.service\n[Service]\nType=oneshot\nExecStart=/bin/true\n"},
	{"o-many@.service", "", "[Service]\nExecStart=/bin/sleep 1000%i\n"},
	{"o-alone.service", "", "[Service]\n" + stays},
	{"o-rival.service", "", "[Unit]\nConflicts=o-simple.service\n[Service]\n" + stays},
	{"o-socket.socket", "sockets.target", "[Socket]\nListenStream=/run/o-socket\n"},
	{"o-socket.service", "", "[Service]\n" + stays},
	{"o-both.socket", "sockets.target", "[Socket]\nListenStream=/run/o-both\n"},
	{"o-both.service", "multi-user.target", "[Unit]\nRequires=o-both.socket\n[Service]\n" + stays},
	{"o-accept.socket", "sockets.target", "[Socket]\nListenStream=/run/o-accept\nAccept=yes\n"},
	{"o-accept@.service", "", "[Service]\nStandardInput=socket\nExecStart=-/bin/cat\n"},
	{"o-fifo.socket", "sockets.target", "[Socket]\nListenFIFO=/run/o-fifo\nService=o-alone.service\n"},
	{"o-often.timer", "timers.target", "[Timer]\nOnActiveSec=1\nOnUnitActiveSec=3\nAccuracySec=100ms\n"},
	{"o-often.service", "", "[Service]\nType=oneshot\nExecStart=/bin/sleep 0.3\n"},
	{"o-daily.timer", "timers.target", "[Timer]\nOnCalendar=daily\nPersistent=yes\n"},
	{"o-daily.service", "", "[Service]\nType=oneshot\nExecStart=/bin/true\n"},
	{"o-boot.timer", "timers.target", "[Timer]\nOnBootSec=1us\n"},
	{"o-boot.service", "", "[Service]\nType=oneshot\nExecStart=/bin/true\n"},
	{"o-later.timer", "timers.target", "[Timer]\nOnBootSec=15min\nOnUnitActiveSec=1d\n"},
	{"o-later.service", "", "[Service]\nType=oneshot\nExecStart=/bin/true\n"},
	{"o-once.timer", "timers.target", "[Timer]\nOnActiveSec=1us\nRemainAfterElapse=no\n"},
	{"o-once.service", "", "[Service]\nType=oneshot\nExecStart=/bin/true\n"},
	{"o-watched.path", "paths.target", "[Path]\nPathExists=/run/o-watched\n"},
	{"o-watched.service", "", "[Service]\nType=oneshot\nExecStart=/bin/rm -f /run/o-watched\n"},
	{"run-o\\x2dmount.mount", "multi-user.target", "[Mount]\nWhat=tmpfs\nWhere=/run/o-mount\nType=tmpfs\n"},
	{"o-ordinary.target", "multi-user.target", "[Unit]\nWants=o-of-target.service o-many@1.service o-many@2.service\nAfter=o-of-target.service\n"},
	{"o-of-target.service", "", "[Service]\n" + stays},
	{"o-passive.target", "", "[Unit]\nRefuseManualStart=yes\n"},
	{"o-swap.target", "", "[Unit]\nStopWhenUnneeded=yes\n"},
}

// ordinaryMachine is a module with all of them; a round makes it another one, in
// which some services are changed.
func ordinaryMachine(round int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "{ pkgs, ... }: {\n  environment.etc.round.text = \"%d\";\n", round)
	for _, u := range ordinary {
		by, text := "", u.text
		if u.by != "" {
			by = fmt.Sprintf("wantedBy = [ %q ]; ", u.by)
		}
		if strings.Contains(u.name, "simple") || strings.Contains(u.name, "socket") || strings.Contains(u.name, "remains") {
			text += fmt.Sprintf("# %d\n", round)
			text = strings.ReplaceAll(text, "1000000", fmt.Sprint(1000000+round))
		}
		fmt.Fprintf(&b, "  systemd.units.%q = { %stext = \"%s\"; };\n", u.name, by, nixString(text))
	}
	b.WriteString("  systemd.units.\"o-masked.service\" = { enable = false; text = \"\"; };\n}\n")
	return b.String()
}

// nixString is what a text is between the quotes of a string of Nix.
func nixString(text string) string {
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`, "$", `\$`, "\n", `\n`).Replace(text)
}

// TestVerdictHealthyMachines looks at machines that are well, with all kinds of
// units: booted, switched, with services restarted by hand, and booted again.
// Whatever a verdict finds there is wrong.
func TestVerdictHealthyMachines(t *testing.T) {
	for _, way := range []struct {
		name string
		boot func(*world) *guest.Guest
	}{
		{"systemd 257", func(w *world) *guest.Guest { return w.boot(guest.Container) }},
		{"systemd 252", func(w *world) *guest.Guest { return w.bootSuite(debian.Bookworm) }},
	} {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			g := way.boot(w)
			w.write("operator/web.nix", strings.Replace(trivial, "  system.stateVersion", "  imports = [ ./ordinary.nix ];\n  system.stateVersion", 1))
			is := func(what, program string) {
				t.Helper()
				o := w.slipway(nil, program)
				for _, u := range o.record.Units {
					assert.Check(t, false, "%s: %s: %s: %s (%s)", what, u.Name, u.Class, u.Fault, u.Why)
				}
				assert.Assert(t, o.code == report.Healthy, "%s: exit %d", what, o.code)
			}
			w.write("operator/ordinary.nix", ordinaryMachine(1))
			is("made", "operator-ssh-web-apply")
			is("looked at", "operator-ssh-web-verify")
			w.write("operator/ordinary.nix", ordinaryMachine(2))
			is("changed", "operator-ssh-web-apply")
			is("unchanged", "operator-ssh-web-apply")
			w.on(g, "systemctl restart o-simple o-notify o-restart; systemctl try-restart o-socket; touch /run/o-watched; systemctl daemon-reload; systemctl daemon-reexec; true")
			is("restarted by hand", "operator-ssh-web-verify")
			boot := w.on(g, "cat /proc/sys/kernel/random/boot_id")
			w.tryOn(g, "systemctl reboot")
			poll.WaitOn(t, func(poll.LogT) poll.Result {
				if w.tryOn(g, "[ $(cat /proc/sys/kernel/random/boot_id) != "+boot+" ]") {
					return poll.Success()
				}
				return poll.Continue("it has not come up again")
			}, poll.WithTimeout(3*time.Minute), poll.WithDelay(500*time.Millisecond))
			is("booted again", "operator-ssh-web-verify")
			w.write("operator/ordinary.nix", ordinaryMachine(3))
			is("changed after a boot", "operator-ssh-web-apply")
			is("looked at once more", "operator-ssh-web-verify")
		})
	}
}
