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
	"time"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/checks/guest"
	"fediversity.eu/slipway/checks/guest/debian"
	"fediversity.eu/slipway/targets/report"
)

// fault is something wrong with a machine, or something that only looks like it.
type fault struct {
	name   string
	module string            // options of the system
	before string            // script on the machine
	within string            // script on the machine, while the verdict is held open
	after  string            // script on the machine
	units  map[string]string // what must be in the record: class and fault of each unit
	says   string
}

// faults are those that one deployment brings about together.
type faults struct {
	name   string
	keys   map[string]string
	code   report.Code
	faults []fault
	verify bool // and judge once more, with nothing changed
}

// service is a unit that multi-user.target wants.
func service(name, settings string) string {
	return fmt.Sprintf("systemd.services.%s = { wantedBy = [ \"multi-user.target\" ]; serviceConfig = { %s }; };\n", name, settings)
}

// sh is a setting that runs a script.
func sh(script string) string {
	return `ExecStart = "${pkgs.busybox}/bin/busybox sh -c '` + script + `'";`
}

// one is what the record must have of a single unit.
func one(unit, fault string) map[string]string { return map[string]string{unit: fault} }

// held is a unit that a verdict waits for until /run/over is there, and a switch
// does not: nothing waits for the end of its start.
const held = `systemd.services.held.serviceConfig = { Type = "oneshot"; ExecStart = "/bin/sh -c 'until [ -e /run/over ]; do sleep 0.5; done'"; };
	systemd.services.holder = { wantedBy = [ "multi-user.target" ]; serviceConfig = { Type = "oneshot"; ExecStart = "/usr/bin/systemctl start --no-block held.service"; }; };
`

// Scripts that begin and end what holds a verdict open.
const (
	hold  = "rm -f /run/over"
	letGo = "touch /run/over"
)

// ran is a script that starts a service from another text than will be deployed.
func ran(name string) string {
	return "printf '[Service]\\nExecStart=/bin/sleep 1000001\\n' >/run/systemd/system/" + name + ".service; systemctl daemon-reload; systemctl start " + name
}

// hasFailed is a script that waits until a unit has failed, though not for ever.
func hasFailed(unit string) string {
	return "n=0; until systemctl is-failed --quiet " + unit + " || [ $n = 300 ]; do n=$((n+1)); sleep 0.2; done"
}

const (
	forEver = "exec sleep 1000000"
	failed  = "new: failed"
	loops   = "new: restarts again and again"
	down    = "new: did not start"
	either  = "new: " // a loop that systemd ends is the one first and then the other
)

