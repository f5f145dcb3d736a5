package verdict

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// view is all that is known of a machine when it is judged.
type view struct {
	base    *Sample // before the change; nil where there is none
	changed bool    // what started since the watch began is the work of a change
	now     Sample
	events  map[string][]event
	since   time.Duration // when the watch began

	units map[key]Unit
	was   map[key]Unit
	calm  time.Duration // how long what was started must run before it counts as started
	first time.Duration // when the first look after the change was taken
	limit time.Duration // when the time is up
}

// settling is how long a process that this run started must live: what can't
// start at all shows within that time. On a machine where a look takes long it
// is doubled.
const settling = 2 * time.Second

// newView puts together what is known: the events are of the same boot as the
// sample. Of a machine that was rebooted since the baseline, all that runs was
// started since, and no counter goes on.
func newView(base *Sample, now Sample, events []event, since time.Duration) view {
	v := view{base: base, changed: base != nil, now: now, events: byUnit(events), since: since, units: now.index(), calm: settling, first: now.Now, limit: forever}
	if base != nil {
		v.was = base.index()
		maps.DeleteFunc(v.was, func(_ key, u Unit) bool { return !base.goesOn(u, now) })
		if base.Boot != now.Boot {
			v.was, v.since = nil, 0
		}
	}
	return v
}

func (v *view) course(u Unit) course {
	var before *Unit
	if was, ok := v.was[u.key()]; ok {
		before = &was
	}
	var events []event
	if u.ofMachine() {
		events = v.events[u.Name]
	}
	return follow(u, before, v.since, events)
}

// age is how long ago a moment was.
func (v *view) age(moment time.Duration) time.Duration { return max(0, v.now.Now-moment) }

// active tells whether one of other units of a unit's manager is active.
func (v *view) active(u Unit, names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return v.units[u.beside(name)].Active == "active" })
}

// wanted tells whether something that is active wants or requires the unit.
func (v *view) wanted(u Unit) bool {
	return v.active(u, u.WantedBy) || v.active(u, u.RequiredBy)
}

// proven is how long a process that was restarted must live before it is well
// again: twice as long as those that died.
func (c course) proven() time.Duration { return max(2*c.longest, 10*time.Second) }

// life is how long the present process has lived; of a unit without one, how
// long it is as it is.
func (v *view) life(u Unit) time.Duration {
	if u.Active == "active" && u.Started > 0 && u.Exited < u.Started {
		return v.age(u.Started)
	}
	return v.age(u.Changed)
}

// deaths counts the restarts, and the death that waits for one.
func (c course) deaths(u Unit) int {
	if u.beingRestarted() {
		return c.restarts + 1
	}
	return c.restarts
}

// loops tells whether a unit is restarted again and again: one restart may be an
// accident, the second shows that it did not help, unless the unit has lived
// long since. What the state is at the moment does not matter: most looks at a
// loop find it up.
func (v *view) loops(u Unit, c course) bool {
	if c.deaths(u) < 2 || c.periodic(u) {
		return false
	}
	if u.Active != "active" {
		return u.Active == "activating"
	}
	return v.life(u) <= c.proven()
}

// longPause is from which RestartSec on a process that ends well is taken for
// work that is done again and again on purpose.
const longPause = 3 * time.Second

// periodic tells whether a unit does its work, ends well, and is started again
// after a pause, as some people write what others write a timer for.
func (c course) periodic(u Unit) bool {
	if (u.Restart != "always" && u.Restart != "on-success") || u.Delay < longPause || u.Delay == forever || c.ill > 0 {
		return false
	}
	if u.beingRestarted() {
		return u.ExitCode == exited && u.ExitStatus == 0 && (u.Result == "" || u.Result == "success")
	}
	return c.well > 0 && c.restarts > 0
}

// busy is the time within which starts by hand follow each other in a loop.
const busy = 20 * time.Second

// beat is the longest pause between the last starts of a unit that were no
// automatic restarts, and how many of them followed each other so quickly.
func (c course) beat() (longest time.Duration, n int) {
	for n = min(1, len(c.starts)); n < len(c.starts); n++ {
		pause := c.starts[len(c.starts)-n] - c.starts[len(c.starts)-n-1]
		if pause > busy {
			break
		}
		longest = max(longest, pause)
	}
	return longest, n
}

// servesAlways tells whether the unit is a service that is to be up all the time.
// Work that ends, and what is started when it is needed, may start often.
func (v *view) servesAlways(u Unit) bool {
	return u.kind() == "service" && u.ofMachine() && u.Type != "oneshot" && len(u.TriggeredBy) == 0 && v.pulled(u)
}

