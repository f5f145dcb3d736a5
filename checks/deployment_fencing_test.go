//go:build checks

package checks

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/poll"

	"fediversity.eu/slipway/checks/guest"
	"fediversity.eu/slipway/targets/report"
)

// settling is trivial with a service whose start, and so the verdict, takes until
// somebody lets it go on.
const settling = `{ pkgs, ... }:
{
  imports = [ ./trivial.nix ];
  systemd.services.settling = { serviceConfig = { Type = "oneshot"; ExecStart = "/bin/sh -c 'n=0; while [ ! -e /run/settle ] && [ $n -lt 3000 ]; do n=$((n+1)); sleep 0.1; done; rm -f /run/settle'"; }; };
  systemd.services.starter = { wantedBy = [ "multi-user.target" ]; serviceConfig = { Type = "oneshot"; ExecStart = "/usr/bin/systemctl start --no-block settling.service"; }; };
  environment.etc.round.text = "ROUND\n";
}
`

// nothingLeft prints what runs leave on a machine while they are at work.
const nothingLeft = "systemctl list-units --all --plain --no-legend 'slipway-*'; ls /nix/var/nix/gcroots | grep slipway-; cat /run/slipway/switching 2>/dev/null; :"

func TestDeploymentFencing(t *testing.T) {
	t.Parallel()
	for name, show := range map[string]func(*world, *guest.Guest){
		"a run that stood still changes nothing any more":               (*world).stoodStill,
		"a machine whose systemd is replaced meanwhile is no worse":     (*world).replaced,
		"a machine that reboots before it is proved is told as such":    (*world).rebootedMeanwhile,
		"a guard whose folder is taken away brings the machine back":    (*world).folderGone,
		"a switch that cuts its connection and lets in late is no loss": (*world).slowLogin,
		"nor is a connection that is cut while a system is judged":      (*world).cutWhileJudged,
		"the way back leads to what was proved":                         (*world).unprovedTwice,
		"a way back whose activation fails is none":                     (*world).backHalfWay,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			g := w.boot(guest.Container)
			w.write("operator/trivial.nix", trivial)
			assert.Equal(t, w.slipway(nil, "operator-ssh-web-apply").code, report.Healthy)
			show(w, g)
		})
	}
}

// stoodStill suspends a run for longer than its lock lasts, and wakes it while
// another is at work.
func (w *world) stoodStill(g *guest.Guest) {
	w.t.Helper()
	w.write("operator/web.nix", strings.ReplaceAll(slow, "ROUND", "first"))
	first := w.start(nil, "operator-ssh-web-apply")
	first.await("activating the configuration")
	first.signal(syscall.SIGSTOP)
	w.on(g, "touch /run/go-on")
	w.unlocked(g)
	w.write("operator/web.nix", strings.ReplaceAll(slow, "ROUND", "second"))
	second := w.start(nil, "operator-ssh-web-apply")
	second.await("an earlier run left")
	second.await("switch: to ")
	w.comes(g, "test -s /run/slipway/slipway-switch-*/guard && systemctl is-active 'slipway-switch-*'")
	first.signal(syscall.SIGCONT)
	o := first.wait()
	assert.Equal(w.t, o.code, report.Unknown)
	assert.Assert(w.t, strings.Contains(o.stderr, "another run has locked the machine since"), o.stderr)
	assert.Assert(w.t, w.tryOn(g, "test -s /run/slipway/slipway-switch-*/guard"), "the other run's way back is gone")
	w.on(g, "touch /run/go-on")
	assert.Equal(w.t, second.wait().code, report.Healthy)
	assert.Equal(w.t, w.on(g, "cat /etc/round"), "second")
	current := w.on(g, "readlink -f /run/current-system")
	assert.Equal(w.t, w.on(g, boots), strings.Repeat(current+"\n", 2)+current)
	assert.Equal(w.t, w.on(g, nothingLeft), "")
}

// unprovedTwice kills a run as soon as its system is in place, and lets the next
// one fail: both systems are ill.
func (w *world) unprovedTwice(g *guest.Guest) {
	w.t.Helper()
	before := w.on(g, boots)
	ill := strings.ReplaceAll(trivial, "sleep 1000000", "sh -c 'exit 7'")
	unhealthy := map[string]string{"ROLLBACK_ON": "unhealthy"}
	w.write("operator/web.nix", ill)
	first := w.start(unhealthy, "operator-ssh-web-apply")
	first.await("logging in anew")
	first.kill()
	w.unlocked(g)
	w.write("operator/web.nix", strings.ReplaceAll(ill, "first", "second"))
	assert.Equal(w.t, w.slipway(unhealthy, "operator-ssh-web-apply").code, report.Unhealthy)
	assert.Equal(w.t, w.on(g, boots), before)
	assert.Equal(w.t, w.on(g, nothingLeft), "")
}

// backHalfWay lets the activation of the system fail that the machine goes back to.
func (w *world) backHalfWay(g *guest.Guest) {
	w.t.Helper()
	w.write("operator/web.nix", theKey.Replace(with(`system.activationScripts.way-in = "REGAIN; [ ! -e /run/fail ]";`)))
	assert.Equal(w.t, w.slipway(nil, "operator-ssh-web-apply").code, report.Healthy)
	w.write("operator/web.nix", theKey.Replace(with(`system.activationScripts.way-in = "touch /run/fail; LOSE";`)))
	o := w.slipway(goingBack, "operator-ssh-web-apply")
	assert.Equal(w.t, o.code, report.Failed)
	assert.Assert(w.t, strings.Contains(o.stderr, "the switch back did not end well"), o.stderr)
	assert.Assert(w.t, !strings.Contains(o.stderr, "is healthy"), o.stderr)
	assert.Equal(w.t, w.slipway(nil, "operator-ssh-web-verify").code, report.Unhealthy)
	w.on(g, "rm /run/fail")
	assert.Equal(w.t, w.slipway(nil, "operator-ssh-web-rollback").code, report.Healthy)
}