// everyFault is the ways in which units are not well, and those in which they
// are although it looks otherwise.
var everyFault = []faults{
	{name: "nothing that counts", keys: map[string]string{"VERDICT_TOLERATE": "other, nois*"}, faults: []fault{
		{
			name: "one restart, then fine", module: service("shaky", `Restart = "on-failure"; RestartSec = 1; `+sh("[ -e /run/once ] && "+forEver+"; touch /run/once; exit 1")),
			units: one("shaky.service", "remark: was restarted, and runs"),
		},
		{name: "a notification comes after 20 s", module: service("late", `Type = "notify"; NotifyAccess = "all"; `+sh("sleep 20; systemd-notify --ready; "+forEver))},
		{name: "a condition is not met", module: service("skipped", sh(forEver)) + `systemd.services.skipped.unitConfig.ConditionPathExists = "/nonexistent";`},
		{name: "a service ends by itself", module: service("brief", sh("exit 0")), units: one("brief.service", "remark: ended by itself")},
		{name: "what is tolerated", module: service("noisy", sh("exit 1")), units: one("noisy.service", "tolerated: failed"), says: "noisy.service: failed (exit-code, exit status 1"},
		{
			name: "what was broken before", before: "printf '[Service]\\nType=oneshot\\nExecStart=/bin/false\\n' >/run/systemd/system/worn.service; systemctl start worn.service || true",
			units: one("worn.service", "old: had failed before, and was not started again"), says: "worn.service: had failed before",
		},
	}},
	{name: "what was broken before, and counts", keys: map[string]string{"VERDICT_BASELINE": "fail"}, code: report.Unhealthy, faults: []fault{
		{name: "an old failure that counts", before: "systemctl start worn.service || true", units: one("worn.service", "old: had failed before, and was not started again")},
	}},
	{name: "failures", code: report.Unhealthy, faults: []fault{
		{name: "a oneshot fails", module: service("oneshot", `Type = "oneshot"; `+sh("echo alas; exit 3")), units: one("oneshot.service", failed), says: "exit status 3"},
		{name: "a service exits at once", module: service("exits", sh("exit 7")), units: one("exits.service", failed), says: "exit status 7"},
		{
			name: "the program is missing", module: service("gone", `ExecStart = "/nix/store/00000000000000000000000000000000-gone/bin/x";`),
			units: one("gone.service", failed), says: "exit status 203: its program is missing",
		},
		{
			name: "a service of a timer fails", module: `systemd.timers.timed = { wantedBy = [ "timers.target" ]; timerConfig = { OnActiveSec = "500ms"; AccuracySec = "50ms"; }; };
				systemd.services.timed.serviceConfig = { Type = "oneshot"; ` + sh("exit 1") + ` };`,
			within: hasFailed("timed.service"),
			units:  one("timed.service", failed), says: "started by timed.timer",
		},
		{
			name: "a service of a path fails", module: `systemd.paths.watched = { wantedBy = [ "paths.target" ]; pathConfig.PathExists = "/etc/NIXOS"; };
				systemd.services.watched.serviceConfig = { Type = "oneshot"; ` + sh("exit 1") + ` };`,
			within: hasFailed("watched.path"),
			units:  map[string]string{"watched.path": failed, "watched.service": failed}, says: "started by watched.path",
		},
		{
			name: "a service of a socket fails at its first use", module: `systemd.sockets.called = { wantedBy = [ "sockets.target" ]; listenStreams = [ "127.0.0.1:7777" ]; };
				systemd.services.called.serviceConfig = { ` + sh("exit 1") + ` };`,
			within: "for n in 1 2 3; do exec 3<>/dev/tcp/127.0.0.1/7777; exec 3>&-; done 2>/dev/null; " + hasFailed("called.socket"),
			units:  map[string]string{"called.socket": failed, "called.service": failed},
		},
		{
			name: "a scope fails", within: "systemd-run --quiet --scope --unit=lingers --property=RuntimeMaxSec=1 sleep 1000 || true; " + hasFailed("lingers.scope"),
			units: one("lingers.scope", failed), says: "lingers.scope: failed (timeout", after: "systemctl reset-failed lingers.scope",
		},
		{
			name: "the port of a socket is taken", module: `systemd.sockets.taken = { wantedBy = [ "sockets.target" ]; listenStreams = [ "0.0.0.0:22" ]; };
				systemd.services.taken.serviceConfig = { ` + sh(forEver) + ` };`,
			units: one("taken.socket", failed),
		},
		{
			name: "the manager of a user fails", module: service("starter", `Type = "oneshot"; ExecStart = "/usr/bin/systemctl start --no-block user@4242.service";`),
			units: map[string]string{"user-runtime-dir@4242.service": failed, "user@4242.service": down}, says: "user@4242.service: did not start",
			after: "systemctl reset-failed user@4242.service user-runtime-dir@4242.service 2>/dev/null; :",
		},
	}},
	{name: "loops", code: report.Unhealthy, verify: true, faults: []fault{
		{name: "a loop with 100 ms between", module: service("loop-fast", `Restart = "always"; `+sh("exit 1")), units: one("loop-fast.service", either)},
		{name: "a loop with 2 s between", module: service("loop-slow", `Restart = "always"; RestartSec = 2; `+sh("exit 1")), units: one("loop-slow.service", loops)},
		{
			name: "a loop that no limit ends", module: service("loop-free", `Restart = "always"; `+sh("exit 1")) + "systemd.services.loop-free.startLimitIntervalSec = 0;\n",
			units: one("loop-free.service", loops),
		},
		{
			// Its first death comes while it is still watched, and its second before those of
			// the next two: where two are known at the same moment, either may end the watch.
			name: "a loop that is up at nearly each look", module: service("loop-up", `Restart = "always"; RestartSec = "50ms"; `+sh("sleep 1; exit 1")) + "systemd.services.loop-up.startLimitIntervalSec = 0;\n",
			units: one("loop-up.service", loops),
		},
		{name: "a loop of exits 0", module: service("loop-well", `Restart = "always"; RestartSec = 1; `+sh("sleep 1; exit 0")), units: one("loop-well.service", loops)},
		{
			name: "a loop that never looks failed", module: service("loop-direct", `Restart = "always"; RestartMode = "direct"; RestartSec = 1; `+sh("sleep 1; exit 1")),
			units: one("loop-direct.service", loops),
		},
		{
			name: "the start limit is hit", module: service("limited", `Restart = "always"; RestartSec = "50ms"; `+sh("exit 1")) + "systemd.services.limited = { startLimitBurst = 2; startLimitIntervalSec = 3600; };\n",
			units: one("limited.service", failed), says: "systemd gave up restarting it",
		},
	}},
	{name: "starts", code: report.Unhealthy, faults: []fault{
		{
			name: "a setting is bad", module: `systemd.units."bad.service" = { wantedBy = [ "multi-user.target" ]; text = "[Service]\nExecStart=./relative\n"; };`,
			units: one("bad.service", "new: can't be loaded"),
		},
		{
			name: "what is required is masked", module: service("needs-masked", sh(forEver)) + `
				systemd.services.needs-masked.requires = [ "masked.service" ];
				systemd.units."masked.service" = { enable = false; text = ""; };`,
			units: map[string]string{"masked.service": "new: is masked", "needs-masked.service": down},
		},
		{
			name: "what is required does not exist", module: service("needs-none", sh(forEver)) + `
				systemd.services.needs-none.requires = [ "none.service" ];`,
			units: map[string]string{"none.service": "new: does not exist", "needs-none.service": down},
		},
		{
			name: "what is required fails", module: service("needed", `Type = "oneshot"; `+sh("exit 1")) + service("needs-failed", sh(forEver)) + `
				systemd.services.needs-failed = { requires = [ "needed.service" ]; after = [ "needed.service" ]; };`,
			units: map[string]string{"needed.service": failed, "needs-failed.service": down}, says: "what it needs is not up: needed.service",
		},
		{
			name: "an assertion is not met", module: service("asserts", sh(forEver)) + `systemd.services.asserts.unitConfig.AssertPathExists = "/nonexistent";`,
			units: one("asserts.service", down),
		},
		{name: "a notification never comes", module: service("silent", `Type = "notify"; TimeoutStartSec = 5; `+sh(forEver)), units: one("silent.service", failed), says: "not ready"},
		{
			name: "a timer without a unit", module: `systemd.timers.vain = { wantedBy = [ "timers.target" ]; timerConfig = { OnActiveSec = "1h"; Unit = "nothing.service"; }; };`,
			units: map[string]string{"vain.timer": down, "nothing.service": "new: does not exist"},
		},
		{
			name: "a unit of a user fails", before: `mkdir -p /run/systemd/user
				printf '[Service]\nExecStart=/bin/sh -c "echo a user weeps; exit 9"\n' >/run/systemd/user/weeper.service
				systemctl reset-failed; systemctl daemon-reload; systemctl start user@65534.service`,
			module: service("user-starter", `Type = "oneshot"; ExecStart = "/usr/bin/setpriv --reuid=65534 --clear-groups -- /usr/bin/systemctl --user start weeper.service"; Environment = "XDG_RUNTIME_DIR=/run/user/65534";`),
			units:  one("weeper.service", failed), says: "weeper.service of user 65534: failed", after: "systemctl stop user@65534.service",
		},
	}},
	{name: "what runs on", code: report.Unhealthy, verify: true, faults: []fault{
		{
			// As when somebody starts a service again between its stop and the moment when
			// systemd reads the new units: the start of the new one does nothing.
			name: "a process runs on as it was", before: ran("overtaken"), module: service("overtaken", sh(forEver)), after: "rm /run/systemd/system/overtaken.service",
			units: one("overtaken.service", "new: runs on as it was before"), says: "its unit has changed since it was started",
		},
		{
			name: "a process that is not to be restarted", before: ran("lasting"), module: service("lasting", sh(forEver)) + "systemd.services.lasting.restartIfChanged = false;\n",
			units: one("lasting.service", "remark: runs on as it was before"), says: "declared not to be restarted", after: "rm /run/systemd/system/lasting.service",
		},
	}},
	{name: "what the bus did not live to tell", code: report.Unhealthy, faults: []fault{
		{
			name: "the bus is lost in the middle of the switch", module: `system.activationScripts.cut = "${pkgs.busybox}/bin/busybox pkill -f systemd-stdio-bridge || true";` +
				service("lost", `Type = "oneshot"; `+sh("exit 1")) + service("needs-lost", sh(forEver)) + `
				systemd.services.needs-lost = { requires = [ "lost.service" ]; after = [ "lost.service" ]; };` +
				service("loop-lost", `Restart = "always"; RestartSec = 1; `+sh("exit 1")) + "systemd.services.loop-lost.startLimitIntervalSec = 0;\n",
			units: map[string]string{"lost.service": failed, "needs-lost.service": down, "loop-lost.service": loops},
		},
	}},
}

