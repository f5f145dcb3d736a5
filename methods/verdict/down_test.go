package verdict

import (
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
)

// judgedOnce gives what one look finds at a unit: "class fault (why)", or
// nothing.
func judgedOnce(u Unit, was *Unit, others ...Unit) string {
	var base *Sample
	if was != nil {
		base = &Sample{Boot: "0a", Now: 100 * second, Units: []Unit{target, *was}}
	}
	v := newView(base, Sample{Boot: "0a", Now: 200 * second, Units: append([]Unit{target, u}, others...)}, nil, 100*second)
	for _, f := range v.findings(false) {
		if f.Unit.key() == u.key() {
			return strings.TrimSpace(string(f.Class) + " " + string(f.Fault) + " (" + f.Why + ")")
		}
	}
	return ""
}

// down is a wanted service that was up, and is down.
func down(change func(*Unit)) Unit {
	return unit(func(u *Unit) {
		u.Active, u.Sub, u.ExitCode, u.Left, u.Exited, u.Down, u.Changed = "inactive", "dead", exited, 150*second, 150*second+1, 150*second+2, 150*second+2
		if change != nil {
			change(u)
		}
	})
}

func never(change func(*Unit)) Unit {
	return unit(func(u *Unit) {
		*u = Unit{Name: u.Name, Load: "loaded", Active: "inactive", Sub: "dead", Result: "success", Type: "simple", WantedBy: u.WantedBy}
		if change != nil {
			change(u)
		}
	})
}