// replaced replaces systemd by itself while a system is judged.
func (w *world) replaced(g *guest.Guest) {
	w.t.Helper()
	w.write("operator/web.nix", strings.ReplaceAll(settling, "ROUND", "replaced"))
	run := w.start(nil, "operator-ssh-web-apply")
	run.await("settling.service")
	for range 5 {
		w.on(g, "systemctl daemon-reexec")
	}
	w.on(g, "touch /run/settle")
	assert.Equal(w.t, run.wait().code, report.Healthy)
	current := w.on(g, "readlink -f /run/current-system")
	assert.Equal(w.t, w.on(g, boots), strings.Repeat(current+"\n", 2)+current)
}

// rebootedMeanwhile takes the power while a system is judged.
func (w *world) rebootedMeanwhile(g *guest.Guest) {
	w.t.Helper()
	before := w.on(g, boots)
	w.write("operator/web.nix", strings.ReplaceAll(settling, "ROUND", "power"))
	run := w.start(map[string]string{"SSH_KEEPALIVE": "5s"}, "operator-ssh-web-apply")
	run.await("settling.service")
	boot := w.on(g, "cat /proc/sys/kernel/random/boot_id")
	// A witness that is cut off by it must not do it again.
	w.on(g, "[ $(cat /proc/sys/kernel/random/boot_id) != "+boot+" ] || systemd-run --quiet --on-active=1 --timer-property=AccuracySec=10ms systemctl reboot --force --force")
	o := run.wait()
	assert.Equal(w.t, o.code, report.Failed)
	assert.Assert(w.t, strings.Contains(o.stderr, "the machine rebooted before the new system was proved"), o.stderr)
	assert.Equal(w.t, w.on(g, boots), before)
	w.write("operator/web.nix", trivial)
	w.patiently(report.Healthy)
	assert.Equal(w.t, w.on(g, nothingLeft), "")
}

// comes waits until a script on the guest ends well.
func (w *world) comes(g *guest.Guest, script string) {
	w.t.Helper()
	poll.WaitOn(w.t, func(poll.LogT) poll.Result {
		if w.tryOn(g, script) {
			return poll.Success()
		}
		return poll.Continue("%s", script)
	}, poll.WithTimeout(5*time.Minute), poll.WithDelay(200*time.Millisecond))
}

// folderGone takes away what a killed run left of its switch.
func (w *world) folderGone(g *guest.Guest) {
	w.t.Helper()
	before := w.on(g, boots)
	w.write("operator/web.nix", strings.ReplaceAll(settling, "ROUND", "gone"))
	run := w.start(nil, "operator-ssh-web-apply")
	run.await("settling.service")
	run.kill()
	w.on(g, "rm -rf /run/slipway/slipway-switch-*")
	w.write("operator/web.nix", trivial)
	w.patiently(report.Healthy)
	assert.Equal(w.t, w.on(g, boots), before)
	assert.Equal(w.t, w.on(g, nothingLeft), "")
}

// late lets the machine's new logins take their time.
func (w *world) late(g *guest.Guest) {
	w.t.Helper()
	w.on(g, `printf '#!/bin/sh\nsleep 6; cat /root/.ssh/authorized_keys\n' >/usr/bin/late; chmod 755 /usr/bin/late
printf 'AuthorizedKeysCommand /usr/bin/late\nAuthorizedKeysCommandUser root\nAuthorizedKeysFile none\n' >/etc/ssh/sshd_config.d/late.conf; systemctl reload ssh.service`)
}

// cutOff leaves connections without an answer, and without an end.
const (
	cutOff  = "pkill -STOP -f '^sshd.*: root'"
	rejoins = "pkill -CONT -f '^sshd.*: root'; :"
)

// slowLogin lets the switch cut the connection without a word, with the timings that
// users have.
func (w *world) slowLogin(g *guest.Guest) {
	w.t.Helper()
	w.late(g)
	w.write("operator/web.nix", strings.Replace(trivial, "  system.stateVersion",
		`  system.activationScripts.cut = "`+cutOff+`";`+"\n  system.stateVersion", 1))
	o := w.slipway(nil, "operator-ssh-web-apply")
	assert.Equal(w.t, o.code, report.Healthy)
	assert.Assert(w.t, strings.Contains(o.stderr, "connected again"), o.stderr)
	w.on(g, rejoins)
}

// cutWhileJudged does so after the new login.
func (w *world) cutWhileJudged(g *guest.Guest) {
	w.t.Helper()
	w.late(g)
	w.write("operator/web.nix", strings.ReplaceAll(settling, "ROUND", "cut"))
	run := w.start(nil, "operator-ssh-web-apply")
	run.await("settling.service")
	// When the witness's own connection has ended.
	w.on(g, "systemd-run --quiet --on-active=2 --timer-property=AccuracySec=10ms /bin/sh -c \""+cutOff+"; touch /run/settle\"")
	assert.Equal(w.t, run.wait().code, report.Healthy)
	assert.Equal(w.t, w.on(g, "cat /etc/round"), "cut")
	w.on(g, rejoins)
}
