//go:build checks

package checks

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/checks/guest"
	"fediversity.eu/slipway/targets/report"
)

// fault is a system with something wrong in it, and what a run must say of it.
type fault struct {
	name   string
	module string            // options of the system
	before string            // script on the machine
	within string            // script on the machine, once the verdict is being waited for
	keys   map[string]string // coordinates
	code   report.Code
	units  map[string]string // what must be in the record: class and fault of each unit
	says   string
	from   float64 // how long the verdict must have taken at least, in seconds
}

// red is what is new and turns the verdict.
func red(what string) string { return "new: " + what }

// service is a unit that multi-user.target wants.
func service(name, settings string) string {
	return fmt.Sprintf("systemd.services.%s = { wantedBy = [ \"multi-user.target\" ]; serviceConfig = { %s }; };\n", name, settings)
}

// sh is a setting that runs a script.
func sh(script string) string {
	return `ExecStart = "${pkgs.busybox}/bin/busybox sh -c '` + script + `'";`
}

const forEver = "exec sleep 1000000"

// faults are the ways in which a unit is not well (systemd has many), and some
// in which it is.
var faults = []fault{
	{
		name: "a oneshot fails", module: service("broken", `Type = "oneshot"; `+sh("echo alas; exit 3")), code: report.Unhealthy,
		units: map[string]string{"broken.service": red("failed")}, says: "exit status 3",
	},
	{
		name: "a service exits at once", module: service("broken", sh("exit 7")), code: report.Unhealthy,
		units: map[string]string{"broken.service": red("failed")}, says: "exit status 7",
	},
	{
		name: "a loop with 100 ms between", module: service("broken", `Restart = "always"; `+sh("exit 1")), code: report.Unhealthy,
		units: map[string]string{"broken.service": "new: "}, says: "broken.service",
	},
	{
		name: "a loop with 2 s between", module: service("broken", `Restart = "always"; RestartSec = 2; `+sh("exit 1")), code: report.Unhealthy,
		units: map[string]string{"broken.service": red("restarts again and again")},
	},
	{
		name:   "a loop that no limit ends",
		module: service("broken", `Restart = "always"; `+sh("exit 1")) + "systemd.services.broken.startLimitIntervalSec = 0;\n", code: report.Unhealthy,
		units: map[string]string{"broken.service": red("restarts again and again")},
	},
	{
		name: "a loop that is up at nearly each look", module: service("broken", `Restart = "always"; RestartSec = "50ms"; `+sh("sleep 1.6; exit 1")), code: report.Unhealthy,
		units: map[string]string{"broken.service": red("restarts again and again")},
	},
	{
		name: "a loop of exits 0", module: service("broken", `Restart = "always"; RestartSec = 1; `+sh("sleep 1; exit 0")), code: report.Unhealthy,
		units: map[string]string{"broken.service": red("restarts again and again")},
	},
	{
		name: "a loop that never looks failed", module: service("broken", `Restart = "always"; RestartMode = "direct"; RestartSec = 1; `+sh("sleep 1; exit 1")), code: report.Unhealthy,
		units: map[string]string{"broken.service": red("restarts again and again")},
	},
	{
		name: "one restart, then fine", module: service("shaky", `Restart = "on-failure"; RestartSec = 1; `+sh("[ -e /run/once ] && "+forEver+"; touch /run/once; exit 1")),
		units: map[string]string{"shaky.service": "remark: was restarted, and runs"}, from: 8,
	},
	{
		name: "the start limit is hit", module: service("broken", `Type = "oneshot"; Restart = "on-failure"; RestartSec = "50ms"; `+sh("exit 1")) + "systemd.services.broken.startLimitBurst = 2;\n", code: report.Unhealthy,
		units: map[string]string{"broken.service": "new: "},
	},
	{
		name: "the program is missing", module: service("broken", `ExecStart = "/nix/store/00000000000000000000000000000000-gone/bin/x";`), code: report.Unhealthy,
		units: map[string]string{"broken.service": red("failed")}, says: "exit status 203: its program is missing",
	},
	{
		name: "a setting is bad", module: `systemd.units."broken.service" = { wantedBy = [ "multi-user.target" ]; text = "[Service]\nExecStart=./relative\n"; };`, code: report.Unhealthy,
		units: map[string]string{"broken.service": red("can't be loaded")},
	},
	{
		name: "what is required is masked", module: service("needy", sh(forEver)) + `
			systemd.services.needy.requires = [ "broken.service" ];
			systemd.units."broken.service" = { enable = false; text = ""; };`, code: report.Unhealthy,
		units: map[string]string{"broken.service": red("is masked"), "needy.service": red("did not start")},
	},
	{
		name: "what is required does not exist", module: service("needy", sh(forEver)) + `
			systemd.services.needy.requires = [ "none.service" ];`, code: report.Unhealthy,
		units: map[string]string{"none.service": red("does not exist"), "needy.service": red("did not start")},
	},
	{
		name: "what is required fails", module: service("broken", `Type = "oneshot"; `+sh("exit 1")) + service("needy", sh(forEver)) + `
			systemd.services.needy = { requires = [ "broken.service" ]; after = [ "broken.service" ]; };`, code: report.Unhealthy,
		units: map[string]string{"broken.service": red("failed"), "needy.service": red("did not start")}, says: "what it needs failed: broken.service",
	},
	{
		name: "an assertion is not met", module: service("broken", sh(forEver)) + `systemd.services.broken.unitConfig.AssertPathExists = "/nonexistent";`, code: report.Unhealthy,
		units: map[string]string{"broken.service": red("did not start")},
	},
	{
		name: "a condition is not met", module: service("fine", sh(forEver)) + `systemd.services.fine.unitConfig.ConditionPathExists = "/nonexistent";`,
	},
	{
		name: "a notification never comes", module: service("broken", `Type = "notify"; TimeoutStartSec = 4; `+sh(forEver)), code: report.Unhealthy,
		units: map[string]string{"broken.service": red("failed")}, says: "timeout",
	},
	{
		name: "a notification comes after 20 s", module: service("fine", `Type = "notify"; NotifyAccess = "all"; `+sh("sleep 20; systemd-notify --ready; "+forEver)),
	},
	{
		name: "a service of a timer fails", module: `systemd.timers.broken = { wantedBy = [ "timers.target" ]; timerConfig = { OnActiveSec = "500ms"; AccuracySec = "50ms"; }; };
			systemd.services.broken.serviceConfig = { Type = "oneshot"; ` + sh("exit 1") + ` };` + service("fine", sh(forEver)), code: report.Unhealthy,
		units: map[string]string{"broken.service": red("failed")}, says: "started by broken.timer",
	},
	{
		name: "a timer without a unit", module: `systemd.timers.broken = { wantedBy = [ "timers.target" ]; timerConfig = { OnActiveSec = "1h"; Unit = "none.service"; }; };`, code: report.Unhealthy,
		units: map[string]string{"broken.timer": red("did not start"), "none.service": red("does not exist")},
	},
	{
		name: "a service of a socket fails at its first use", module: `systemd.sockets.broken = { wantedBy = [ "sockets.target" ]; listenStreams = [ "127.0.0.1:7777" ]; };
			systemd.services.broken.serviceConfig = { ` + sh("exit 1") + ` };` + service("fine", `Restart = "always"; RestartSec = 4; `+sh(forEver)), code: report.Unhealthy,
		within: "busybox nc 127.0.0.1 7777 </dev/null || true", units: map[string]string{"broken.socket": red("failed"), "broken.service": red("failed")},
	},
	{
		name: "the port of a socket is taken", module: `systemd.sockets.broken = { wantedBy = [ "sockets.target" ]; listenStreams = [ "22" ]; };
			systemd.services.broken.serviceConfig = { ` + sh(forEver) + ` };`, code: report.Unhealthy,
		units: map[string]string{"broken.socket": red("failed")}, says: "broken.socket: failed",
	},
	{
		name: "a service ends by itself", module: service("brief", sh("exit 0")),
		units: map[string]string{"brief.service": "remark: ended by itself"},
	},
	{
		name: "what was broken before", module: `environment.etc.other.text = "x";`,
		before: "printf '[Service]\\nType=oneshot\\nExecStart=/bin/false\\n' >/run/systemd/system/worn.service; systemctl start worn.service || true",
		units:  map[string]string{"worn.service": "old: had failed before, and was not started again"},
	},
	{
		name: "what was broken before, and counts", module: `environment.etc.other.text = "y";`, keys: map[string]string{"VERDICT_BASELINE": "fail"},
		before: "systemctl start worn.service || true", code: report.Unhealthy,
		units: map[string]string{"worn.service": "old: had failed before, and was not started again"},
	},
	{
		name: "what is tolerated", module: service("noisy", sh("exit 1")), keys: map[string]string{"VERDICT_TOLERATE": "other, nois*"},
		units: map[string]string{"noisy.service": "tolerated: failed"}, says: "tolerated",
	},
	{
		name: "the manager of a user fails", module: service("starter", `Type = "oneshot"; ExecStart = "/usr/bin/systemctl start --no-block user@65534.service";`), code: report.Unhealthy,
		units: map[string]string{"user@65534.service": red("failed")}, says: "PAM refuses its session",
	},
	{
		name: "a unit of a user fails", before: `systemctl reset-failed; mkdir -p /run/systemd/system/user@.service.d /run/systemd/user
			printf '[Service]\nPAMName=\nEnvironment=XDG_RUNTIME_DIR=/run/user/%%i\n' >/run/systemd/system/user@.service.d/plain.conf
			printf '[Service]\nExecStart=/bin/sh -c "echo a user weeps; exit 9"\n' >/run/systemd/user/weeper.service
			systemctl daemon-reload; systemctl start user@65534.service`,
		module: service("starter", `Type = "oneshot"; ExecStart = "/usr/bin/setpriv --reuid=65534 --clear-groups -- /usr/bin/systemctl --user start weeper.service"; Environment = "XDG_RUNTIME_DIR=/run/user/65534";`),
		code:   report.Unhealthy, units: map[string]string{"weeper.service": red("failed")}, says: "weeper.service of user 65534: failed",
	},
}