func TestWhatIsDown(t *testing.T) {
	up := unit(nil)
	stopped := "is no longer up (though it is wanted by multi-user.target)"
	for _, c := range []struct {
		name   string
		unit   Unit
		was    *Unit
		others []Unit
		want   string
	}{
		{name: "stopped by hand, and it ended with status 0", unit: down(nil), want: stopped},
		{name: "stopped by hand, in this run", unit: down(nil), was: &up, want: stopped},
		{name: "stopped by hand, a oneshot that remains", unit: down(func(u *Unit) { u.Type, u.Remains = "oneshot", true }), want: stopped},
		{name: "ended by a signal from elsewhere", unit: down(func(u *Unit) { u.ExitCode, u.ExitStatus, u.Left = killed, 15, 150*second+1 }), want: stopped},
		{name: "ended by itself", unit: down(func(u *Unit) { u.Left = u.Exited + 1 }), want: "remark ended by itself (exit status 0 after 2m20s)"},
		{name: "ended by itself, and its failure was reset", unit: down(func(u *Unit) { u.Left, u.ExitStatus = u.Exited+1, 1 }), want: stopped},
		{name: "a oneshot that is done", unit: down(func(u *Unit) { u.Type = "oneshot" })},
		{name: "its conditions are not met", unit: never(func(u *Unit) { u.Tried, u.Skipped = 10*second, true })},
		{name: "its condition by a command is not met", unit: down(func(u *Unit) { u.Result = "exec-condition" })},
		{name: "is wanted by nothing that is up", unit: down(func(u *Unit) { u.WantedBy = []string{"graphical.target"} })},
		{name: "is wanted by what came up without a start", unit: down(func(u *Unit) { u.WantedBy = []string{"x.mount"} }), others: []Unit{{Name: "x.mount", Active: "active"}}},
		{name: "is required, and down", unit: down(func(u *Unit) { u.RequiredBy, u.WantedBy = u.WantedBy, nil }), want: stopped},
		{name: "will be started", unit: never(func(u *Unit) { u.Job = true })},
		{name: "waits for its first use", unit: never(func(u *Unit) { u.TriggeredBy = []string{"web.socket"} }), others: []Unit{{Name: "web.socket", Active: "active"}}},
		{
			name: "waits for its first use, since this run", unit: down(func(u *Unit) { u.TriggeredBy = []string{"web.socket"} }), was: &up,
			others: []Unit{{Name: "web.socket", Active: "active"}}, want: "remark is no longer up, and waits for its first use ()",
		},
		{
			name: "went when it had nothing to do", unit: down(func(u *Unit) { u.TriggeredBy, u.Left = []string{"web.socket"}, u.Exited+1 }), was: &up,
			others: []Unit{{Name: "web.socket", Active: "active"}},
		},
		{
			name: "nobody listens for its first use", unit: down(func(u *Unit) { u.TriggeredBy = []string{"web.socket"} }),
			others: []Unit{{Name: "web.socket", Active: "inactive"}}, want: stopped,
		},
		{
			name: "was never tried", unit: never(nil),
			want: "did not start (wanted by multi-user.target, and nothing tried to start it: systemd drops starts that wait for each other)",
		},
		{
			name: "was never tried, a oneshot", unit: never(func(u *Unit) { u.Type = "oneshot" }),
			want: "did not start (wanted by multi-user.target, and nothing tried to start it: systemd drops starts that wait for each other)",
		},
		{
			name: "can't be up with what is", unit: never(func(u *Unit) { u.Conflicts = []string{"shutdown.target", "other.service"} }), others: []Unit{{Name: "other.service", Active: "active"}},
			want: "did not start (wanted by multi-user.target, and nothing tried to start it; it conflicts with other.service)",
		},
		{
			name: "was stopped by what it can't be up with", unit: down(func(u *Unit) { u.Conflicts = []string{"other.service"} }), others: []Unit{{Name: "other.service", Active: "active"}},
			want: "is no longer up (though it is wanted by multi-user.target; it conflicts with other.service)",
		},
		{
			name: "what it needs is down", unit: never(func(u *Unit) { u.Requires = []string{"db.service"} }), others: []Unit{{Name: "db.service", Load: "loaded", Active: "inactive"}},
			want: "did not start (wanted by multi-user.target, and nothing tried to start it; what it needs is not up: db.service)",
		},
		{
			name: "a console that a display manager has taken", unit: never(func(u *Unit) { u.Name, u.Conflicts = "getty@tty1.service", []string{"display.service"} }),
			others: []Unit{{Name: "display.service", Active: "active"}},
		},
		{
			name: "a file system whose device may be absent", unit: never(func(u *Unit) { u.Name, u.Type, u.Requires = "srv.mount", "", []string{"dev-sdz.device"} }),
			want: "remark did not start (wanted by multi-user.target, and nothing tried to start it: systemd drops starts that wait for each other)",
		},
		{name: "swap in a container", unit: never(func(u *Unit) { u.Name, u.Type, u.Tried = "dev-zram0.swap", "", 10*second })},
		{name: "a timer that has done what it is for", unit: down(func(u *Unit) { u.Name, u.Type, u.Spent = "once.timer", "", true })},
		{name: "a unit of a user", unit: down(func(u *Unit) { u.User = "1000" }), others: []Unit{{Name: "multi-user.target", User: "1000", Active: "active"}}, want: "remark " + stopped},
		{name: "the target of the machine", unit: Unit{Name: "graphical.target", Load: "loaded", Active: "inactive", Default: true}, want: "did not start (the machine is to start it at boot)"},
		{name: "the target of the machine, which was up", unit: Unit{Name: "graphical.target", Load: "loaded", Active: "inactive", Default: true, Up: second}, want: "is no longer up (the machine is to start it at boot)"},
		{name: "the target of the machine, which comes up", unit: Unit{Name: "graphical.target", Load: "loaded", Active: "inactive", Default: true, Job: true}},
		{
			name: "a timer without a next time", unit: Unit{Name: "vain.timer", Load: "loaded", Active: "active", Sub: "elapsed", Vain: true},
			want: "remark has no next time (and has never fired)",
		},
		{name: "a container", unit: unit(func(u *Unit) { u.Name = "container@web.service" }), want: "remark is not looked into (its own units may be unwell; only the container itself was judged)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			assert.Equal(t, judgedOnce(c.unit, c.was, c.others...), c.want)
		})
	}
}

// What the baseline has down is old, but for the target of the machine: nothing
// is proved while that is down.
func TestWhatWasDownBefore(t *testing.T) {
	stopped := web("inactive", "FragmentPath=/etc/web", "ConditionTimestampMonotonic=1000000", "ActiveEnterTimestampMonotonic=1000000", "StateChangeTimestampMonotonic=2000000")
	rescued := "Id=multi-user.target\nNames=multi-user.target default.target\nLoadState=loaded\nSubState=dead\nActiveState=inactive\nFragmentPath=/etc/multi-user"
	for _, c := range []struct{ name, before, after, want string }{
		{"stopped before", stopped, stopped, "web.service: old is no longer up"},
		{"stopped by this run", web("active", "FragmentPath=/etc/web"), stopped, "web.service: new is no longer up"},
		{"in rescue before", rescued, rescued, "multi-user.target: new did not start"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := judged(t, &machine{samples: []any{printed(100, c.before), printed(110, c.after)}}, Options{})
			assert.NilError(t, s.err)
			assert.Equal(t, faultsOf(s.Verdict), c.want)
		})
	}
}