// TestDeploymentVerdicts brings faults about, and looks at what a run says of
// them: on the bus of the machine, and without it.
func TestDeploymentVerdicts(t *testing.T) {
	table := &measurements{all: map[string]map[string]float64{}}
	t.Cleanup(func() { t.Logf("seconds from the end of the switch until a fault was known:\n%s", table) })
	container := func(w *world) *guest.Guest { return w.boot(guest.Container) }
	older := func(w *world) *guest.Guest { return w.bootSuite(debian.Bookworm) }
	vm := func(w *world) *guest.Guest { return w.boot(guest.VM) }
	for _, way := range []struct {
		name    string
		boot    func(*world) *guest.Guest
		prepare string   // script on the machine
		but     []string // units that are well there
		only    []string // faults of the table that one deployment brings about, all of it when empty
	}{
		{name: "on the bus", boot: container},
		// It starts what requires a unit that can't be loaded, unless it is to follow it.
		{name: "on the bus of systemd 252", boot: older, but: []string{"needs-masked.service", "needs-none.service"}},
		{name: "by the journal", boot: container, prepare: "mv /usr/bin/systemd-stdio-bridge /usr/bin/systemd-stdio-bridge.away"},
		// A virtual machine has a kernel and an init of its own, but takes its time:
		// faster loops than these leave an emulated one none for us.
		{name: "in a virtual machine", boot: vm, only: []string{
			"a oneshot fails", "a service exits at once", "the program is missing", "a service of a timer fails",
			"the port of a socket is taken", "a loop with 2 s between", "the start limit is hit", "a setting is bad",
			"what is required is masked", "what is required does not exist",
		}},
	} {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			g := way.boot(w)
			if way.prepare != "" {
				w.on(g, way.prepare)
			}
			w.write("operator/web.nix", strings.Replace(trivial, "  system.stateVersion", "  imports = [ ./fault.nix ];\n  system.stateVersion", 1))
			listened, slow := 0, 0
			deployments := everyFault
			if len(way.only) > 0 {
				deployments = []faults{sample(t, way.only)}
			}
			for _, f := range deployments {
				t.Run(f.name, func(t *testing.T) {
					o := w.as(t).bringAbout(g, f, way.but, func(fault string, s float64) { table.add(fault, way.name, s) })
					if !strings.Contains(o.stderr, "journal is read instead") {
						listened++
					}
					if strings.Contains(o.stderr, "the machine is slow") {
						slow++
					}
				})
			}
			t.Logf("%d runs listened to the bus", listened)
			// One that is slow in all of them is not listened to, as it should be.
			if len(way.only) == 0 && slow < len(deployments) {
				assert.Equal(t, listened > 0, way.prepare == "")
			}
		})
	}
}

