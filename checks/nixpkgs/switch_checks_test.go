//go:build checks

package nixpkgs_test

import (
	"fmt"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"
)

// base is a system with two services, one of them with a word to change.
const base = `{ lib, pkgs, ... }: {
  networking.hostName = "box";
  systemd.services.stays = {
    wantedBy = [ "multi-user.target" ];
    script = "exec sleep 1000000";
  };
  systemd.services.changes = {
    wantedBy = [ "multi-user.target" ];
    environment.WORD = "%s";
    script = "exec sleep 1000000";
  };
  %s
}`

func module(word, more string) string { return fmt.Sprintf(base, word, more) }

func TestSwitchFollowsTheUnits(t *testing.T) { onContainers(t, switchFollowsTheUnits) }

func switchFollowsTheUnits(t *testing.T, m machine) {
	t.Helper()
	before := m.must(t, "systemctl show --value -p MainPID ssh.service")

	first := m.install(t, module("one", ""))
	code, said := m.to(t, first, "switch")
	assert.Equal(t, code, 0)
	assert.Check(t, is.Contains(said, "activating the configuration..."))
	assert.Check(t, is.Contains(said, "the following new units were started: changes.service, stays.service, "))
	assert.Equal(t, m.current(t), first)
	assert.Equal(t, m.must(t, "cat /boot/loader/default"), first)
	assert.Equal(t, m.must(t, "hostname"), "box")
	assert.Equal(t, m.must(t, "systemctl is-active changes.service stays.service"), "active\nactive")
	stays := m.must(t, "systemctl show --value -p MainPID stays.service")
	changes := m.must(t, "systemctl show --value -p MainPID changes.service")

	code, said = m.to(t, first, "switch")
	assert.Equal(t, code, 0)
	assert.Check(t, !contains(said, "units"), "nothing was to be done: %s", said)

	second := m.install(t, module("two", ""))
	code, said = m.to(t, second, "dry-activate")
	assert.Equal(t, code, 0)
	assert.Check(t, is.Contains(said, "would stop the following units: changes.service"))
	assert.Check(t, is.Contains(said, "would start the following units: changes.service"))
	assert.Equal(t, m.current(t), first)
	code, said = m.to(t, second, "test")
	assert.Equal(t, code, 0)
	assert.Check(t, is.Contains(said, "stopping the following units: changes.service\n"))
	assert.Check(t, is.Contains(said, "starting the following units: changes.service\n"))
	assert.Equal(t, m.current(t), second)
	assert.Equal(t, m.must(t, "cat /boot/loader/default"), first, "test writes no boot record")
	assert.Equal(t, m.must(t, "systemctl show --value -p MainPID stays.service"), stays)
	assert.Check(t, m.must(t, "systemctl show --value -p MainPID changes.service") != changes)
	assert.Check(t, is.Contains(m.must(t, "systemctl show -p Environment changes.service"), "WORD=two"))

	third := m.install(t, `{ }`)
	code, said = m.to(t, third, "switch")
	assert.Equal(t, code, 0)
	assert.Check(t, is.Contains(said, "stopping the following units: changes.service, stays.service"))
	assert.Equal(t, m.must(t, "ls /etc/systemd/system/*/stays.service /etc/systemd/system/stays.service 2>/dev/null || echo gone"), "gone")

	assert.Equal(t, m.must(t, "systemctl show --value -p MainPID ssh.service"), before, "the way in was touched")
	assert.Equal(t, m.must(t, "test -s /root/.ssh/authorized_keys && echo there"), "there")
	assert.Equal(t, m.must(t, "systemctl is-system-running --wait"), "running")
}

func TestSwitchHonoursHowUnitsWantToChange(t *testing.T) {
	onContainers(t, switchHonoursHowUnitsWantToChange)
}

