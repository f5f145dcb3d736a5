//go:build checks

package nixpkgs_test

import (
	"testing"
	"time"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"
	"gotest.tools/v3/poll"

	"fediversity.eu/slipway/checks/guest"
)

// through waits until the machine is back from a boot that how brings about, as
// the same machine: at its port, with its keys.
func (m machine) through(t *testing.T, how func()) {
	t.Helper()
	const bootID = "cat /proc/sys/kernel/random/boot_id"
	before := m.must(t, bootID)
	began := time.Now()
	how()
	poll.WaitOn(t, func(poll.LogT) poll.Result {
		now, err := m.try(t, bootID)
		if err == nil && now != before {
			return poll.Success()
		}
		return poll.Continue("boot ID %q: %v", now, err)
	}, poll.WithTimeout(10*time.Minute), poll.WithDelay(100*time.Millisecond))
	t.Logf("booted again in %.1f s", time.Since(began).Seconds())
	assert.Equal(t, m.must(t, "systemctl is-system-running --wait || systemctl --failed --plain --no-legend"), "running")
}

// reboot is what a user of the machine does.
func (m machine) reboot(t *testing.T) func() {
	t.Helper()
	return func() { _, _ = m.try(t, "systemctl reboot") } // the connection goes first
}

// runs asserts which systems the machine runs and was booted with, and that
// the units are those of the former.
func (m machine) runs(t *testing.T, current, booted, word string) {
	t.Helper()
	assert.Equal(t, m.current(t), current)
	assert.Equal(t, m.must(t, "readlink /run/booted-system || echo plain"), booted)
	assert.Equal(t, m.must(t, "readlink /etc/static"), current+"/etc")
	assert.Equal(t, m.must(t, "systemctl is-active changes.service stays.service"), "active\nactive")
	assert.Check(t, is.Contains(m.must(t, "systemctl show -p Environment changes.service"), "WORD="+word))
}

func (m machine) switched(t *testing.T, toplevel, verb string) {
	t.Helper()
	code, _ := m.to(t, toplevel, verb)
	assert.Equal(t, code, 0)
}

func TestSwitchedContainerBootsWhatItsRecordNames(t *testing.T) {
	onContainers(t, switchedContainerBootsWhatItsRecordNames)
}

func switchedContainerBootsWhatItsRecordNames(t *testing.T, m machine) {
	t.Helper()
	old := m.install(t, module("old", ""))
	m.through(t, m.reboot(t))
	assert.Equal(t, m.must(t, "ls -d /run/booted-system /run/current-system 2>/dev/null || echo plain"), "plain")
	m.switched(t, old, "switch")
	m.runs(t, old, "plain", "old")
	m.through(t, m.reboot(t))
	m.runs(t, old, old, "old")

	next := m.install(t, module("next", `
  boot.kernelPackages = pkgs.linuxPackages_latest;
  boot.kernelParams = [ "quiet" ];
  boot.initrd.availableKernelModules = [ "nvme" ];`))
	m.switched(t, next, "boot")
	m.runs(t, old, old, "old")
	const differ = `for part in kernel initrd kernel-modules kernel-params; do
	diff -rq /run/booted-system/$part $(cat /boot/loader/default)/$part >/dev/null || echo $part
done`
	assert.Equal(t, m.must(t, differ), "kernel\ninitrd\nkernel-modules\nkernel-params")
	m.through(t, m.reboot(t))
	m.runs(t, next, next, "next")
	assert.Equal(t, m.must(t, differ), "")

	tried := m.install(t, module("tried", ""))
	m.switched(t, tried, "test")
	m.runs(t, tried, next, "tried")
	m.through(t, m.reboot(t))
	m.runs(t, next, next, "next")
}

func TestSwitchedVMBootsWhatItsRecordNames(t *testing.T) {
	m := bootMachine(t, guest.VM)
	old := m.install(t, module("old", ""))
	m.switched(t, old, "switch")
	tried := m.install(t, module("tried", ""))
	m.switched(t, tried, "test")
	m.through(t, m.reboot(t))
	m.runs(t, old, old, "old")

	m.switched(t, tried, "boot")
	m.through(t, func() { assert.NilError(t, m.guest.PowerCycle(t.Context())) })
	m.runs(t, tried, tried, "tried")
	assert.NilError(t, m.guest.SetLink(t.Context(), false))
	assert.NilError(t, m.guest.SetLink(t.Context(), true))
	assert.Equal(t, m.must(t, "hostname"), "box")
}