func TestTimersThatNeverFire(t *testing.T) {
	for text, want := range map[string]bool{
		"LastTriggerUSec=\nNextElapseUSecMonotonic=infinity\nNextElapseUSecRealtime=\nTimersMonotonic={ OnUnitActiveUSec=1h ; next_elapse=0 }":                                                           true,
		"LastTriggerUSec=\nNextElapseUSecMonotonic=infinity\nNextElapseUSecRealtime=\nTimersCalendar={ OnCalendar=2020-01-01 00:00:00 ; next_elapse=(null) }":                                            true,
		"LastTriggerUSec=\nNextElapseUSecMonotonic=infinity\nNextElapseUSecRealtime=\nTimersMonotonic={ OnBootUSec=15min ; next_elapse=15min }":                                                          false,
		"LastTriggerUSec=\nNextElapseUSecMonotonic=infinity\nNextElapseUSecRealtime=\nTimersMonotonic={ OnUnitActiveUSec=1d ; next_elapse=0 }\nTimersMonotonic={ OnBootUSec=15min ; next_elapse=15min }": true,
		"LastTriggerUSec=\nNextElapseUSecMonotonic=17min 2s\nNextElapseUSecRealtime=\nTimersMonotonic={ OnBootUSec=15min ; next_elapse=15min }":                                                          false,
		"LastTriggerUSec=\nNextElapseUSecMonotonic=infinity\nNextElapseUSecRealtime=Tue 2026-12-01 00:00:00 UTC\nTimersCalendar={ OnCalendar=daily ; next_elapse=(null) }":                               false,
		"LastTriggerUSec=Tue 2026-12-01 00:00:00 UTC\nNextElapseUSecMonotonic=infinity\nNextElapseUSecRealtime=\nTimersCalendar={ OnCalendar=2026-12-01 00:00:00 ; next_elapse=(null) }":                 false,
	} {
		u, err := unitOf(pairs("Id=a.timer\nActiveState=active\nSubState=elapsed\n" + text))
		assert.NilError(t, err)
		assert.Equal(t, u.Vain, want, text)
	}
}

func TestWhoseUnitsAreOurs(t *testing.T) {
	for name, want := range map[string]bool{
		"slipway-switch-20261130-234853-0123456789.service": true, "slipway-guard-20261130-234853-0123456789.service": true,
		"slipway-commit-20261130-234853-0123456789.service": true, "slipway-reboot.service": true,
		"slipway-nightly.service": false, "slipway-switchboard.service": false, "slipway-switch-office.service": false, "slipway-reboots.service": false,
	} {
		assert.Equal(t, Unit{Name: name, Transient: true}.ours(), want, name)
		assert.Equal(t, Unit{Name: name}.ours(), false, "somebody declared %s", name)
	}
}

func TestWorkThatBeginsAgain(t *testing.T) {
	ended := func(result string) event {
		return event{at: 150 * second, unit: "web.service", kind: ended, result: result}
	}
	waiting := func(u *Unit) {
		u.Active, u.Sub, u.Restart, u.ExitCode, u.Delay, u.Changed = "activating", "auto-restart", "always", exited, 10*time.Minute, 199*second
	}
	for _, c := range []struct {
		name   string
		unit   Unit
		events []event
		want   Fault
	}{
		{name: "ended well, and waits", unit: unit(waiting), want: Periodic},
		{name: "ended well, and has begun again", unit: unit(func(u *Unit) { u.Restart, u.Delay, u.Restarts, u.Started = "always", 10*second, 5, 199*second }), events: []event{ended("success"), again(199*second, 5)}, want: Periodic},
		{name: "ended ill, and has begun again", unit: unit(func(u *Unit) { u.Restart, u.Delay, u.Restarts, u.Started = "always", 10*second, 5, 199*second }), events: []event{ended("exit-code"), again(199*second, 5)}, want: RestartLoop},
		{name: "ended, nobody knows how", unit: unit(func(u *Unit) { u.Restart, u.Delay, u.Restarts, u.Started = "always", 10*second, 5, 199*second }), events: []event{again(199*second, 5)}, want: RestartLoop},
		{name: "ended ill, and waits for long", unit: unit(func(u *Unit) { waiting(u); u.ExitStatus = 1 }), want: FailedUnit},
		{name: "ends well, and begins again at once", unit: unit(func(u *Unit) { waiting(u); u.Delay, u.Restarts = second, 3 }), want: RestartLoop},
		{name: "is not to end", unit: unit(func(u *Unit) { waiting(u); u.Restart = "on-failure" }), want: FailedUnit},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := newView(nil, Sample{Boot: "0a", Now: 200 * second, Units: []Unit{target, c.unit}}, c.events, 0)
			v.limit = 260 * second
			f := v.findings(false)
			assert.Equal(t, len(f), 1)
			assert.Equal(t, f[0].Fault, c.want)
			if c.want == Periodic {
				assert.Assert(t, v.waits().over())
			}
		})
	}
}

