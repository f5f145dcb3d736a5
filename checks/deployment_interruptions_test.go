//go:build checks

package checks

import (
	"crypto/rand"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/checks/guest"
	"fediversity.eu/slipway/targets/report"
)

// slow is trivial with a switch that takes until somebody lets it go on.
const slow = `{ pkgs, ... }:
{
  imports = [ ./trivial.nix ];
  system.activationScripts.slow = ''
    n=0
    while [ ! -e /run/go-on ] && [ $n -lt 6000 ]; do n=$((n+1)); sleep 0.1; done
    rm -f /run/go-on
  '';
  environment.etc.round.text = "ROUND\n";
}
`

func TestDeploymentInterruptions(t *testing.T) {
	t.Parallel() // most of it is waiting
	w := newWorld(t)
	g := w.boot(guest.Container)
	w.write("operator/trivial.nix", trivial)
	assert.Equal(t, w.slipway(nil, "operator-ssh-web-apply").code, report.Healthy)
	w.env["SSH_KEEPALIVE"] = "5s" // after three of which a link is lost

	t.Run("link cut in the middle of the copy", func(t *testing.T) {
		w := w.as(t)
		large := make([]byte, 24<<20)
		_, _ = rand.Read(large)
		w.write("operator/large", string(large))
		w.write("operator/web.nix", strings.ReplaceAll(trivial, `.text = "first\n"`, `.source = ./large`))
		before := w.on(g, "readlink -f /run/current-system")
		narrow := w.narrow(8 << 20)
		run := w.start(map[string]string{"SSH_PORT": narrow.port()}, "operator-ssh-web-apply")
		narrow.await(t)
		assert.NilError(t, g.SetLink(t.Context(), false))
		o := run.wait()
		assert.NilError(t, g.SetLink(t.Context(), true))
		assert.Equal(t, o.code, report.Unknown)
		assert.Assert(t, strings.Contains(o.stderr, "contact lost"), o.stderr)
		assert.Equal(t, w.on(g, "readlink -f /run/current-system"), before)
		w.patiently(report.Healthy)
	})

	t.Run("link cut in the middle of the switch", func(t *testing.T) {
		w := w.as(t)
		w.write("operator/web.nix", strings.ReplaceAll(slow, "ROUND", "cut"))
		run := w.startFree(g)
		run.await("activating the configuration")
		assert.NilError(t, g.SetLink(t.Context(), false))
		run.await("connection lost")
		assert.NilError(t, g.SetLink(t.Context(), true))
		w.on(g, "touch /run/go-on")
		o := run.wait()
		assert.Equal(t, o.code, report.Healthy)
		assert.Assert(t, strings.Contains(o.stderr, "connected again"), o.stderr)
		assert.Equal(t, w.on(g, "cat /etc/round"), "cut")
	})

	t.Run("two runs at once", func(t *testing.T) {
		w := w.as(t)
		w.write("operator/web.nix", strings.ReplaceAll(slow, "ROUND", "twice"))
		run := w.startFree(g)
		run.await("activating the configuration")
		second := w.slipway(nil, "operator-ssh-web-apply")
		assert.Equal(t, second.code, report.Busy)
		assert.Assert(t, strings.Contains(second.stderr, "operator-ssh-web-apply, since"), second.stderr)
		w.on(g, "touch /run/go-on")
		assert.Equal(t, run.wait().code, report.Healthy)
	})

	t.Run("ended in the middle of the switch", func(t *testing.T) {
		w := w.as(t)
		w.write("operator/web.nix", strings.ReplaceAll(slow, "ROUND", "ended"))
		run := w.startFree(g)
		run.await("activating the configuration")
		run.stop() // SIGTERM
		o := run.wait()
		assert.Equal(t, o.code, report.Terminated)
		assert.Assert(t, strings.Contains(o.stderr, "the switch goes on"), o.stderr)
		next := w.startFree(g)
		next.await("an earlier run left the switch")
		w.on(g, "touch /run/go-on")
		o = next.wait()
		assert.Equal(t, o.code, report.Healthy)
		assert.Equal(t, w.on(g, "cat /etc/round"), "ended")
	})
}

// startFree starts a deployment when the machine's lock is free: a run that was
// cut off holds it a little longer.
func (w *world) startFree(g *guest.Guest) *running {
	w.t.Helper()
	w.unlocked(g)
	return w.start(nil, "operator-ssh-web-apply")
}

// unlocked waits until the machine's lock is free.
func (w *world) unlocked(g *guest.Guest) {
	w.t.Helper()
	w.on(g, "flock --timeout 180 /run/slipway/lock true")
}

// patiently deploys until the machine is no longer busy: its lock outlives the
// connection of the run that held it by up to nixos.LockLease.
func (w *world) patiently(code report.Code) {
	w.t.Helper()
	for began := time.Now(); time.Since(began) < 5*time.Minute; {
		o := w.slipway(nil, "operator-ssh-web-apply")
		if o.code != report.Busy {
			assert.Equal(w.t, o.code, code)
			return
		}
	}
	w.t.Fatal("the machine stayed busy")
}