func switchHonoursHowUnitsWantToChange(t *testing.T, m machine) {
	t.Helper()
	of := func(word string) string {
		return module("same", `
  systemd.services.reloads = {
    wantedBy = [ "multi-user.target" ];
    reloadIfChanged = true;
    environment.WORD = "`+word+`";
    script = "exec sleep 1000000";
    reload = "echo x >>/run/reloads";
  };
  systemd.services.triggered = {
    wantedBy = [ "multi-user.target" ];
    reloadTriggers = [ "`+word+`" ];
    script = "exec sleep 1000000";
    reload = "echo x >>/run/triggered";
  };
  systemd.services.restarts = {
    wantedBy = [ "multi-user.target" ];
    stopIfChanged = false;
    restartTriggers = [ "`+word+`" ];
    script = "exec sleep 1000000";
  };
  systemd.services.never = {
    wantedBy = [ "multi-user.target" ];
    restartIfChanged = false;
    environment.WORD = "`+word+`";
    script = "exec sleep 1000000";
  };
  systemd.services.renamed = {
    wantedBy = [ "multi-user.target" ];
    description = "`+word+`";
    script = "exec sleep 1000000";
  };`)
	}
	code, _ := m.to(t, m.install(t, of("one")), "switch")
	assert.Equal(t, code, 0)
	m.must(t, "systemctl stop changes.service")
	two := m.install(t, of("two"))
	code, said := m.to(t, two, "dry-activate")
	assert.Equal(t, code, 0)
	assert.Check(t, is.Contains(said, "would NOT stop the following changed units: never.service\n"))
	code, said = m.to(t, two, "switch")
	assert.Equal(t, code, 0)
	assert.Check(t, is.Contains(said, "NOT restarting the following changed units: never.service\n"))
	assert.Check(t, is.Contains(said, "reloading the following units: reloads.service, triggered.service\n"))
	assert.Check(t, is.Contains(said, "restarting the following units: restarts.service\n"))
	assert.Check(t, !contains(said, "renamed.service"))
	assert.Equal(t, m.must(t, "cat /run/reloads /run/triggered"), "x\nx")
	assert.Equal(t, m.must(t, "systemctl is-active changes.service"), "active", "its target brings it back")
	assert.Check(t, is.Contains(said, "the following new units were started: changes.service"))
}

func TestSwitchTellsHowItFailed(t *testing.T) { onContainers(t, switchTellsHowItFailed) }

// bad is a service whose start ends when it has failed: one that counts as started
// sooner may be seen before.
const bad = `systemd.services.bad = { wantedBy = [ "multi-user.target" ]; script = "exit 7"; serviceConfig.Type = "notify"; };`

func switchTellsHowItFailed(t *testing.T, m machine) {
	t.Helper()
	good := m.install(t, module("good", `system.switch.inhibitors.bus = "dbus";`))
	code, _ := m.to(t, good, "switch")
	assert.Equal(t, code, 0)

	for _, test := range []struct {
		name, more, verb string
		code             int
		says             string
		current, boot    bool   // whether it became the current system, and the next one
		before, after    string // scripts on the machine
	}{
		{
			"a check refuses", `system.preSwitchChecks.no = "echo never; exit 1";`, "switch",
			1, "Pre-switch check 'no' failed\nPre-switch checks failed\n", false, false, "", "",
		},
		{
			"a check refuses the check", `system.preSwitchChecks.no = "false";`, "check",
			1, "Pre-switch check 'no' failed\n", false, false, "", "",
		},
		{
			"an inhibitor differs", `system.switch.inhibitors.bus = lib.mkForce "broker";`, "switch",
			1, "Checking switch inhibitors... these differ from the running system: bus\n", false, false, "", "",
		},
		{
			"the boot loader is not installed",
			`boot.loader.external = { enable = true; installHook = pkgs.writeShellScript "hook" "exit 3"; };`, "switch",
			1, "Failed to install bootloader\n", false, false, "", "",
		},
		{
			"activation fails", `system.activationScripts.bad = "false; echo went on >&2";`, "switch",
			2, "went on\nActivation script snippet 'bad' failed (1)\n", true, true, "", "",
		},
		{
			"a unit fails", bad, "switch",
			4, "warning: the following units failed: bad.service\n", true, true, "", "",
		},
		{
			"a unit hides a failed activation",
			`system.activationScripts.bad = "false";` + bad, "test",
			4, "Activation script snippet 'bad' failed (1)\n", true, false, "", "",
		},
		{
			"a unit restarts for ever",
			`systemd.services.loop = { wantedBy = [ "multi-user.target" ]; script = "exit 7";
			  serviceConfig = { Type = "notify"; Restart = "always"; RestartSec = 1000; }; };`, "test",
			4, "warning: the following units failed: loop.service\n", true, false, "", "",
		},
		{
			"another init", `system.initInterfaceVersion = lib.mkForce "other";`, "switch",
			100, "until you reboot the system", false, true, "", "",
		},
		{
			"an inhibitor that boot ignores", `system.switch.inhibitors.bus = lib.mkForce "broker";`, "boot",
			0, "Not checking switch inhibitors (action = boot)\n", false, true, "", "",
		},
		{
			"a check refuses before another", `system.preSwitchChecks.a = "false"; system.preSwitchChecks.b = "echo never asked";`, "switch",
			1, "Pre-switch check 'a' failed\nPre-switch checks failed\n", false, false, "", "",
		},
		{
			"a check refuses in its midst", `system.preSwitchChecks.no = "false; true";`, "test",
			1, "Pre-switch check 'no' failed\n", false, false, "", "",
		},
		{
			"no NixOS", "", "switch",
			2, "This is not a NixOS installation!\n", false, false,
			"mv /etc/NIXOS /etc/os-release /run/; sed s/^ID=.*/ID=debian/ /run/os-release >/etc/os-release", "mv /run/NIXOS /run/os-release /etc/",
		},
		{
			"no system that runs", "", "test",
			100, "until you reboot the system", false, false,
			"mv /run/current-system /run/runs", "mv -T /run/runs /run/current-system",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			more := test.more
			if !contains(more, "inhibitors") {
				more += `system.switch.inhibitors.bus = "dbus";`
			}
			toplevel := m.install(t, module("other", more))
			m.must(t, test.before+"\n:")
			code, said := m.to(t, toplevel, test.verb)
			m.must(t, test.after+"\n:")
			assert.Check(t, !contains(said, "never asked"))
			assert.Equal(t, code, test.code)
			assert.Check(t, is.Contains(said, test.says))
			assert.Equal(t, m.current(t) == toplevel, test.current)
			assert.Equal(t, m.must(t, "cat /boot/loader/default") == toplevel, test.boot)
			code, _ = m.to(t, good, "switch")
			assert.Equal(t, code, 0, "there is a way back")
			assert.Equal(t, m.current(t), good)
		})
	}
}

