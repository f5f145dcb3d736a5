//go:build checks

package checks

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	xssh "golang.org/x/crypto/ssh"
	"gotest.tools/v3/assert"
	"gotest.tools/v3/poll"

	"fediversity.eu/slipway/checks/guest"
	"fediversity.eu/slipway/methods/nixos"
	"fediversity.eu/slipway/methods/remote"
	"fediversity.eu/slipway/targets/report"
)

// breaking is trivial with what takes the way in away, at one of three moments:
// while the system is activated, when its units start, and some time after the
// switch. The system before has what gives it back, as every NixOS has that
// configures its network and its ssh server.
const breaking = `{ pkgs, ... }:
let
  lose = "LOSE";
  regain = "REGAIN";
  moment = "MOMENT";
in
{
  imports = [ ./trivial.nix ];
  system.activationScripts.way-in = if moment == "activation" then lose else regain;
  systemd.services = if moment == "units" then { way-in = {
    wantedBy = [ "multi-user.target" ];
    serviceConfig = { Type = "oneshot"; RemainAfterExit = true; ExecStart = "/bin/sh -c '${lose}'"; ExecStop = "/bin/sh -c '${regain}'"; };
  }; } else if moment == "afterwards" then {
    # The switch does not wait for it, and the verdict does.
    way-in.serviceConfig = { Type = "oneshot"; RemainAfterExit = true; ExecStart = "/bin/sh -c 'sleep 1; ${lose}'"; ExecStopPost = "/bin/sh -c '${regain}'"; };
    starter = { wantedBy = [ "multi-user.target" ]; serviceConfig = { Type = "oneshot"; ExecStart = "/usr/bin/systemctl start --no-block way-in.service"; }; };
  } else { };
}
`

// theKey takes the login's key away: the connection that is there lives on, and
// the run gets to its new login.
var theKey = strings.NewReplacer("LOSE", "mv /root/.ssh/authorized_keys /root/.ssh/none", "REGAIN", "[ ! -e /root/.ssh/none ] || mv /root/.ssh/none /root/.ssh/authorized_keys")

// boots gives the running system, the profile, and what the machine boots.
const boots = "readlink -f /run/current-system; readlink -f /nix/var/nix/profiles/system; cat /boot/loader/default"

// goingBack is for a run that nobody lets in any more: the machine does not wait
// long for it. One that is let in might take longer.
var goingBack = map[string]string{"SSH_CONFIRM_TIMEOUT": "6s"}

// deployed boots a container with a system that has a way in.
func (w *world) deployed(text string) (*guest.Guest, string) {
	w.t.Helper()
	g := w.boot(guest.Container)
	w.env["SSH_KEEPALIVE"] = "5s"
	w.write("operator/trivial.nix", trivial)
	w.write("operator/web.nix", text)
	assert.Equal(w.t, w.slipway(nil, "operator-ssh-web-apply").code, report.Healthy)
	return g, w.on(g, boots)
}

func TestDeploymentConfirmWayIn(t *testing.T) {
	t.Parallel()
	for name, way := range map[string]*strings.Replacer{
		"the ssh server":  strings.NewReplacer("LOSE", "systemctl mask --quiet --runtime --now ssh.socket ssh.service", "REGAIN", "systemctl unmask --quiet --runtime ssh.socket ssh.service; systemctl --no-block start ssh.service"),
		"the network":     strings.NewReplacer("LOSE", "ip link set eth0 down", "REGAIN", "ip link set eth0 up"),
		"the login's key": theKey,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			g, before := w.deployed(way.Replace(breaking))
			for _, moment := range []string{"activation", "units", "afterwards"} {
				t.Run(moment, func(t *testing.T) {
					w := w.as(t)
					w.write("operator/web.nix", strings.ReplaceAll(way.Replace(breaking), "MOMENT", moment))
					o := w.slipway(goingBack, "operator-ssh-web-apply")
					assert.Equal(t, o.code, report.Failed)
					for _, text := range []string{"went back by itself", "showed over a new login", "went back to is healthy"} {
						assert.Assert(t, strings.Contains(o.stderr, text), "%q is not in what the run said", text)
					}
					assert.Assert(t, o.record.Reverted != nil)
					assert.Equal(t, o.record.Reverted.From, o.record.Toplevel)
					assert.Equal(t, w.on(g, boots), before)
					assert.Equal(t, w.on(g, "systemctl list-units --all --plain --no-legend 'slipway-*'; ls /run/slipway /nix/var/nix/gcroots | grep slipway-; :"), "", "nothing is left")
					w.write("operator/web.nix", way.Replace(breaking))
					again := w.slipway(nil, "operator-ssh-web-apply")
					assert.Equal(t, again.code, report.Healthy)
					assert.Assert(t, again.record.Reverted == nil, "it was told already")
				})
			}
			if name == "the ssh server" {
				t.Run("between the login and the verdict", func(t *testing.T) { w.as(t).lostWhileCollected(g, way, before) })
			}
		})
	}
}

