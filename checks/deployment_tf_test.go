//go:build checks

package checks

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"fediversity.eu/slipway/checks/guest"
	"fediversity.eu/slipway/checks/port"
	"fediversity.eu/slipway/methods/statebackend"
	"fediversity.eu/slipway/methods/statebackend/protocol"
	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/report"
)

// stateful gives the world a state backend and OpenTofu, and its state.
func (w *world) stateful(name string) protocol.Backend {
	w.t.Helper()
	w.env["TOFU_PATH"] = openTofu(w.t)
	store, err := statebackend.Open(filepath.Join(w.dir, "states-"+name), statebackend.Options{})
	assert.NilError(w.t, err)
	ctx, stop := context.WithCancel(context.Background())
	var server *statebackend.Server
	listen := func() (err error) {
		server, err = statebackend.Listen(ctx, store, statebackend.Serving{
			Access: statebackend.Access{User: stateUser, Password: env.NewSecret(statePassword)},
		})
		return err
	}
	if w.listen != nil {
		err = w.listen(listen)
	} else {
		err = listen()
	}
	assert.NilError(w.t, err)
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ctx) }()
	w.t.Cleanup(func() {
		stop()
		assert.Check(w.t, <-ended)
		assert.Check(w.t, store.Close())
	})
	address := server.State(name)
	for _, key := range []string{"TF_HTTP_ADDRESS", "TF_HTTP_LOCK_ADDRESS", "TF_HTTP_UNLOCK_ADDRESS"} {
		w.env[key] = address
	}
	w.env["TF_HTTP_USERNAME"], w.env["TF_HTTP_PASSWORD"] = stateUser, statePassword
	return protocol.Backend{
		URL: address, LockURL: address, LockMethod: "LOCK", UnlockURL: address, UnlockMethod: "UNLOCK", User: stateUser, Password: statePassword,
	}
}

// cold is a first run.
var cold = map[string]string{"STATE_PHASE": "cold"}

// healthz is a machine that answers the probe of the operator's forge.
var healthz = strings.Replace(trivial, "${pkgs.busybox}/bin/busybox sleep 1000000",
	"${pkgs.busybox}/bin/busybox sh -c 'mkdir -p /run/site/api; echo ok >/run/site/api/healthz; exec ${pkgs.busybox}/bin/busybox httpd -f -p 127.0.0.1:3000 -h /run/site'", 1)

