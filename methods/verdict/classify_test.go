package verdict

import (
	"errors"
	"testing"
	"time"

	"gotest.tools/v3/assert"
)

// unit is a service that is well and that an active target wants.
func unit(change func(*Unit)) Unit {
	u := Unit{
		Name: "web.service", Load: "loaded", Active: "active", Sub: "running", Result: "success", Type: "simple", Restart: "no", Invocation: "0a",
		Delay: 100 * time.Millisecond, Started: 10 * second, Up: 10 * second, Changed: 10 * second, Tried: 10 * second, WantedBy: []string{"multi-user.target"},
	}
	if change != nil {
		change(&u)
	}
	return u
}

func state(active, sub string) func(*Unit) {
	return func(u *Unit) { u.Active, u.Sub = active, sub }
}

var target = Unit{Name: "multi-user.target", Load: "loaded", Active: "active", Sub: "active"}

// The baseline is of 100 s after boot, the present look of 200 s, unless a case
// says otherwise.
func TestEachRule(t *testing.T) {
	restarting := func(n int, life time.Duration) func(*Unit) {
		return func(u *Unit) {
			u.Active, u.Sub, u.Restarts, u.Restart = "activating", "auto-restart", n, "always"
			u.Exited, u.Started, u.Changed = 200*second, 200*second-life, 200*second
		}
	}
	runsSince := func(n int, since time.Duration) func(*Unit) {
		return func(u *Unit) {
			u.Restarts, u.Started, u.Changed, u.Exited, u.Restart = n, since, since, since-200*time.Millisecond, "always"
		}
	}
	for _, c := range []struct {
		name   string
		unit   Unit
		was    *Unit
		others []Unit
		events []event
		one    bool   // a look at a machine that was not changed
		other  bool   // one look, and another run has changed the machine
		want   Fault  // empty: nothing
		why    string // in its line
		waits  bool
		stuck  Fault // when the time is up, where that differs
	}{
		{name: "runs", unit: unit(nil)},
		{name: "ended well", unit: unit(func(u *Unit) { u.Type, u.Active, u.Sub = "oneshot", "inactive", "dead" })},
		{name: "is not wanted", unit: unit(func(u *Unit) { u.Active, u.WantedBy = "inactive", nil })},
		{name: "failed", unit: unit(state("failed", "failed")), want: FailedUnit},
		{name: "failed, with a job that will try again", unit: unit(func(u *Unit) { u.Active, u.Job = "failed", true }), want: FailedUnit},
		{name: "failed after restarts", unit: unit(func(u *Unit) { u.Active, u.Restarts = "failed", 5 }), want: FailedUnit, why: "gave up restarting it"},
		{
			name: "could not be set up", unit: unit(func(u *Unit) { u.Active, u.ExitCode, u.ExitStatus = "failed", exited, 217 }), want: FailedUnit,
			why: "exit status 217: its user is unknown",
		},
		{name: "was killed", unit: unit(func(u *Unit) { u.Active, u.ExitCode, u.ExitStatus = "failed", killed, 11 }), want: FailedUnit, why: "killed by SIGSEGV"},

		{name: "starts", unit: unit(state("activating", "start")), waits: true, stuck: StillStarts},
		{name: "reloads", unit: unit(state("reloading", "reload")), waits: true, stuck: StillStarts},
		{name: "stops", unit: unit(state("deactivating", "stop")), waits: true, stuck: StillStops},
		{name: "has yet to start", unit: unit(func(u *Unit) { u.Active, u.Job = "inactive", true }), waits: true, stuck: StillStarts},
		{name: "runs, with a job", unit: unit(func(u *Unit) { u.Job = true })},
		{name: "is a device that udev never announced", unit: unit(func(u *Unit) { u.Name, u.Active, u.Sub = "dev-ttyS0.device", "activating", "tentative" })},
		{name: "is a session that ends", unit: unit(func(u *Unit) {
			u.Name, u.Active, u.Sub, u.WantedBy = "session-1.scope", "deactivating", "stop-sigterm", nil
		})},
		{name: "is a scope that failed", unit: unit(func(u *Unit) { u.Name, u.Active, u.Result, u.WantedBy = "run-1.scope", "failed", "timeout", nil }), want: FailedUnit},
		{
			name: "works since before the change", unit: unit(func(u *Unit) { u.Type, u.Active, u.Sub = "oneshot", "activating", "start" }),
			was: new(unit(func(u *Unit) { u.Type, u.Active, u.Sub = "oneshot", "activating", "start" })),
		},
		{
			name: "works because a timer said so", one: true,
			unit: unit(func(u *Unit) {
				u.Type, u.Active, u.Sub, u.WantedBy, u.TriggeredBy = "oneshot", "activating", "start", nil, []string{"web.timer"}
			}),
		},

		{name: "was started just now", unit: unit(func(u *Unit) { u.Started = 199 * second }), waits: true},
		{name: "was started a while ago", unit: unit(func(u *Unit) { u.Started = 197 * second })},
		{name: "was started just now, before one look", one: true, unit: unit(func(u *Unit) { u.Started = 199 * second })},
		{name: "was started just now, before one look after another run", other: true, unit: unit(func(u *Unit) { u.Started = 199 * second }), waits: true},
		{name: "was started a while ago, before one look after another run", other: true, unit: unit(func(u *Unit) { u.Started = 197 * second })},
		{name: "would be restarted slowly", unit: unit(func(u *Unit) { u.Started, u.Restart, u.Delay = 195*second, "always", 5*second }), waits: true},
		{name: "would be restarted slowly, and has lived for long", unit: unit(func(u *Unit) { u.Started, u.Restart, u.Delay = 192*second, "always", 5*second })},

		{name: "waits for its first restart", unit: unit(restarting(0, second)), waits: true, stuck: StillStarts},
		{
			name: "waits for a restart that is hours away", unit: unit(func(u *Unit) { restarting(0, second)(u); u.Delay = 5 * time.Hour }),
			want: FailedUnit, why: "its restart is due after more",
		},
		{name: "waits for its second restart", unit: unit(restarting(1, second)), want: RestartLoop},
		{name: "starts after two restarts", unit: unit(func(u *Unit) { restarting(2, second)(u); u.Sub = "start" }), want: RestartLoop},
		{
			name: "is up at the moment", unit: unit(runsSince(2, 199*second)), events: []event{again(195*second, 1), again(199*second, 2)},
			want: RestartLoop, why: "2 restarts",
		},
		{name: "is up at the moment, and nothing was heard", unit: unit(runsSince(2, 199*second)), want: RestartLoop},
		{name: "grew over the baseline", unit: unit(runsSince(9, 199*second)), was: new(unit(runsSince(7, 90*second))), want: RestartLoop},
		{name: "was restarted once just now", unit: unit(runsSince(1, 195*second)), events: []event{again(195*second, 1)}, want: Recovered, waits: true},
		{
			name: "was restarted once, and lives longer", unit: unit(runsSince(1, 189*second)),
			events: []event{{at: 187 * second, unit: "web.service", kind: started}, again(189*second, 1)}, want: Recovered, why: "for 11s",
		},
		{
			name: "lived long before it was restarted", unit: unit(runsSince(1, 180*second)),
			events: []event{{at: 150 * second, unit: "web.service", kind: started}, again(180*second, 1)}, want: Recovered, waits: true,
		},
		{
			name: "was restarted twice, and lives longer", unit: unit(runsSince(2, 180*second)),
			events: []event{{at: 176 * second, unit: "web.service", kind: started}, again(178*second, 1), again(180*second, 2)}, want: Recovered,
		},
		{name: "was restarted long ago", unit: unit(runsSince(7, 50*second)), was: new(unit(runsSince(7, 50*second)))},
		{
			name: "was mended by the switch", unit: unit(func(u *Unit) { u.Started = 150 * second }), was: new(unit(runsSince(40, 99*second))),
			events: []event{again(105*second, 41), again(110*second, 42)},
		},
		{name: "restarts of late, seen in one look", one: true, unit: unit(runsSince(12, 190*second)), events: []event{again(150*second, 11), again(190*second, 12)}, want: RestartLoop},
		{name: "a restart just now, seen in one look", one: true, unit: unit(runsSince(1, 195*second)), events: []event{again(195*second, 1)}, want: Recovered, waits: true},
		{name: "restarts of a while ago, seen in one look", one: true, unit: unit(func(u *Unit) { u.Restarts = 7 }), want: Recovered},

		{name: "what it needs failed", unit: unit(state("inactive", "dead")), events: []event{{at: 150 * second, unit: "web.service", kind: finished, result: "dependency"}}, want: NotStarted},
		{
			name: "what it needs failed, and nothing was heard", unit: unit(func(u *Unit) { u.Active, u.Tried, u.Requires = "inactive", 0, []string{"db.service"} }),
			others: []Unit{{Name: "db.service", Load: "loaded", Active: "failed"}}, want: NotStarted, why: "what it needs is not up: db.service",
		},
		{
			name: "what it needs does not exist", unit: unit(func(u *Unit) { u.Active, u.Tried, u.Requires = "inactive", 0, []string{"db.service"} }),
			others: []Unit{{Name: "db.service", Load: "not-found", Active: "inactive"}}, want: NotStarted, why: "can't be loaded: db.service",
		},
		{name: "its assertions are not met", unit: unit(func(u *Unit) { u.Active, u.AssertFail, u.Tried = "inactive", true, 150*second }), want: NotStarted, why: "assertions"},
		{name: "its job was cancelled", unit: unit(state("inactive", "dead")), events: []event{{at: 150 * second, unit: "web.service", kind: finished, result: "canceled"}}, want: Stopped},
		{
			name: "its first start failed, and a later one did not", unit: unit(nil),
			events: []event{{at: 150 * second, unit: "web.service", kind: finished, result: "failed"}, {at: 151 * second, unit: "web.service", kind: finished, result: "done"}},
			want:   Retried, why: "its start ended with: failed",
		},

		{name: "can't be read", unit: unit(func(u *Unit) { u.Load, u.LoadError, u.Active = "bad-setting", "it is bad", "inactive" }), want: NotLoaded, why: "it is bad"},
		{name: "can't be read, and nobody wants it", unit: unit(func(u *Unit) { u.Load, u.Active, u.WantedBy = "error", "inactive", nil })},
		{name: "does not exist, and is wanted", unit: unit(func(u *Unit) { u.Load, u.Active = "not-found", "inactive" })},
		{
			name: "does not exist, and is required", unit: unit(func(u *Unit) { u.Load, u.Active, u.RequiredBy = "not-found", "inactive", []string{"multi-user.target"} }),
			want: Missing, why: "needed by multi-user.target",
		},
		{name: "is masked, and is wanted", unit: unit(func(u *Unit) { u.Load, u.Active = "masked", "inactive" })},
		{name: "is masked, and is required", unit: unit(func(u *Unit) { u.Load, u.Active, u.RequiredBy = "masked", "inactive", []string{"multi-user.target"} }), want: Masked},
		{
			name: "has nothing to start", unit: unit(func(u *Unit) {
				u.Name, u.Type, u.Active, u.Changed, u.Triggers = "web.timer", "", "inactive", 0, []string{"web.service"}
			}),
			others: []Unit{{Name: "web.service", Load: "not-found", Active: "inactive"}}, want: NotStarted, why: "can't be loaded: web.service",
		},

		{name: "did not reload", unit: unit(func(u *Unit) { u.Reload, u.Changed = "exit-code", 150*second }), was: new(unit(nil)), want: ReloadFailed},
		{name: "did not reload of old", unit: unit(func(u *Unit) { u.Reload = "exit-code" }), was: new(unit(func(u *Unit) { u.Reload = "exit-code" }))},

		{
			name: "ended by itself", unit: unit(func(u *Unit) { u.Active, u.ExitCode, u.Started, u.Exited = "inactive", exited, 150*second, 153*second }),
			want: Ended, why: "exit status 0 after 3s",
		},
		{
			name: "ended for want of work", unit: unit(func(u *Unit) {
				u.Active, u.ExitCode, u.Started, u.Exited, u.TriggeredBy = "inactive", exited, 150*second, 153*second, []string{"web.socket"}
			}),
			others: []Unit{{Name: "web.socket", Load: "loaded", Active: "active"}},
		},
		{name: "was stopped by something", unit: unit(func(u *Unit) { u.Active, u.ExitCode = "inactive", killed }), was: new(unit(nil)), want: Stopped, why: "though it is wanted by multi-user.target"},
	} {
		t.Run(c.name, func(t *testing.T) {
			sample := Sample{Boot: "0a", Now: 200 * second, Clock: time.Unix(1700000200, 0), Units: append([]Unit{target, c.unit}, c.others...)}
			base := &Sample{Boot: "0a", Now: 100 * second, Units: []Unit{target}}
			if c.was != nil {
				base.Units = append(base.Units, *c.was)
			}
			if c.one || c.other {
				base = nil
			}
			v := newView(base, sample, c.events, 100*second)
			v.changed = v.changed || c.other
			v.limit = 400 * second
			of := func(findings []Finding) (Finding, Fault) {
				for _, f := range findings {
					if f.Unit.Name == c.unit.Name {
						return f, f.Fault
					}
				}
				return Finding{}, ""
			}
			found, fault := of(v.findings(false))
			assert.Equal(t, fault, c.want)
			if c.why != "" {
				assert.ErrorContains(t, said(found.String()), c.why)
			}
			assert.Equal(t, !v.waits().over(), c.waits, "waits: %v", v.waits())
			_, fault = of(v.findings(true))
			if c.stuck == "" {
				c.stuck = c.want
			}
			assert.Equal(t, fault, c.stuck, "when the time is up")
		})
	}
}