// lostWhileCollected takes the way in away, and the connections with it, by the
// end of the switch's unit: the run ends that when it has logged in anew.
func (w *world) lostWhileCollected(g *guest.Guest, way *strings.Replacer, before string) {
	w.t.Helper()
	const dropIn = "/run/systemd/system/slipway-switch-.service.d"
	w.on(g, way.Replace("mkdir -p "+dropIn+`; printf '[Service]\nExecStop=/bin/sh -c "LOSE; pkill sshd"\n' >`+dropIn+"/lose.conf; systemctl daemon-reload"))
	w.write("operator/web.nix", strings.Replace(way.Replace(breaking), "trivial.nix ];", `trivial.nix ]; environment.etc.round.text = "collected";`, 1))
	o := w.slipway(goingBack, "operator-ssh-web-apply")
	assert.Equal(w.t, o.code, report.Failed)
	for _, text := range []string{"contact lost; logging in once more", "went back by itself", "went back to is healthy"} {
		assert.Assert(w.t, strings.Contains(o.stderr, text), "%q is not in what the run said", text)
	}
	assert.Equal(w.t, w.on(g, boots), before)
}

func TestDeploymentConfirmKilled(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	lose := theKey.Replace(breaking)
	g, before := w.deployed(lose)
	for _, c := range []struct{ name, module, at string }{
		{"as the switch starts", strings.ReplaceAll(lose, "trivial.nix ];", "trivial.nix ]; environment.etc.round.text = \"start\";"), "switch: to "},
		{"in the middle of the switch", strings.ReplaceAll(slow, "ROUND", "middle"), "activating the configuration"},
		{"before it could confirm", strings.ReplaceAll(lose, "MOMENT", "units"), "logging in anew"},
		{"as it gives an unhealthy system up", strings.ReplaceAll(trivial, "sleep 1000000", "sh -c 'exit 7'"), "not healthy; going back"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := w.as(t)
			w.write("operator/web.nix", c.module)
			run := w.start(map[string]string{"SSH_CONFIRM_TIMEOUT": "6s", "ROLLBACK_ON": "unhealthy"}, "operator-ssh-web-apply")
			run.await(c.at)
			if c.name == "as the switch starts" {
				// It may have started by now or not: the next run takes it up or does it.
				run.kill()
				w.patiently(report.Healthy)
				assert.Equal(t, w.on(g, "cat /etc/round"), "start")
			} else {
				run.kill()
				if c.name == "in the middle of the switch" {
					w.on(g, "touch /run/go-on")
				}
				poll.WaitOn(t, func(poll.LogT) poll.Result {
					if w.tryOn(g, "test -e /var/lib/slipway/reverted") {
						return poll.Success()
					}
					return poll.Continue("the machine has not gone back yet")
				}, poll.WithTimeout(5*time.Minute), poll.WithDelay(500*time.Millisecond))
				assert.Equal(t, w.on(g, boots), before)
			}
			w.write("operator/web.nix", lose)
			verify := w.slipway(nil, "operator-ssh-web-verify")
			next := w.slipway(nil, "operator-ssh-web-apply")
			assert.Equal(t, next.code, report.Healthy)
			if c.name != "as the switch starts" {
				assert.Equal(t, verify.code, report.Healthy)
				assert.Assert(t, strings.Contains(verify.stderr, "went back by itself"), verify.stderr)
				assert.Assert(t, strings.Contains(next.stderr, "went back by itself"), next.stderr)
			}
			assert.Equal(t, w.on(g, boots), before)
		})
	}
}