func TestDeploymentTFHosts(t *testing.T) {
	w := newWorld(t)
	g := w.boot(guest.Container)
	b := w.stateful("web")
	body := func() string { return b.Get(t.Context()).Body }

	early := w.slipway(nil, "operator-tf-web-apply")
	assert.Equal(t, early.code, report.Refused, "without a state, and without a word that it is the first run")
	assert.Assert(t, cmp.Contains(early.stderr, "absent"))
	assert.Equal(t, b.Get(t.Context()).Status, http.StatusNotFound)

	imagined := w.slipway(cold, "operator-tf-web-plan")
	assert.Equal(t, imagined.code, report.Healthy)
	assert.Assert(t, cmp.Contains(imagined.stdout, "slipway_machine.web will be created"))
	assert.Equal(t, b.Get(t.Context()).Status, http.StatusNotFound)

	first := w.slipway(cold, "operator-tf-web-apply")
	assert.Equal(t, first.code, report.Healthy)
	assert.Equal(t, first.stdout, "")
	assert.Assert(t, first.record.Changed)
	assert.Equal(t, first.record.Outcome, "healthy")
	assert.Equal(t, *first.record.State.Plan, report.Counts{Changes: true, Add: 1})
	assert.Assert(t, !strings.Contains(first.stderr, "@level"), "the log of a library is no output of ours")
	assert.Assert(t, cmp.Contains(first.stderr, "STATE_LINEAGE="+first.record.State.Lineage))
	assert.Equal(t, serialOf(t, b.Get(t.Context())), int(first.record.State.Serial))
	assert.Equal(t, w.on(g, "readlink -f /run/current-system"), first.record.Toplevel)
	// As the run says, the next one may be told.
	w.env["STATE_LINEAGE"], w.env["STATE_SERIAL"] = first.record.State.Lineage, strconv.FormatUint(first.record.State.Serial, 10)

	again := w.slipway(nil, "operator-tf-web-apply")
	assert.Equal(t, again.code, report.Healthy)
	assert.Equal(t, again.record.Outcome, "healthy", "it is judged all the same")
	assert.Assert(t, !again.record.Changed)
	assert.Assert(t, again.record.Switch == nil, "nothing is switched")
	assert.Assert(t, !again.record.State.Plan.Changes)
	assert.Equal(t, again.record.State.Serial, first.record.State.Serial)

	t.Run("what is read", func(t *testing.T) {
		output := w.slipway(nil, "operator-tf-web-output")
		var outputs map[string]struct{ Value any }
		assert.NilError(t, json.Unmarshal([]byte(output.stdout), &outputs))
		assert.Equal(t, outputs["toplevel"].Value, first.record.Toplevel)
		assert.Equal(t, outputs["verdict"].Value, "healthy")
		assert.Equal(t, outputs["address"].Value, "root@"+w.env["SSH_HOST"]+":"+w.env["SSH_PORT"])
		assert.Equal(t, outputs["generation"].Value, float64(first.record.Generation))
		assert.Equal(t, output.record.State.Lineage, first.record.State.Lineage)
		list := w.slipway(nil, "operator-tf-web-state-list")
		assert.Equal(t, list.stdout, "slipway_machine.web\n")
		shown := w.slipway(nil, "operator-tf-web-state-show", "slipway_machine.web")
		assert.Assert(t, cmp.Contains(shown.stdout, first.record.Toplevel))
		whole := w.slipway(nil, "operator-tf-web-show")
		assert.Assert(t, json.Valid([]byte(whole.stdout)), whole.stdout)
		assert.Assert(t, cmp.Contains(whole.stdout, first.record.Toplevel))
		assert.Equal(t, w.slipway(nil, "operator-tf-web-validate").code, report.Healthy)
		assert.Equal(t, w.slipway(nil, "operator-tf-web-refresh").code, report.Healthy)
		assert.Equal(t, w.slipway(nil, "operator-tf-web-verify").code, report.Healthy)
	})

	w.write("operator/web.nix", strings.ReplaceAll(trivial, "first", "second"))
	before := body()
	plan := w.slipway(map[string]string{"PLAN_EXIT": "detailed"}, "operator-tf-web-plan")
	assert.Equal(t, plan.code, report.RebootNeeded)
	assert.Equal(t, plan.record.Outcome, "changes")
	assert.Assert(t, cmp.Contains(plan.stdout, first.record.Toplevel))
	assert.Assert(t, cmp.Contains(plan.stdout, plan.record.Toplevel))
	assert.Assert(t, cmp.Contains(plan.stdout, "paths added"), "what the closure would gain is under it")
	assert.Assert(t, plan.record.Plan.Changes)
	assert.Equal(t, body(), before, "a plan leaves every byte of the state")
	assert.Equal(t, w.on(g, "cat /etc/motd-of-check"), "first")
	changed := w.slipway(nil, "operator-tf-web-apply")
	assert.Equal(t, changed.code, report.Healthy)
	assert.Equal(t, *changed.record.State.Plan, report.Counts{Changes: true, Change: 1})
	assert.Equal(t, w.on(g, "cat /etc/motd-of-check"), "second")
	assert.Equal(t, changed.record.Generation, first.record.Generation+1)
	assert.Equal(t, w.slipway(map[string]string{"PLAN_EXIT": "detailed"}, "operator-tf-web-plan").code, report.Healthy)

	t.Run("drift", func(t *testing.T) {
		w.on(g, first.record.Toplevel+"/bin/switch-to-configuration test")
		plan := w.slipway(nil, "operator-tf-web-plan")
		assert.Equal(t, plan.code, report.Healthy)
		assert.Assert(t, plan.record.State.Plan.Changes)
		assert.Assert(t, cmp.Contains(plan.stdout, first.record.Toplevel))
		repaired := w.slipway(nil, "operator-tf-web-apply")
		assert.Equal(t, repaired.code, report.Healthy)
		assert.Equal(t, w.on(g, "readlink -f /run/current-system"), changed.record.Toplevel)
	})

	t.Run("a unit that fails", func(t *testing.T) {
		w.write("operator/web.nix", strings.ReplaceAll(trivial, "sleep 1000000", "sh -c 'echo the reason is this >&2; exit 7'"))
		broken := w.slipway(nil, "operator-tf-web-apply")
		assert.Equal(t, broken.code, report.Unhealthy)
		assert.Assert(t, cmp.Contains(broken.stderr, "the reason is this"))
		assert.Equal(t, broken.record.Units[0].Name, "trivial.service")
		assert.Assert(t, !strings.Contains(body(), "tainted"), "the next run changes the machine, and makes no other")
		assert.Assert(t, cmp.Contains(body(), `"unhealthy"`))
		still := w.slipway(nil, "operator-tf-web-apply")
		assert.Equal(t, still.code, report.Unhealthy, "it is tried again, and no better")
		w.write("operator/web.nix", trivial)
		mended := w.slipway(nil, "operator-tf-web")
		assert.Equal(t, mended.code, report.Healthy)
		assert.Equal(t, *mended.record.State.Plan, report.Counts{Changes: true, Change: 1})
	})

	t.Run("a way back is in the state", func(t *testing.T) {
		before := w.on(g, "readlink -f /run/current-system")
		w.write("operator/web.nix", strings.ReplaceAll(trivial, "sleep 1000000", "sh -c 'exit 7'"))
		back := w.slipway(map[string]string{"ROLLBACK_ON": "unhealthy"}, "operator-tf-web-apply")
		assert.Equal(t, back.code, report.Unhealthy)
		assert.Equal(t, w.on(g, "readlink -f /run/current-system"), before)
		output := w.slipway(nil, "operator-tf-web-output").stdout
		assert.Assert(t, cmp.Contains(output, before))
		assert.Assert(t, cmp.Contains(output, `"healthy"`))
		assert.Assert(t, !strings.Contains(output, back.record.Toplevel))
		assert.Equal(t, serialOf(t, b.Get(t.Context())), int(back.record.State.Serial))
		w.write("operator/web.nix", trivial)
		assert.Equal(t, w.slipway(map[string]string{"PLAN_EXIT": "detailed"}, "operator-tf-web-plan").code, report.Healthy, "there is nothing to do")
	})

	t.Run("generations", func(t *testing.T) {
		list := w.slipway(nil, "operator-tf-web-generations")
		assert.Equal(t, list.code, report.Healthy)
		assert.Assert(t, strings.HasSuffix(strings.TrimSpace(list.stdout), " default running"), list.stdout)
		back := w.slipway(nil, "operator-tf-web-rollback", strconv.Itoa(changed.record.Generation))
		assert.Equal(t, back.code, report.Healthy)
		assert.Equal(t, w.on(g, "cat /etc/motd-of-check"), "second")
		assert.Assert(t, w.slipway(nil, "operator-tf-web-plan").record.State.Plan.Changes, "which the next plan shows")
		assert.Equal(t, w.slipway(nil, "operator-tf-web-apply").code, report.Healthy)
	})

	t.Run("a new initial system", func(t *testing.T) {
		never, ifNeeded := map[string]string{"PLAN_EXIT": "detailed"}, map[string]string{"SSH_REBOOT": "if-needed"}
		w.write("operator/web.nix", strings.ReplaceAll(trivial, "first", "booted"))
		booted := w.slipway(map[string]string{"SSH_REBOOT": "always"}, "operator-tf-web-apply")
		assert.Equal(t, booted.code, report.Healthy)
		assert.Equal(t, w.on(g, "readlink -f /run/booted-system"), booted.record.Toplevel)
		w.write("operator/web.nix", with(`boot.initrd.kernelModules = [ "one" ];`))
		boot := w.on(g, "cat /proc/sys/kernel/random/boot_id; "+boots)
		plan := w.slipway(nil, "operator-tf-web-plan")
		assert.DeepEqual(t, plan.record.Plan.Reboot, []string{"initrd"})
		assert.Assert(t, cmp.Contains(plan.stdout, "only a reboot would bring in: initrd"))
		assert.Equal(t, w.slipway(nil, "operator-tf-web-apply").code, report.RebootNeeded)
		assert.Assert(t, cmp.Contains(body(), `"reboot needed"`))
		assert.Equal(t, w.slipway(never, "operator-tf-web-plan").code, report.Healthy, "apply would do nothing about it")
		assert.Equal(t, w.slipway(nil, "operator-tf-web-apply").code, report.RebootNeeded, "and says so")
		assert.Assert(t, w.slipway(ifNeeded, "operator-tf-web-plan").record.State.Plan.Changes)
		rebooted := w.slipway(ifNeeded, "operator-tf-web-apply")
		assert.Equal(t, rebooted.code, report.Healthy)
		assert.Assert(t, w.on(g, "cat /proc/sys/kernel/random/boot_id; "+boots) != boot)
		assert.Equal(t, w.on(g, "readlink -f /run/booted-system"), rebooted.record.Toplevel)
		assert.Assert(t, cmp.Contains(body(), `"healthy"`))
		w.write("operator/web.nix", trivial)
		assert.Equal(t, w.slipway(ifNeeded, "operator-tf-web-apply").code, report.Healthy)
	})

	t.Run("no way to the machine", func(t *testing.T) {
		before := body()
		nowhere := map[string]string{"SSH_PORT": strconv.Itoa(port.Keep(t)), "SSH_CONNECT_TIMEOUT": "5s"}
		for _, verb := range []string{"plan", "refresh", "apply"} {
			assert.Equal(t, w.slipway(nowhere, "operator-tf-web-"+verb).code, report.Unknown, verb)
			assert.Equal(t, body(), before, "the state keeps the machine")
		}
	})

	t.Run("stopped and killed in the middle of the switch", func(t *testing.T) {
		w.write("operator/trivial.nix", trivial)
		for round, end := range map[string]func(*running){
			"stopped": func(r *running) {
				r.stop() // SIGTERM
				assert.Equal(t, r.wait().code, report.Terminated)
				lock := protocol.NewLock("look")
				assert.Equal(t, b.Lock(t.Context(), lock).Status, http.StatusOK, "the run gave its lock back")
				b.Unlock(t.Context(), lock)
			},
			"killed": (*running).kill,
		} {
			w.write("operator/web.nix", strings.ReplaceAll(slow, "ROUND", round))
			run := w.start(nil, "operator-tf-web-apply")
			run.await("activating the configuration")
			end(run)
			w.on(g, "touch /run/go-on")
			next := w.slipway(nil, "operator-tf-web-apply")
			assert.Equal(t, next.code, report.Healthy, round)
			assert.Assert(t, cmp.Contains(next.stderr, "an earlier run left the switch"))
			assert.Equal(t, w.on(g, "cat /etc/round"), round)
			assert.Assert(t, !strings.Contains(body(), "tainted"))
			assert.Equal(t, w.slipway(map[string]string{"PLAN_EXIT": "detailed"}, "operator-tf-web-plan").code, report.Healthy)
		}
		w.write("operator/web.nix", trivial)
		assert.Equal(t, w.slipway(nil, "operator-tf-web-apply").code, report.Healthy)
	})

	t.Run("the state of another", func(t *testing.T) {
		w.write("operator/forge.nix", trivial)
		before := body()
		for _, verb := range [][]string{{"apply"}, {"destroy"}, {"import", "slipway_machine.forge", "forge"}} {
			other := w.slipway(nil, append([]string{"operator-tf-forge-" + verb[0]}, verb[1:]...)...)
			assert.Equal(t, other.code, report.Refused, verb[0])
			assert.Assert(t, cmp.Contains(other.stderr, "it is the state of operator-web"))
			assert.Equal(t, body(), before)
		}
	})

	t.Run("two machines at once", func(t *testing.T) {
		w := w.as(t)
		w.env = maps.Clone(w.env)
		w.write("operator/forge.nix", healthz)
		forge := w.bootAs(guest.Options{Kind: guest.Container, Name: "forge"}, "FORGE_")
		each := map[string]string{"STATE_PHASE": "cold"}
		for _, key := range []string{"SSH_HOST", "SSH_PORT", "SSH_HOST_KEY"} {
			each["WEB_"+key] = w.env[key]
		}
		for _, name := range []string{"web", "forge"} {
			for _, key := range []string{"TF_HTTP_ADDRESS", "TF_HTTP_LOCK_ADDRESS", "TF_HTTP_UNLOCK_ADDRESS"} {
				each[strings.ToUpper(name)+"_"+key] = strings.TrimSuffix(w.env[key], "web") + name
			}
		}
		each["STATE_LINEAGE"], each["STATE_SERIAL"] = "", ""
		none, one := report.Counts{}, report.Counts{Changes: true, Add: 1}
		all := func(verb string, forge report.Counts) {
			t.Helper()
			both := w.slipway(each, "operator-tf-all-"+verb)
			assert.Equal(t, both.code, report.Healthy)
			counts := map[string]report.Counts{}
			for _, m := range both.record.Members {
				counts[m.Machine] = *m.State.Plan
			}
			assert.DeepEqual(t, counts, map[string]report.Counts{"web": none, "forge": forge})
		}
		all("plan", one)
		all("apply", one)
		assert.Equal(t, w.on(forge, "systemctl is-active trivial.service"), "active")
		each["STATE_PHASE"] = "steady"
		all("apply", none)
	})

	t.Run("a state that is lost", func(t *testing.T) {
		assert.Assert(t, b.Delete(t.Context(), "").Status < 300)
		boot := w.on(g, "readlink -f /run/current-system")
		w.write("operator/web.nix", strings.ReplaceAll(trivial, "first", "third"))
		lost := w.slipway(nil, "operator-tf-web-apply")
		assert.Equal(t, lost.code, report.Refused)
		assert.Assert(t, cmp.Contains(lost.stderr, "absent"))
		assert.Equal(t, w.on(g, "readlink -f /run/current-system"), boot)
		assert.Equal(t, b.Get(t.Context()).Status, http.StatusNotFound)
		w.write("operator/web.nix", trivial)
		delete(w.env, "STATE_LINEAGE")
		delete(w.env, "STATE_SERIAL")
	})

	t.Run("import", func(t *testing.T) {
		wrong := w.slipway(cold, "operator-tf-web-import", "slipway_machine.web", "somebody-else")
		assert.Equal(t, wrong.code, report.Refused)
		assert.Assert(t, cmp.Contains(wrong.stderr, "somebody-else"))
		taken := w.slipway(cold, "operator-tf-web-import", "slipway_machine.web", "web")
		assert.Equal(t, taken.code, report.Healthy)
		assert.Assert(t, !taken.record.Changed)
		same := w.slipway(nil, "operator-tf-web-apply")
		assert.Equal(t, same.code, report.Healthy)
		assert.Assert(t, !same.record.Changed)
		assert.Equal(t, same.record.State.Plan.Add, 0)
	})

	destroyed := w.slipway(nil, "operator-tf-web-destroy")
	assert.Equal(t, destroyed.code, report.Healthy)
	assert.Equal(t, b.Get(t.Context()).Status, http.StatusNotFound)
	assert.Equal(t, w.on(g, "systemctl is-active trivial.service"), "active", "the machine stays as it is")
	assert.Equal(t, w.slipway(nil, "operator-tf-web-apply").code, report.Refused)

	adopted := w.slipway(cold, "operator-tf-web-apply")
	assert.Equal(t, adopted.code, report.Healthy)
	assert.Assert(t, !adopted.record.Changed, "a first run finds what is there")

	assert.Equal(t, w.slipway(nil, "operator-tf-web-destroy").code, report.Healthy)
	w.write("operator/web.nix", strings.ReplaceAll(slow, "ROUND", "first run"))
	killed := w.start(cold, "operator-tf-web-apply")
	killed.await("activating the configuration")
	killed.kill()
	w.on(g, "touch /run/go-on")
	o := w.slipway(cold, "operator-tf-web-apply")
	assert.Equal(t, o.code, report.Healthy, "a first run that was killed goes on, over the same machine")
	assert.Assert(t, !strings.Contains(body(), "tainted"))
	assert.Equal(t, w.slipway(nil, "operator-tf-web-apply").code, report.Healthy)
}