// said is a text, for an assertion about errors.
func said(text string) error { return errors.New(text) }

func TestARebootBeginsAnew(t *testing.T) {
	base := &Sample{Boot: "0a", Now: 9000 * second, Units: []Unit{target, unit(func(u *Unit) { u.Restarts = 7 })}}
	now := Sample{Boot: "0b", Now: 20 * second, Units: []Unit{target, unit(func(u *Unit) { u.Started, u.Restarts = 19*second, 2 })}}
	v := newView(base, now, []event{again(17*second, 1), again(19*second, 2)}, base.Now)
	findings := v.findings(false)
	assert.Equal(t, len(findings), 1)
	assert.Equal(t, findings[0].Fault, RestartLoop)
	assert.Equal(t, findings[0].Restarts, 2)
}

func TestUnitsThatAreGone(t *testing.T) {
	v := newView(&Sample{Boot: "0a"}, Sample{Boot: "0a", Now: 200 * second, Clock: time.Unix(1700000200, 0)}, []event{
		{at: 190 * second, unit: "gone.service", kind: finished, result: "dependency"},
		{at: 190 * second, unit: "done.service", kind: finished, result: "done"},
	}, 0)
	findings := v.findings(false)
	assert.Equal(t, len(findings), 1)
	assert.Equal(t, findings[0].String(), "gone.service: did not start (what it needs is not up, since 22:16:30 UTC)")
}

func TestManagersOfUsers(t *testing.T) {
	v := newView(nil, Sample{
		Boot: "0a", Now: 200 * second, Refused: map[string]string{"1000": "no way in", "1001": "it has ended"},
		Units: []Unit{
			{Name: "user@1000.service", Load: "loaded", Active: "active"},
			{Name: "user@1001.service", Load: "loaded", Active: "inactive"},
			{Name: "player.service", User: "1002", Load: "loaded", Active: "failed", Result: "exit-code"},
		},
	}, nil, 0)
	findings := v.findings(false)
	assert.Equal(t, len(findings), 2)
	assert.Equal(t, findings[0].String(), "user@1000.service: can't be looked at (no way in)")
	assert.Equal(t, findings[0].Class, Remark)
	assert.Equal(t, findings[1].String(), "player.service of user 1002: failed (exit-code)")
}