// TestDeploymentConfirmRace confirms just as the machine decides to go back.
// Whoever was first is right: no run may hear that it is confirmed while the
// machine goes back.
func TestDeploymentConfirmRace(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	g, before := w.deployed(trivial)
	from, _, _ := strings.Cut(before, "\n")
	w.write("operator/web.nix", strings.ReplaceAll(trivial, "first", "second"))
	to := w.slipway(nil, "operator-ssh-web-apply").record.Toplevel
	w.write("operator/web.nix", trivial)
	assert.Equal(t, w.slipway(nil, "operator-ssh-web-apply").record.Toplevel, from)

	conn := w.connect(g)
	log := report.NewLog(report.Plain(testWriter{t}))
	lease, err := nixos.Lock(t.Context(), conn, "a check")
	assert.NilError(t, err)
	defer lease.Release()
	outcomes := map[bool]int{}
	for range 8 {
		s, err := nixos.StartSwitch(t.Context(), conn, lease.Fence, to, nixos.Guard{From: from, Confirm: 2 * time.Second, Limit: 5 * time.Minute})
		assert.NilError(t, err)
		_, ended, err := nixos.Follow(t.Context(), conn, lease.Fence, s, 5*time.Minute, log)
		if err == nil {
			// The guard looks every half second, and so decides somewhere in here.
			timer := time.NewTimer(500*time.Millisecond + rand.N(2*time.Second))
			<-timer.C
			err = s.Confirm(t.Context(), conn, lease.Fence)
		}
		if err != nil {
			assert.Assert(t, errors.Is(err, nixos.ErrReverted), "%v", err)
		}
		outcomes[err == nil]++
		_, machine, waited := nixos.WaitForRevert(t.Context(), conn, 5*time.Minute)
		assert.NilError(t, waited)
		if err == nil {
			assert.Equal(t, machine.Current, to)
			assert.Assert(t, machine.Reverted == nil)
			assert.NilError(t, nixos.Collect(t.Context(), conn, lease.Fence, s, &ended))
			w.on(g, from+"/bin/switch-to-configuration test")
			continue
		}
		assert.Equal(t, machine.Current, from)
		assert.Assert(t, machine.Reverted != nil)
		assert.NilError(t, nixos.Forget(t.Context(), conn, lease.Fence))
	}
	t.Logf("confirmed %d times, went back %d times", outcomes[true], outcomes[false])
}