// TestDeploymentTFEncrypted keeps what is deployed out of the state's clear text.
func TestDeploymentTFEncrypted(t *testing.T) {
	w := newWorld(t)
	w.boot(guest.Container)
	b := w.stateful("web")
	w.env["TF_ENCRYPTION"] = `key_provider "pbkdf2" "k" {
  passphrase = "a passphrase of some length"
  iterations = 200000
}
method "aes_gcm" "m" { keys = key_provider.pbkdf2.k }
state {
  method   = method.aes_gcm.m
  enforced = true
}
plan { method = method.aes_gcm.m }`
	first := w.slipway(cold, "operator-tf-web-apply")
	assert.Equal(t, first.code, report.Healthy)
	stored := b.Get(t.Context()).Body
	assert.Assert(t, cmp.Contains(stored, `"encrypted_data"`))
	assert.Assert(t, !strings.Contains(stored, first.record.Toplevel))

	same := w.slipway(nil, "operator-tf-web-apply")
	assert.Equal(t, same.code, report.Healthy)
	assert.Assert(t, !same.record.Changed)
	assert.Assert(t, cmp.Contains(w.slipway(nil, "operator-tf-web-output").stdout, first.record.Toplevel))
	without := w.slipway(map[string]string{"TF_ENCRYPTION": ""}, "operator-tf-web-apply")
	assert.Equal(t, without.code, report.Refused)
	assert.Assert(t, cmp.Contains(without.stderr, "garbage: it is encrypted"))
	assert.Equal(t, b.Get(t.Context()).Body, stored)
	assert.Equal(t, w.slipway(nil, "operator-tf-web-destroy").code, report.Healthy)
	assert.Equal(t, b.Get(t.Context()).Status, http.StatusNotFound)
}