// sample is one deployment of some faults of the table.
func sample(t *testing.T, names []string) faults {
	t.Helper()
	some := faults{name: "a sample", code: report.Unhealthy}
	for _, f := range everyFault {
		for _, one := range f.faults {
			if slices.Contains(names, one.name) {
				some.faults = append(some.faults, one)
			}
		}
	}
	assert.Equal(t, len(some.faults), len(names))
	return some
}

func (w *world) bringAbout(g *guest.Guest, f faults, but []string, measured func(fault string, seconds float64)) outcome {
	t := w.t
	t.Helper()
	want := map[string]string{}
	if slices.ContainsFunc(f.faults, func(one fault) bool { return one.within != "" }) {
		f.faults = append(slices.Clone(f.faults), fault{name: "what holds the verdict open", module: held, before: hold, within: letGo})
	}
	for _, one := range f.faults {
		maps.Copy(want, one.units)
		for _, unit := range but {
			delete(want, unit)
		}
		if one.before != "" {
			w.on(g, one.before)
		}
	}
	w.write("operator/fault.nix", merged(f))
	keys := maps.Clone(f.keys)
	if keys == nil {
		keys = map[string]string{}
	}
	keys["PROGRESS"] = "json"
	run := w.start(keys, "operator-ssh-web-apply")
	for _, one := range f.faults {
		if one.within != "" {
			run.await(`"text":"watching`)
			w.on(g, one.within)
		}
	}
	o := run.wait()
	assert.Check(t, o.code == f.code, "exit %d, want %d", o.code, f.code)
	compare(t, o, want)
	ends := seenAt(t, o)
	for _, one := range f.faults {
		assert.Check(t, strings.Contains(o.stderr, one.says), "%q is not in what the run said", one.says)
		for unit := range one.units {
			measured(one.name, ends(unit))
		}
		if one.after != "" {
			w.on(g, one.after)
		}
	}
	if f.verify {
		again := w.slipway(nil, "operator-ssh-web-verify")
		assert.Check(t, again.code == f.code, "verify: exit %d, want %d", again.code, f.code)
		for unit, fault := range want {
			want[unit] = strings.Replace(fault, "new:", "present:", 1)
		}
		compare(t, again, want)
	}
	return o
}