// connect makes a connection as the product does.
func (w *world) connect(g *guest.Guest) *remote.Conn {
	w.t.Helper()
	access := g.Access()
	text, err := os.ReadFile(access.KeyFile)
	assert.NilError(w.t, err)
	key, err := remote.ParsePrivateKey(text)
	assert.NilError(w.t, err)
	conn, err := remote.Dial(w.t.Context(), remote.Target{
		Host: access.Host, Port: access.Port, User: access.User, HostKeys: []string{access.HostKey}, Keys: []xssh.Signer{key},
	})
	assert.NilError(w.t, err)
	w.t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func TestDeploymentConfirmModes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	g, before := w.deployed(trivial)
	failing := strings.ReplaceAll(trivial, "sleep 1000000", "sh -c 'exit 7'")

	t.Run("an unhealthy system stays, but is not booted", func(t *testing.T) {
		w := w.as(t)
		w.write("operator/web.nix", failing)
		o := w.slipway(nil, "operator-ssh-web-apply")
		assert.Equal(t, o.code, report.Unhealthy)
		assert.Assert(t, strings.Contains(o.stderr, "not the default at boot"), o.stderr)
		assert.Equal(t, w.on(g, "readlink -f /run/current-system"), o.record.Toplevel)
		assert.Equal(t, strings.Replace(w.on(g, boots), o.record.Toplevel, o.record.Running, 1), before)
		verify := w.slipway(nil, "operator-ssh-web-verify")
		assert.Equal(t, verify.code, report.Unhealthy)

		// What it broke does not become an old fault by doing the same again, nor
		// by doing something else.
		assert.Equal(t, w.slipway(nil, "operator-ssh-web-apply").code, report.Unhealthy)
		w.write("operator/web.nix", strings.ReplaceAll(failing, "first", "another"))
		assert.Equal(t, w.slipway(nil, "operator-ssh-web-apply").code, report.Unhealthy)
		assert.Equal(t, strings.Split(w.on(g, boots), "\n")[1], o.record.Running)
	})

	t.Run("an unhealthy system is left for the one before", func(t *testing.T) {
		w := w.as(t)
		w.write("operator/web.nix", trivial)
		assert.Equal(t, w.slipway(nil, "operator-ssh-web-apply").code, report.Healthy)
		w.write("operator/web.nix", failing)
		o := w.slipway(map[string]string{"ROLLBACK_ON": "unhealthy"}, "operator-ssh-web-apply")
		assert.Equal(t, o.code, report.Unhealthy)
		for _, text := range []string{"trivial.service", "the machine is back at", "went back to is healthy"} {
			assert.Assert(t, strings.Contains(o.stderr, text), "%q is not in what the run said", text)
		}
		assert.Equal(t, o.record.Reverted.Why, "unhealthy")
		assert.Equal(t, w.on(g, boots), before)
		assert.Equal(t, w.slipway(nil, "operator-ssh-web-verify").code, report.Healthy)
	})

	t.Run("a switch that takes too long is ended", func(t *testing.T) {
		w := w.as(t)
		w.write("operator/web.nix", strings.ReplaceAll(slow, "ROUND", "late"))
		o := w.slipway(map[string]string{"SSH_SWITCH_TIMEOUT": "10s"}, "operator-ssh-web-apply")
		assert.Equal(t, o.code, report.Failed)
		for _, text := range []string{"the switch did not end within 10 s", "SSH_SWITCH_TIMEOUT sets the limit", "went back to is healthy"} {
			assert.Assert(t, strings.Contains(o.stderr, text), "%q is not in what the run said", text)
		}
		assert.Equal(t, w.on(g, boots), before)
		assert.Equal(t, w.slipway(nil, "operator-ssh-web-verify").code, report.Healthy)
	})

	// The last, since nothing brings this machine back.
	for i, off := range []map[string]string{{"ROLLBACK_ON": "never"}, {"SSH_CONFIRM_TIMEOUT": "0"}} {
		t.Run(fmt.Sprintf("nothing goes back by itself where that is off: %v", off), func(t *testing.T) {
			w := w.as(t)
			w.write("operator/web.nix", strings.ReplaceAll(trivial, "first", fmt.Sprint("off ", i)))
			const told = "journalctl --sync; journalctl -q -u 'slipway-guard-*' | wc -l"
			guards := w.on(g, told)
			o := w.slipway(off, "operator-ssh-web-apply")
			assert.Equal(t, o.code, report.Healthy)
			assert.Equal(t, w.on(g, told), guards, "no guard was started")
			if i == 0 {
				return
			}
			w.write("operator/web.nix", strings.NewReplacer("LOSE", "systemctl stop ssh.socket ssh.service", "REGAIN", ":", "MOMENT", "units").Replace(breaking))
			o = w.slipway(off, "operator-ssh-web-apply")
			assert.Equal(t, o.code, report.Unhealthy)
			assert.Assert(t, strings.Contains(o.stderr, "lets this run in no more"), o.stderr)
		})
	}
}