// TestDeploymentTFLocal deploys to a machine that Slipway boots, with the state
// backend that the program brings along.
func TestDeploymentTFLocal(t *testing.T) {
	if missing := guest.Missing(guest.VM); len(missing) > 0 {
		t.Skipf("missing part: %s", missing[0])
	}
	w := newWorld(t)
	w.env["TOFU_PATH"] = openTofu(t)
	_, _, cache := given(t)
	for name := range w.env {
		if strings.HasPrefix(name, "SSH_") || name == "SELF_MODULE_SOURCE" || name == "DNS_DOMAIN" {
			delete(w.env, name)
		}
	}
	// A base system that is there need not be made.
	assert.NilError(t, os.MkdirAll(w.env["CACHE_DIR"], 0o755))
	if _, err := os.Stat(filepath.Join(cache, "guest")); err == nil {
		assert.NilError(t, os.Symlink(filepath.Join(cache, "guest"), filepath.Join(w.env["CACHE_DIR"], "guest")))
	}
	t.Cleanup(func() {
		if g, err := guest.Find(filepath.Join(w.env["CACHE_DIR"], "machines", "dev-local")); err == nil {
			assert.Check(t, g.Close())
		}
	})

	nothing := w.slipway(nil, "dev-tf-local-plan")
	assert.Equal(t, nothing.code, report.Healthy)
	assert.Assert(t, cmp.Contains(nothing.stdout, "will be created"))

	first := w.slipway(nil, "dev:tfLocalApply")
	assert.Equal(t, first.code, report.Healthy)
	answer, err := http.Get(strings.TrimSpace(first.stdout))
	assert.NilError(t, err)
	assert.NilError(t, answer.Body.Close())
	assert.Equal(t, answer.StatusCode, http.StatusOK)

	again := w.slipway(nil, "dev:tfLocal")
	assert.Equal(t, again.code, report.Healthy)
	assert.Assert(t, !again.record.Changed)
	assert.Equal(t, again.stdout, first.stdout)
	plan := w.slipway(map[string]string{"PLAN_EXIT": "detailed"}, "dev:tfLocalPlan")
	assert.Equal(t, plan.code, report.Healthy)
	assert.Assert(t, cmp.Contains(plan.stdout, "No changes"))
	assert.Assert(t, cmp.Contains(w.slipway(nil, "dev:tfLocalOutput").stdout, first.record.Toplevel))
	assert.Equal(t, w.slipway(nil, "dev:tfLocalRefresh").code, report.Healthy)

	// Somebody ends the machine: the state keeps it, and apply boots it anew.
	assert.Equal(t, w.slipway(nil, "dev-ssh-local-destroy").code, report.Healthy)
	gone := w.slipway(map[string]string{"PLAN_EXIT": "detailed"}, "dev:tfLocalPlan")
	assert.Equal(t, gone.code, report.RebootNeeded)
	assert.Equal(t, gone.record.State.Plan.Change, 1)
	back := w.slipway(nil, "dev:tfLocalApply")
	assert.Equal(t, back.code, report.Healthy)
	assert.Assert(t, back.record.Changed)

	destroyed := w.slipway(nil, "dev:tfLocalDestroy")
	assert.Equal(t, destroyed.code, report.Healthy)
	_, err = os.Stat(filepath.Join(w.env["CACHE_DIR"], "machines", "dev-local"))
	assert.Assert(t, os.IsNotExist(err), "no trace of the machine is left")
	assert.Equal(t, w.slipway(nil, "dev:tfLocalDestroy").code, report.Healthy, "there is nothing left to destroy")
}