func TestServicesThatOthersStartAgainAndAgain(t *testing.T) {
	starts := func(at ...int) []event {
		var all []event
		for _, moment := range at {
			all = append(all, event{at: time.Duration(moment) * second, unit: "web.service", kind: started})
		}
		return all
	}
	since := func(at int) func(*Unit) {
		moment := time.Duration(at) * second
		return func(u *Unit) { u.Started, u.Changed = moment, moment }
	}
	for _, c := range []struct {
		name   string
		unit   Unit
		events []event
		first  time.Duration // when the first look was taken
		found  bool
		waits  bool
	}{
		{name: "three times, the last under our eyes", unit: unit(since(199)), events: starts(197, 198, 199), first: 198 * second, found: true},
		{name: "three times, before we looked", unit: unit(since(199)), events: starts(197, 198, 199), first: 200 * second, waits: true},
		{name: "three times, a while ago", unit: unit(since(150)), events: starts(148, 149, 150), first: 200 * second},
		{name: "twice, as by a switch", unit: unit(since(199)), events: starts(198, 199), first: 200 * second},
		{name: "by hand, now and then", unit: unit(since(199)), events: starts(100, 150, 199), first: 198 * second},
		{name: "long ago, and twice in a row", unit: unit(since(199)), events: starts(100, 198, 199), first: 198 * second, waits: true},
		{name: "by systemd", unit: unit(func(u *Unit) { since(199)(u); u.Restarts = 0 }), events: starts(199), first: 198 * second},
		{name: "by a timer", unit: unit(func(u *Unit) { since(199)(u); u.Type = "oneshot" }), events: starts(197, 198, 199), first: 198 * second},
		{name: "by a socket", unit: unit(func(u *Unit) { since(199)(u); u.TriggeredBy = []string{"web.socket"} }), events: starts(197, 198, 199), first: 198 * second},
		{name: "and nothing wants it to be up", unit: unit(func(u *Unit) { since(199)(u); u.WantedBy = nil }), events: starts(197, 198, 199), first: 198 * second},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := newView(nil, Sample{Boot: "0a", Now: 200 * second, Units: []Unit{target, c.unit}}, c.events, 0)
			v.first = c.first
			assert.Equal(t, len(v.findings(false)) == 1, c.found)
			assert.Equal(t, !v.waits().over(), c.waits)
		})
	}
}

// A unit that had died already, and dies again while we watch, is as old as it
// was; one that ran is not.
func TestAUnitThatHadDiedBefore(t *testing.T) {
	waiting := strings.NewReplacer("SubState=x", "SubState=auto-restart").Replace(web("activating", "FragmentPath=/etc/web", "Restart=always", "RestartUSec=5s",
		"ExecMainCode=1", "ExecMainStatus=1", "ExecMainStartTimestampMonotonic=99000000", "ExecMainExitTimestampMonotonic=99500000", "StateChangeTimestampMonotonic=99500000"))
	looping := strings.NewReplacer("NRestarts=0", "", "99000000", "104000000", "99500000", "109500000").Replace(waiting) + "\nNRestarts=1"
	for before, want := range map[string]string{
		waiting:                                "web.service: old restarts again and again",
		web("active", "FragmentPath=/etc/web"): "web.service: new restarts again and again",
	} {
		s := judged(t, &machine{samples: []any{printed(100, before), printed(110, looping)}}, Options{})
		assert.NilError(t, s.err)
		assert.Equal(t, faultsOf(s.Verdict), want)
	}
}

func TestAUnitIsWatchedUntilTheEndsThatItSets(t *testing.T) {
	for _, c := range []struct {
		change func(*Unit)
		until  time.Duration
	}{
		{func(u *Unit) { u.Watchdog = 20 * second }, 219 * second},
		{func(u *Unit) { u.Longest = 5 * second }, 204 * second},
		{func(u *Unit) { u.Watchdog, u.Longest = 3*time.Minute, forever }, 199 * second},
	} {
		v := newView(&Sample{Boot: "0a"}, Sample{Boot: "0a", Now: 198 * second, Units: []Unit{unit(func(u *Unit) { u.Started = 197 * second; c.change(u) })}}, nil, 100*second)
		assert.Equal(t, v.waits().until, c.until)
	}
}