// TestDeploymentVerdicts brings each fault about by itself, and looks at what a
// run says of it: on the bus of the machine, and without it.
func TestDeploymentVerdicts(t *testing.T) {
	for _, way := range []struct {
		name    string
		prepare string // script on the machine
	}{
		{"on the bus", ""},
		{"by the journal", "mv /usr/bin/systemd-stdio-bridge /usr/bin/systemd-stdio-bridge.away"},
	} {
		const guests = 4
		for n := range guests {
			t.Run(fmt.Sprintf("%s %d", way.name, n+1), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				g := w.boot(guest.Container)
				if way.prepare != "" {
					w.on(g, way.prepare)
				}
				w.write("operator/web.nix", trivial)
				assert.Equal(t, w.slipway(nil, "operator-ssh-web-apply").code, report.Healthy)
				share := (len(faults) + guests - 1) / guests
				for _, f := range faults[n*share : min((n+1)*share, len(faults))] {
					t.Run(f.name, func(t *testing.T) { w.as(t).bringAbout(g, way.name, f) })
				}
			})
		}
	}
	t.Cleanup(func() { t.Logf("from the end of the switch to the verdict, in seconds:\n%s", measured.table()) })
}

func (w *world) bringAbout(g *guest.Guest, way string, f fault) {
	t := w.t
	t.Helper()
	if f.before != "" {
		w.on(g, f.before)
	}
	w.write("operator/web.nix", strings.Replace(trivial, "  system.stateVersion", "  imports = [ ./fault.nix ];\n  system.stateVersion", 1))
	w.write("operator/fault.nix", "{ pkgs, ... }: {\n"+f.module+"\n}\n")
	run := w.start(f.keys, "operator-ssh-web-apply")
	if f.within != "" {
		run.await("verdict: watching")
		w.on(g, f.within)
	}
	o := run.wait()
	assert.Check(t, o.code == f.code, "exit %d, want %d", o.code, f.code)
	assert.Check(t, strings.Contains(o.stderr, f.says), "%q is not in what the run said", f.says)
	got := map[string]string{}
	for _, u := range o.record.Units {
		got[u.Name] = u.Class + ": " + u.Fault
		if strings.HasSuffix(f.units[u.Name], ": ") { // any fault will do
			got[u.Name] = f.units[u.Name]
		}
	}
	assert.Check(t, maps.Equal(got, f.units), "units in the record: %v, want %v", got, f.units)
	for _, timing := range o.record.Timings {
		if timing.Step == "verdict" {
			assert.Check(t, timing.Seconds >= f.from, "the verdict took %.1f s", timing.Seconds)
			measured.add(f.name, way, timing.Seconds)
		}
	}
}

// measurements are seconds by fault and way of looking.
type measurements struct {
	mu  sync.Mutex
	all map[string]map[string]float64
}

var measured = &measurements{all: map[string]map[string]float64{}}

func (m *measurements) add(fault, way string, seconds float64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.all[fault] == nil {
		m.all[fault] = map[string]float64{}
	}
	m.all[fault][way] = seconds
}

func (m *measurements) table() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(m.all)) {
		line, _ := json.Marshal(m.all[name])
		fmt.Fprintf(&b, "%-45s %s\n", name, line)
	}
	return b.String()
}
