//go:build checks

package checks

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/checks/guest"
	"fediversity.eu/slipway/targets/report"
)

// boxTree is a script that makes the root of the container box out of the machine's
// own programs. What it has of units lies below /store and is linked from /etc, as
// in NixOS.
const boxTree = `set -e
box=/var/lib/box
mkdir -p $box/etc $box/store/units/multi-user.target.wants $box/usr $box/var $box/run $box/root $box/tmp $box/nix
for dir in bin sbin lib lib64; do ln -sfn usr/$dir $box/$dir; done
cp -a /etc/passwd /etc/group /etc/shadow /etc/nsswitch.conf /etc/ld.so.cache /etc/dbus-1 $box/etc/ 2>/dev/null || true
echo ID=box >$box/etc/os-release
: >$box/etc/machine-id
mkdir -p $box/etc/systemd
ln -sfn /store/units $box/etc/systemd/system
ln -sfn /usr/lib/systemd/system/multi-user.target $box/store/units/default.target
for unit in ssh.service ssh.socket systemd-networkd.service systemd-networkd.socket guest-ready.service proc-sys-fs-binfmt_misc.automount; do ln -sfn /dev/null $box/store/units/$unit; done
`

// box is the unit of the container box, with the settings of NixOS's own that
// matter here (nixpkgs, nixos-containers.nix).
const box = `systemd.units."container@box.service" = { wantedBy = [ "multi-user.target" ]; text = ''
	[Service]
	Type=notify
	Slice=machine.slice
	Delegate=yes
	KillMode=mixed
	Environment=SYSTEMD_NSPAWN_UNIFIED_HIERARCHY=1 SYSTEMD_NSPAWN_API_VFS_WRITABLE=yes SYSTEMD_SECCOMP=0
	ExecStart=/usr/bin/systemd-nspawn --quiet --keep-unit --machine=box --directory=/var/lib/box --bind-ro=/usr --notify-ready=yes --kill-signal=SIGRTMIN+3 --resolv-conf=off --timezone=off --link-journal=no --boot
''; };
`

// TestVerdictContainers runs a container of systemd-nspawn on a machine, and looks
// at what is said of the units inside.
func TestVerdictContainers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if missing := guest.Missing(guest.Container); len(missing) > 0 {
		t.Skipf("missing part: %s", missing[0])
	}
	_, _, cache := given(t)
	tree, err := nspawn(t.Context(), cache)
	assert.NilError(t, err)
	g := w.bootAs(guest.Options{Kind: guest.Container, Name: "web", Nested: tree}, "")
	w.on(g, boxTree)
	// inside is a script that gives the container a unit, and starts it.
	inside := func(name, text string) string {
		return "printf '" + text + "' >/var/lib/box/store/units/" + name + "; systemctl --machine=box daemon-reload; systemctl --machine=box start " + name + " || :"
	}
	const failing = `[Service]\nType=oneshot\nExecStart=/bin/sh -c "echo alas; exit 3"\n`
	round := 0
	for _, c := range []struct {
		name   string
		do     string // script on the machine
		module string
		keys   map[string]string
		verify report.Code
		look   map[string]string // what verify has in its record
		apply  report.Code
		change map[string]string // what a change has in its record
		says   string
	}{
		{name: "is well"},
		{
			name: "has a failed unit", do: inside("broken.service", failing),
			verify: report.Unhealthy, look: one("broken.service", "present: failed"), change: one("broken.service", "old: failed"), says: "broken.service of container box: failed (exit-code, exit status 3",
		},
		{
			name: "has one whose text is another now", module: `systemd.services.breaker = { wantedBy = [ "multi-user.target" ]; serviceConfig = { Type = "oneshot"; ` +
				sh(`echo \"# another\" >>/var/lib/box/store/units/broken.service; systemctl --machine=box daemon-reload; systemctl --machine=box start broken.service || true`) + ` }; };`,
			verify: report.Unhealthy, look: one("broken.service", "present: failed"), apply: report.Unhealthy, change: one("broken.service", "new: failed"), says: "| alas",
		},
		{name: "has one that is tolerated", keys: map[string]string{"VERDICT_TOLERATE": "broken"}, look: one("broken.service", "tolerated: failed"), change: one("broken.service", "tolerated: failed")},
		{name: "is mended", do: "systemctl --machine=box reset-failed"},
		{
			name: "does not answer", do: "systemctl --machine=box stop dbus.socket dbus.service || :",
			look: one("container@box.service", "remark: can't be looked at"), change: one("container@box.service", "remark: can't be looked at"),
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := w.as(t)
			round++
			if round == 1 { // with the container itself
				w.write("operator/web.nix", strings.Replace(trivial, "  system.stateVersion", box+"  system.stateVersion", 1))
				o := w.slipway(nil, "operator-ssh-web-apply")
				assert.Check(t, o.code == report.Healthy, "exit %d", o.code)
				compare(t, o, nil)
			}
			if c.do != "" {
				w.on(g, c.do)
			}
			o := w.slipway(c.keys, "operator-ssh-web-verify")
			assert.Check(t, o.code == c.verify, "verify: exit %d, want %d", o.code, c.verify)
			compare(t, o, c.look)
			w.write("operator/web.nix", strings.Replace(trivial, "  system.stateVersion", box+c.module+"  environment.etc.round.text = \""+c.name+"\";\n  system.stateVersion", 1))
			o = w.slipway(c.keys, "operator-ssh-web-apply")
			assert.Check(t, o.code == c.apply, "apply: exit %d, want %d", o.code, c.apply)
			compare(t, o, c.change)
			assert.Check(t, strings.Contains(o.stderr, c.says), "%q is not in what the run said", c.says)
		})
	}
}
