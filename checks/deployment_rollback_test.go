//go:build checks

package checks

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"fediversity.eu/slipway/targets/report"
)

func TestDeploymentRollback(t *testing.T) {
	t.Parallel() // most of it is waiting
	w := newWorld(t)
	round := func(text string) string { return strings.ReplaceAll(trivial, "first", text) }
	g, _ := w.deployed(round("one"))
	one := w.on(g, "readlink -f /run/current-system")
	deploy := func(t *testing.T, text string) string {
		t.Helper()
		w := w.as(t)
		w.write("operator/web.nix", text)
		o := w.slipway(nil, "operator-ssh-web-apply")
		assert.Equal(t, o.code, report.Healthy)
		return o.record.Toplevel
	}

	t.Run("a plan says what a switch would do, and changes nothing", func(t *testing.T) {
		w := w.as(t)
		before := w.on(g, boots+"; ls -d /nix/var/nix/profiles/*; systemctl list-units --all --plain --no-legend 'slipway-*'")
		w.write("operator/web.nix", strings.ReplaceAll(round("two"), "sleep 1000000", "sleep 1000001"))
		o := w.slipway(nil, "operator-ssh-web-plan")
		assert.Equal(t, o.code, report.Healthy)
		for _, text := range []string{one, o.record.Toplevel, "would stop: trivial.service", "would start: trivial.service", "~ etc", "paths added"} {
			assert.Assert(t, strings.Contains(o.stdout, text), "%q is not in the plan:\n%s", text, o.stdout)
		}
		assert.Assert(t, o.record.Plan.Changes)
		assert.Assert(t, !o.record.Changed)
		assert.DeepEqual(t, o.record.Plan.Stop, []string{"trivial.service"})
		assert.DeepEqual(t, o.record.Plan.Start, []string{"trivial.service"})
		assert.Assert(t, o.record.Plan.Added > 0 && o.record.Plan.Added == o.record.Plan.Removed)
		assert.Equal(t, w.on(g, boots+"; ls -d /nix/var/nix/profiles/*; systemctl list-units --all --plain --no-legend 'slipway-*'"), before)

		w.write("operator/web.nix", round("one"))
		same := w.slipway(nil, "operator-ssh-web-plan")
		assert.Equal(t, same.code, report.Healthy)
		assert.Assert(t, strings.Contains(same.stdout, "no changes"), same.stdout)
		assert.Assert(t, !same.record.Plan.Changes)
	})

	t.Run("a plan tells that apply would be refused", func(t *testing.T) {
		w := w.as(t)
		w.write("operator/web.nix", strings.Replace(round("one"), "  system.stateVersion", "  system.preSwitchChecks.no = \"echo not on a sunday >&2; exit 1\";\n  system.stateVersion", 1))
		o := w.slipway(nil, "operator-ssh-web-plan")
		assert.Equal(t, o.code, report.Refused)
		assert.Assert(t, strings.Contains(o.stderr, "not on a sunday"), o.stderr)
		assert.Assert(t, strings.Contains(o.stdout, "paths added"), o.stdout)
	})

	two := deploy(t, round("two"))
	three := deploy(t, round("three"))
	generations := w.slipway(nil, "operator-ssh-web-generations").stdout
	const made = ` 20\d\d-[01]\d-[0-3]\dT[0-2]\d:[0-5]\d:[0-5]\dZ`
	assert.Assert(t, cmp.Regexp("^1 "+one+made+"\n2 "+two+made+"\n3 "+three+made+" default running\n$", generations))

	t.Run("without a number: to the one before", func(t *testing.T) {
		w := w.as(t)
		o := w.slipway(nil, "operator-ssh-web-rollback")
		assert.Equal(t, o.code, report.Healthy)
		assert.Equal(t, o.record.Toplevel, two)
		assert.Equal(t, o.record.Generation, 2)
		assert.Equal(t, w.on(g, boots), two+"\n"+two+"\n"+two)
	})

	t.Run("to a number, forwards too", func(t *testing.T) {
		w := w.as(t)
		for _, c := range []struct {
			number   string
			toplevel string
		}{{"3", three}, {"1", one}} {
			o := w.slipway(map[string]string{"GENERATION": c.number}, "operator-ssh-web-rollback")
			assert.Equal(t, o.code, report.Healthy)
			assert.Equal(t, w.on(g, boots), c.toplevel+"\n"+c.toplevel+"\n"+c.toplevel)
		}
		again := w.slipway(nil, "operator-ssh-web-rollback", "1") // as an argument
		assert.Equal(t, again.code, report.Healthy)
		assert.Assert(t, !again.record.Changed)
	})

	t.Run("to one that is not there", func(t *testing.T) {
		w := w.as(t)
		o := w.slipway(map[string]string{"GENERATION": "17"}, "operator-ssh-web-rollback")
		assert.Equal(t, o.code, report.Refused)
		assert.Assert(t, strings.Contains(o.stderr, "no generation 17, it has 1, 2, 3"), o.stderr)
		none := w.slipway(nil, "operator-ssh-web-rollback")
		assert.Equal(t, none.code, report.Refused)
		assert.Assert(t, strings.Contains(none.stderr, "no generation before 1"), none.stderr)
		assert.Equal(t, w.on(g, boots), one+"\n"+one+"\n"+one)
	})

	t.Run("from a system that was not proved: to the default at boot", func(t *testing.T) {
		w := w.as(t)
		w.write("operator/web.nix", strings.ReplaceAll(trivial, "sleep 1000000", "sh -c 'exit 7'"))
		assert.Equal(t, w.slipway(nil, "operator-ssh-web-apply").code, report.Unhealthy)
		o := w.slipway(nil, "operator-ssh-web-rollback")
		assert.Equal(t, o.code, report.Healthy)
		assert.Equal(t, w.on(g, boots), one+"\n"+one+"\n"+one)
	})
	// menu is a boot menu with the two newest generations.
	menu := func(text string) string {
		return strings.Replace(round(text), "  system.stateVersion", "  boot.loader.grub.enable = false; boot.loader.systemd-boot = { enable = true; configurationLimit = 2; };\n  system.stateVersion", 1)
	}
	t.Run("to one that the boot menu has no more", func(t *testing.T) {
		old := deploy(t, menu("four"))
		deploy(t, menu("five"))
		deploy(t, menu("six"))
		w := w.as(t)
		o := w.slipway(map[string]string{"GENERATION": "4"}, "operator-ssh-web-rollback")
		assert.Equal(t, o.code, report.Healthy)
		assert.Equal(t, o.record.Toplevel, old)
		assert.Equal(t, o.record.Generation, 7)
		assert.Equal(t, w.on(g, boots), old+"\n"+old+"\n"+old)
	})

	t.Run("a boot loader that refuses leaves no generation behind", func(t *testing.T) {
		w := w.as(t)
		before := w.on(g, boots+"; ls /nix/var/nix/profiles")
		w.write("operator/web.nix", strings.Replace(round("seven"), "  system.stateVersion", "  boot.loader.external = { enable = true; installHook = pkgs.writeShellScript \"full\" \"echo No space left on device >&2; exit 1\"; };\n  system.stateVersion", 1))
		o := w.slipway(nil, "operator-ssh-web-apply")
		assert.Equal(t, o.code, report.Failed)
		assert.Assert(t, strings.Contains(o.stderr, "the boot loader can't be installed"), o.stderr)
		deploy(t, menu("four"))
		assert.Equal(t, w.on(g, boots+"; ls /nix/var/nix/profiles"), before)
	})
}