// startedAgain tells whether something else than systemd starts a unit again and
// again, as a health check may: it was started three times in a row, once under
// our eyes, and its present process is not older than those.
func (v *view) startedAgain(u Unit, c course) bool {
	if len(c.starts) < 3 || c.starts[len(c.starts)-1] <= v.first || !v.servesAlways(u) {
		return false
	}
	pause, n := c.beat()
	return n >= 3 && v.life(u) <= max(2*pause, 10*time.Second)
}

// mayBeStartedAgain is until when a unit may prove to be started again and again.
func (v *view) mayBeStartedAgain(u Unit, c course) (time.Duration, bool) {
	pause, n := c.beat()
	if n < 2 || (n < 3 && c.starts[len(c.starts)-1] <= v.first) || !v.servesAlways(u) {
		return 0, false
	}
	return c.starts[len(c.starts)-1] + max(2*pause, 10*time.Second), true
}

// inProgress tells whether the unit was on its way already when the watch
// began, and is still: nothing that this run did. The same holds for work that a
// timer began.
func (v *view) inProgress(u Unit) bool {
	if u.timed() && u.Active == "activating" && !u.beingRestarted() && !v.wanted(u) {
		return true
	}
	was, ok := v.was[u.key()]
	return ok && was.moving() && u.Invocation != "" && was.Invocation == u.Invocation && was.Active == u.Active && !was.beingRestarted()
}

// dueTooLate tells whether the unit waits for a restart that will not come
// within the time that there is.
func (v *view) dueTooLate(u Unit) bool {
	return u.beingRestarted() && (u.Delay == forever || u.Changed+u.Delay > v.limit)
}

// pending is what the verdict waits for.
type pending struct {
	open  bool          // for something of which nobody knows how long it takes
	until time.Duration // or until that moment, since the boot
	units []string
}

func (w pending) over() bool { return !w.open && w.until == 0 }

// waits tells what could still change the verdict.
func (v *view) waits() pending {
	var w pending
	until := func(moment time.Duration, name string) {
		if moment > v.now.Now {
			w.until = max(w.until, moment)
			w.units = append(w.units, name)
		}
	}
	for _, u := range v.now.Units {
		c := v.course(u)
		switch {
		case v.loops(u, c), v.startedAgain(u, c), c.periodic(u), u.Active == "failed":
			// It is found already.
		case u.moving():
			if !v.inProgress(u) && !v.dueTooLate(u) {
				w.open = true
				w.units = append(w.units, u.called())
			}
		case u.Active == "active" && c.restarts > 0:
			if v.base != nil {
				until(v.now.Now+c.proven()-v.life(u), u.called())
			} else {
				until(v.now.Now+10*time.Second-v.life(u), u.called())
			}
		case v.changed && u.Active == "active" && u.Type != "" && u.Type != "oneshot" && u.Started > v.since && u.Started <= v.first+v.calm:
			until(u.Started+v.patience(u), u.called())
		}
		if moment, ok := v.mayBeStartedAgain(u, c); ok && !v.startedAgain(u, c) {
			until(moment, u.called())
		}
	}
	return w
}

// longestPatience bounds what a unit that is well so far is watched for.
const longestPatience = 30 * time.Second

// patience is how long a unit that this run started is watched while it is well:
// as long as what can't start needs to show it, as long as a restart of it would
// take, and until the ends that its own text sets.
func (v *view) patience(u Unit) time.Duration {
	wait := time.Duration(0)
	if u.Restart != "" && u.Restart != "no" {
		wait = min(u.Delay, longestPatience)
	}
	for _, end := range []time.Duration{u.Watchdog, u.Longest} {
		if end <= longestPatience {
			wait = max(wait, end)
		}
	}
	return v.calm + wait
}

// missing gives those of its requirements that systemd has nothing for.
func (v *view) missing(u Unit) []string {
	var names []string
	for _, name := range u.Requires {
		switch v.units[u.beside(name)].Load {
		case "not-found", "bad-setting", "error", "masked":
			names = append(names, name)
		}
	}
	return names
}

// broken gives those of its requirements that are not up.
func (v *view) broken(u Unit) []string {
	var names []string
	for _, name := range u.Requires {
		other, ok := v.units[u.beside(name)]
		if ok && (other.Active == "failed" || (other.Active == "inactive" && !strings.HasSuffix(name, ".slice") && other.Type != "oneshot")) {
			names = append(names, name)
		}
	}
	return names
}