// compare holds the units in the record of a run to those that must be there.
func compare(t *testing.T, o outcome, want map[string]string) {
	t.Helper()
	got := map[string]string{}
	for i, u := range o.record.Units {
		again := slices.ContainsFunc(o.record.Units[:i], func(other report.Unit) bool {
			return other.Name == u.Name && other.User == u.User && other.Container == u.Container
		})
		assert.Check(t, !again, "%s is in the record twice", u.Name)
		got[u.Name] = u.Class + ": " + u.Fault
		if strings.HasSuffix(want[u.Name], ": ") && strings.HasPrefix(got[u.Name], want[u.Name]) {
			got[u.Name] = want[u.Name]
		}
	}
	if len(got)+len(want) > 0 {
		assert.DeepEqual(t, got, want)
	}
}

// merged is the module of a deployment: all of its faults, and a mark that makes
// it another system than the last.
func merged(f faults) string {
	var b strings.Builder
	fmt.Fprintf(&b, "{ pkgs, ... }: {\n  imports = [\n    { environment.etc.round.text = %q; }\n", f.name)
	for _, one := range f.faults {
		for text := range strings.SplitSeq(one.module, "\n\n") {
			fmt.Fprintf(&b, "    { %s }\n", text)
		}
	}
	b.WriteString("  ];\n}\n")
	return b.String()
}

// seenAt tells of each unit how long after the end of the switch a run named it,
// at the latest in its verdict.
func seenAt(t *testing.T, o outcome) func(unit string) float64 {
	t.Helper()
	var switched, last time.Time
	said := map[string]time.Time{}
	for line := range strings.Lines(o.stderr) {
		var e struct {
			Time    time.Time `json:"time"`
			Kind    string    `json:"kind"`
			Step    string    `json:"step"`
			Text    string    `json:"text"`
			Seconds float64   `json:"seconds"`
		}
		if json.Unmarshal([]byte(line), &e) != nil {
			continue
		}
		switch {
		case e.Step == "switch" && e.Kind == "step" && e.Seconds > 0:
			switched = e.Time
		case e.Step == "verdict":
			last = e.Time
			name, _, _ := strings.Cut(strings.TrimPrefix(e.Text, "seen: "), ":")
			name, _, _ = strings.Cut(name, " of user ")
			if _, known := said[name]; !known {
				said[name] = e.Time
			}
		}
	}
	return func(unit string) float64 {
		at, ok := said[unit]
		if !ok {
			at = last
		}
		return at.Sub(switched).Seconds()
	}
}