func TestDeploymentPlansOfFileSystems(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	g, _ := w.deployed(trivial)
	w.on(g, "rm /etc/fstab") // the machine's own, which would stay
	mount := func(options string) string {
		return "fileSystems.\"/srv/x\" = { device = \"none\"; fsType = \"tmpfs\"; options = [ \"noauto\" \"" + options + "\" ]; };"
	}
	with := func(more string) string {
		return strings.Replace(trivial, "  system.stateVersion", "  "+more+"\n  system.stateVersion", 1)
	}
	w.write("operator/web.nix", with(mount("size=1m")+" swapDevices = [ { device = \"/dev/none\"; } ];"))
	assert.Equal(t, w.slipway(nil, "operator-ssh-web-apply").code, report.Healthy)
	for _, c := range []struct{ text, says string }{
		{with(""), "would stop: swap on /dev/none, srv-x.mount\n"},
		{with(mount("size=2m")), "would reload: srv-x.mount\n"},
		{with("systemd.settings.Manager.LogLevel = \"info\";"), "would restart: systemd\n"},
	} {
		w.write("operator/web.nix", c.text)
		o := w.slipway(nil, "operator-ssh-web-plan")
		assert.Equal(t, o.code, report.Healthy)
		assert.Assert(t, strings.Contains(o.stdout, c.says), o.stdout)
	}
}
