//go:build checks

package checks

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/checks/guest"
	"fediversity.eu/slipway/checks/guest/debian"
	"fediversity.eu/slipway/targets/report"
)

// TestDeploymentVerdictsOfWhatIsWanted takes down what a machine is for, in ways
// after which nothing is failed: a look must name it, and a change must not
// commit over a machine that is not up.
func TestDeploymentVerdictsOfWhatIsWanted(t *testing.T) {
	unit := func(name, text string) string {
		return "printf '" + text + "' >/run/systemd/system/" + name + "\n"
	}
	wanted := func(name, text string) string {
		return unit(name, text) + "mkdir -p /run/systemd/system/multi-user.target.wants; ln -sf ../" + name + " /run/systemd/system/multi-user.target.wants/\n"
	}
	const read = "systemctl daemon-reload; systemctl start --no-block multi-user.target; systemctl is-system-running --wait >/dev/null; n=0; while [ -n \"$(systemctl list-jobs --no-legend)\" ] && [ $n -lt 100 ]; do n=$((n+1)); sleep 0.1; done\n"
	without := func(names ...string) string {
		var s strings.Builder
		for _, name := range names {
			s.WriteString("systemctl stop " + name + "; rm -f /run/systemd/system/" + name + " /run/systemd/system/*.wants/" + name + "; systemctl reset-failed " + name + " 2>/dev/null\n")
		}
		return s.String() + "systemctl daemon-reload"
	}
	cases := []struct {
		name  string
		do    string
		undo  string
		code  report.Code
		units map[string]string // of the record; a key that ends in * is one of those
		apply bool              // a changed system is refused too
	}{
		{name: "all is up"},
		{name: "a service was stopped by hand", do: "systemctl stop trivial", undo: "systemctl start trivial", code: report.Unhealthy, units: one("trivial.service", "present: is no longer up")},
		{name: "a service was ended by a signal", do: "systemctl kill trivial; n=0; while systemctl is-active -q trivial && [ $n -lt 100 ]; do n=$((n+1)); sleep 0.1; done", undo: "systemctl start trivial", code: report.Unhealthy, units: one("trivial.service", "present: is no longer up")},
		{
			name: "the machine is in another target", do: "systemctl stop multi-user.target", undo: "systemctl start multi-user.target", code: report.Unhealthy,
			units: one("multi-user.target", "present: did not start"), apply: true,
		},
		{
			name: "two services wait for each other",
			do: wanted("cycle-one.service", `[Unit]\nAfter=cycle-two.service\n[Service]\nExecStart=/bin/sleep 1000000\n`) +
				wanted("cycle-two.service", `[Unit]\nAfter=cycle-one.service\n[Service]\nExecStart=/bin/sleep 1000000\n`) + read,
			undo: without("cycle-one.service", "cycle-two.service"), code: report.Unhealthy, units: one("cycle-*", "present: did not start"),
		},
		{
			name: "two services can't be up together",
			do: wanted("rival-one.service", `[Unit]\nConflicts=rival-two.service\n[Service]\nExecStart=/bin/sleep 1000000\n`) +
				wanted("rival-two.service", `[Service]\nExecStart=/bin/sleep 1000000\n`) + read,
			undo: without("rival-one.service", "rival-two.service"), code: report.Unhealthy, units: one("rival-*", "present: did not start"),
		},
		{
			name: "a unit that is called as ours are",
			do:   unit("slipway-nightly.service", `[Service]\nType=oneshot\nExecStart=/bin/false\n`) + "systemctl daemon-reload; systemctl start slipway-nightly || true",
			undo: "systemctl reset-failed slipway-nightly; rm /run/systemd/system/slipway-nightly.service", code: report.Unhealthy,
			units: one("slipway-nightly.service", "present: failed"),
		},
		{
			name: "timers that never fire",
			do: unit("vain.timer", `[Timer]\nOnUnitActiveSec=1h\n`) + unit("vain.service", `[Service]\nType=oneshot\nExecStart=/bin/true\n`) +
				unit("past.timer", `[Timer]\nOnCalendar=2020-01-01\n`) + unit("past.service", `[Service]\nType=oneshot\nExecStart=/bin/true\n`) +
				"systemctl daemon-reload; systemctl start vain.timer past.timer",
			undo:  without("vain.timer", "past.timer", "vain.service", "past.service"),
			units: map[string]string{"vain.timer": "remark: has no next time", "past.timer": "remark: has no next time"},
		},
		{
			name: "something restarts a service every second",
			do: wanted("shaken.service", `[Unit]\nStartLimitIntervalSec=0\n[Service]\nExecStart=/bin/sleep 1000000\n`) +
				unit("nervous.service", `[Service]\nExecStart=/bin/sh -c "while sleep 1; do systemctl restart shaken; echo >>/run/shaken; done"\n`) + read +
				"systemctl start nervous; n=0; until [ $(wc -l </run/shaken || echo 0) -ge 3 ] || [ $n -ge 300 ]; do n=$((n+1)); sleep 0.2; done",
			undo: without("nervous.service", "shaken.service"), code: report.Unhealthy, units: one("shaken.service", "present: restarts again and again"),
		},
		{
			name: "work that ends well and begins again after a minute",
			do:   wanted("periodic.service", `[Service]\nExecStart=/bin/true\nRestart=always\nRestartSec=60\n`) + read,
			undo: without("periodic.service"), units: one("periodic.service", "remark: ends and is started again, as declared"),
		},
		{name: "all is up again"},
	}
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
			assert.Equal(t, w.slipway(nil, "operator-ssh-web-apply").code, report.Healthy)
			generations := "ls /nix/var/nix/profiles | grep -c '^system-'"
			for _, c := range cases {
				t.Run(c.name, func(t *testing.T) {
					w := w.as(t)
					if c.do != "" {
						w.on(g, c.do)
					}
					if c.undo != "" {
						defer w.on(g, c.undo)
					}
					o := w.slipway(nil, "operator-ssh-web-verify")
					assert.Check(t, o.code == c.code, "exit %d, want %d", o.code, c.code)
					compareSome(t, o, c.units)
					if c.apply {
						before := w.on(g, generations)
						w.write("operator/web.nix", strings.Replace(trivial, "first", c.name, 1))
						o := w.slipway(nil, "operator-ssh-web-apply")
						assert.Check(t, o.code == c.code, "apply: exit %d, want %d", o.code, c.code)
						assert.Check(t, w.on(g, generations) == before, "a generation was committed")
						w.write("operator/web.nix", trivial)
						w.on(g, c.undo)
						assert.Equal(t, w.slipway(nil, "operator-ssh-web-apply").code, report.Healthy)
					}
				})
			}
		})
	}
}

// compareSome holds the units in the record of a run to those that must be
// there; of two of which either may be there, the name ends in *.
func compareSome(t *testing.T, o outcome, want map[string]string) {
	t.Helper()
	got := map[string]string{}
	for _, u := range o.record.Units {
		name := u.Name
		for some := range want {
			if head, either := strings.CutSuffix(some, "*"); either && strings.HasPrefix(name, head) {
				name = some
			}
		}
		got[name] = u.Class + ": " + u.Fault
	}
	if want == nil {
		want = map[string]string{}
	}
	assert.Check(t, len(o.record.Units) == len(want), "%d units, want %d", len(o.record.Units), len(want))
	assert.DeepEqual(t, got, want)
}