func TestSwitchComparesFileSystems(t *testing.T) { onContainers(t, switchComparesFileSystems) }

func switchComparesFileSystems(t *testing.T, m machine) {
	t.Helper()
	m.must(t, "rm /etc/fstab") // the machine's own, which stays
	mount := func(point, device, options string) string {
		return `fileSystems."` + point + `" = { device = "` + device + `"; fsType = "tmpfs"; options = [ "noauto" "` + options + `" ]; };`
	}
	before := m.install(t, module("same", mount("/", "root", "size=1m")+mount("/nix", "store", "size=1m")+
		mount("/srv/a-b", "one", "size=1m")+mount("/srv/gone", "one", "size=1m")+mount("/srv/asked", "one", "x-systemd.automount")+
		mount("/srv/other", "one", "size=1m")+`swapDevices = [ { device = "/dev/one"; } { device = "/dev/two"; } ];`))
	code, _ := m.to(t, before, "switch")
	assert.Equal(t, code, 0)
	assert.Check(t, is.Contains(m.must(t, "cat /etc/fstab"), "/dev/two none swap"))

	after := m.install(t, module("same", mount("/", "disk", "size=1m")+mount("/nix", "disk", "size=2m")+
		mount("/srv/a-b", "one", "size=2m")+mount("/srv/other", "two", "size=1m")+mount("/srv/new", "one", "size=1m")+
		`swapDevices = [ { device = "/dev/two"; } ];`))
	code, said := m.to(t, after, "dry-activate")
	assert.Equal(t, code, 0)
	for _, line := range []string{
		"would stop swap device: /dev/one\n",
		"would stop the following units: srv-asked.automount, srv-gone.mount\n",
		"would NOT stop the following changed units: -.mount\n",
		`would reload the following units: nix.mount, srv-a\x2db.mount` + "\n",
		"would restart the following units: srv-other.mount\n",
	} {
		assert.Check(t, is.Contains(said, line))
	}
}

func TestSwitchTakesItsLock(t *testing.T) { onContainers(t, switchTakesItsLock) }

func switchTakesItsLock(t *testing.T, m machine) {
	t.Helper()
	toplevel := m.install(t, module("one", ""))
	code, said := m.run(t, `mkdir -p /run/nixos
exec 8>/run/nixos/switch-to-configuration.lock
flock 8
`+toplevel+`/bin/switch-to-configuration switch 8>&-`)
	assert.Equal(t, code, 11, said)
	assert.Check(t, is.Contains(said, "Could not acquire lock"))
	assert.Equal(t, m.must(t, "ls /run/current-system /boot/loader/default 2>/dev/null || echo untouched"), "untouched")
}

func TestSwitchCrashesWhenNobodyReads(t *testing.T) { onContainers(t, switchCrashesWhenNobodyReads) }

func switchCrashesWhenNobodyReads(t *testing.T, m machine) {
	t.Helper()
	toplevel := m.install(t, module("one", ""))
	code, _ := m.to(t, toplevel, "switch")
	assert.Equal(t, code, 0)
	// Its activation goes on when the reader is gone.
	next := m.install(t, module("two", `system.activationScripts.slow = "until [ -e /run/gone ]; do sleep 0.1; done";`))
	out := m.must(t, `mkfifo /run/reader
cat </run/reader >/dev/null & reader=$!
`+next+`/bin/switch-to-configuration switch 2>/run/reader >/dev/null & run=$!
until [ "$(systemctl is-active changes.service)" = inactive ]; do sleep 0.1; done
kill $reader
wait $reader
touch /run/gone
wait $run; echo $?`)
	assert.Equal(t, out, "101")
	assert.Equal(t, m.must(t, "systemctl is-active changes.service || :"), "inactive", "what was stopped stays stopped")
	code, said := m.to(t, next, "switch")
	assert.Equal(t, code, 0, "a second run picks up what was left")
	assert.Check(t, is.Contains(said, "starting the following units: changes.service"))
	assert.Equal(t, m.must(t, "systemctl is-active changes.service"), "active")
}