// TestDeploymentVerdictsOfProbes asks a machine for what it was declared to
// answer: on its port 3000 there must be a page.
func TestDeploymentVerdictsOfProbes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	g := w.boot(guest.Container)
	// The server answers all the while, with 404 until its page is there.
	server := func(page string) string {
		return service("page", sh("rm -rf /run/page; mkdir -p /run/page/api; "+page+" exec ${pkgs.busybox}/bin/busybox httpd -f -p 3000 -h /run/page"))
	}
	for _, c := range []struct {
		name    string
		module  string
		before  string
		limit   string // where nothing ends the verdict before
		code    report.Code
		outcome string
		says    string
	}{
		{name: "right after a while", module: server("(sleep 4; echo well >/run/page/api/healthz) &"), outcome: "right"},
		{name: "another status", module: server(""), limit: "20s", code: report.Unhealthy, outcome: "wrong", says: "HTTP status 404 instead of 200"},
		{name: "nobody there", limit: "9s", code: report.Unhealthy, outcome: "wrong", says: "probe forgejo (http://127.0.0.1:3000/api/healthz): "},
		{
			name: "nobody may ask", module: server("echo well >/run/page/api/healthz;"), limit: "9s", code: report.Unknown, outcome: "unknown", says: "not carried out",
			before: "echo AllowTcpForwarding no >>/etc/ssh/sshd_config; systemctl restart ssh",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := w.as(t)
			if c.before != "" {
				w.on(g, c.before)
			}
			w.write("operator/forge.nix", strings.Replace(trivial, "  system.stateVersion", c.module+"  environment.etc.round.text = \""+c.name+"\";\n  system.stateVersion", 1))
			o := w.slipway(map[string]string{"VERDICT_TIMEOUT": c.limit}, "operator-ssh-forge-apply")
			assert.Equal(t, o.code, c.code)
			assert.Equal(t, len(o.record.Probes), 1)
			assert.Equal(t, o.record.Probes[0].Outcome, c.outcome)
			assert.Assert(t, strings.Contains(o.stderr, c.says), "%q is not in what the run said", c.says)
		})
	}
}

// measurements are seconds by fault and way of looking.
type measurements struct {
	mu  sync.Mutex
	all map[string]map[string]float64
}

func (m *measurements) add(fault, way string, seconds float64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.all[fault] == nil {
		m.all[fault] = map[string]float64{}
	}
	m.all[fault][way] = max(seconds, m.all[fault][way])
}

// String is a table.
func (m *measurements) String() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(m.all)) {
		fmt.Fprintf(&b, "%-45s", name)
		for _, way := range slices.Sorted(maps.Keys(m.all[name])) {
			fmt.Fprintf(&b, "  %s %5.1f", way, m.all[name][way])
		}
		b.WriteString("\n")
	}
	return b.String()
}

// TestDeploymentVerdictsDuringTheCommit has a service that lives until its system is
// made the default at boot: the run that found it healthy must not end well.
func TestDeploymentVerdictsDuringTheCommit(t *testing.T) {
	for _, way := range []struct{ name, prepare string }{
		{name: "on the bus"},
		{name: "by the journal", prepare: "mv /usr/bin/systemd-stdio-bridge /usr/bin/systemd-stdio-bridge.away"},
	} {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			g := w.boot(guest.Container)
			if way.prepare != "" {
				w.on(g, way.prepare)
			}
			assert.Equal(t, w.slipway(nil, "operator-ssh-web-apply").code, report.Healthy)
			mortal := service("mortal", sh(`p=/nix/var/nix/profiles/system; was=$(readlink $p); while [ $(readlink $p) = $was ]; do sleep 0.05; done; echo alas; exit 9`))
			w.write("operator/web.nix", strings.Replace(trivial, "  system.stateVersion", mortal+"  system.stateVersion", 1))
			o := w.slipway(nil, "operator-ssh-web-apply")
			assert.Equal(t, o.code, report.Unhealthy)
			compare(t, o, one("mortal.service", failed))
			assert.Assert(t, strings.Contains(o.stderr, "the new system stays in place"), o.stderr)
			assert.Equal(t, o.record.Generation, 2)
		})
	}
}
