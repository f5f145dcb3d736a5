package verdict

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"
)

// findings gives what is wrong, and what is worth a line, sorted by unit. When
// the time is up, what is still on its way is wrong too.
func (v *view) findings(final bool) []Finding {
	var all []Finding
	for _, u := range v.now.Units {
		c := v.course(u)
		if f, ok := v.finding(u, c, final); ok {
			f.Unit, f.Restarts = u, c.restarts
			f.Since = v.now.at(u.Changed)
			if f.Fault == RestartLoop && c.first > 0 {
				f.Since = v.now.at(c.first)
			}
			if events := v.events[u.Name]; f.Since.IsZero() && u.ofMachine() && len(events) > 0 {
				f.Since = v.now.at(lastOf(events))
			}
			all = append(all, f)
		}
	}
	all = append(all, v.unloaded()...)
	return sorted(append(all, v.refused()...))
}

// refused gives the managers that can't be looked at, unless they have just ended.
func (v *view) refused() []Finding {
	var all []Finding
	refused := func(unit, why string) {
		if manager := v.units[key{name: unit}]; why != "" && manager.Active == "active" {
			all = append(all, Finding{Unit: manager, Fault: NoLook, Class: Remark, Why: strings.TrimSpace(why)})
		}
	}
	for _, uid := range slices.Sorted(maps.Keys(v.now.Refused)) {
		refused("user@"+uid+".service", v.now.Refused[uid])
	}
	for _, c := range v.now.Containers {
		refused(c.Unit, c.Refused)
	}
	return all
}

func sorted(all []Finding) []Finding {
	slices.SortStableFunc(all, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Unit.User, b.Unit.User), cmp.Compare(a.Unit.Container, b.Unit.Container), cmp.Compare(a.Unit.Name, b.Unit.Name))
	})
	return all
}

// finding judges one unit.
func (v *view) finding(u Unit, c course, final bool) (Finding, bool) {
	switch {
	case u.Load == "not-found" || u.Load == "masked":
		return v.absent(u)
	case u.Load == "bad-setting" || u.Load == "error":
		return Finding{Fault: NotLoaded, Why: u.LoadError}, v.wanted(u) || v.active(u, u.TriggeredBy) || u.Active == "failed"
	case u.Active == "failed" && c.restarts > 0:
		return Finding{Fault: FailedUnit, Why: "systemd gave up restarting it"}, true
	case u.Active == "failed":
		return Finding{Fault: FailedUnit}, true
	case c.periodic(u):
		return Finding{Fault: Periodic, Class: Remark, Why: "with exit status 0, " + rough(u.Delay) + " later"}, true
	case v.loops(u, c):
		return Finding{Fault: RestartLoop}, true
	case v.startedAgain(u, c):
		return Finding{Fault: RestartLoop, Why: "something else than systemd starts it: " + plural(len(c.starts), "start") + " in " + rough(v.now.Now-c.starts[0])}, true
	case u.moving() && !v.inProgress(u):
		return v.onItsWay(u, final)
	case u.Active == "active" && u.Reload != "" && u.Reload != "success" && !v.reloadedBefore(u):
		return Finding{Fault: ReloadFailed, Why: u.Reload}, true
	case u.Active == "active" && c.restarts > 0 && (v.base != nil || v.age(c.last) < recent):
		return Finding{Fault: Recovered, Class: Remark, Why: "for " + rough(v.life(u))}, true
	case u.Active == "inactive":
		return v.inactive(u, c)
	case c.refused != "" && c.job == "done":
		return Finding{Fault: Retried, Class: Remark, Why: "its start ended with: " + c.refused}, true
	case u.Sub == "elapsed" && u.Vain:
		return Finding{Fault: NeverFires, Class: Remark, Why: "and has never fired"}, true
	case u.Active == "active" && u.hasUnitsInside() && !v.now.knowsInside(u):
		return Finding{Fault: NotInside, Class: Remark, Why: "its own units may be unwell; only the container itself was judged"}, true
	}
	return Finding{}, false
}

// absent judges a unit that there is nothing of. To be masked is what a unit is
// made for that is switched off; only where something cannot do without it, it
// is a fault.
func (v *view) absent(u Unit) (Finding, bool) {
	f := Finding{Fault: Missing}
	if u.Load == "masked" {
		f.Fault = Masked
	}
	var by []string
	for _, name := range u.RequiredBy {
		other := v.units[u.beside(name)]
		if other.Active == "active" || (other.Active != "" && v.wanted(other)) {
			by = append(by, name)
		}
	}
	for _, name := range u.TriggeredBy {
		if other := v.units[u.beside(name)]; other.Active == "active" || v.wanted(other) {
			by = append(by, name)
		}
	}
	f.Why = "needed by " + strings.Join(by, ", ")
	return f, len(by) > 0
}

// onItsWay judges a unit that is starting or stopping.
func (v *view) onItsWay(u Unit, final bool) (Finding, bool) {
	switch {
	case v.dueTooLate(u):
		return Finding{Fault: FailedUnit, Why: "its restart is due after more than the time that there is"}, true
	case !final:
		return Finding{}, false
	case u.Active == "deactivating":
		return Finding{Fault: StillStops}, true
	}
	return Finding{Fault: StillStarts, Why: "for " + rough(v.age(u.Changed))}, true
}

// reloadedBefore tells whether a failed reload was one of before the change.
func (v *view) reloadedBefore(u Unit) bool {
	was, ok := v.was[u.key()]
	return ok && was.Reload == u.Reload && was.Invocation == u.Invocation && was.Changed == u.Changed
}

// unloaded finds what only events tell of: units that systemd has unloaded, with
// all that it knew of them.
func (v *view) unloaded() []Finding {
	var all []Finding
	for _, name := range slices.Sorted(maps.Keys(v.events)) {
		if _, loaded := v.units[key{name: name}]; loaded {
			continue
		}
		u := Unit{Name: name}
		events := v.events[name]
		if f, ok := v.inactive(u, follow(u, nil, v.since, events)); ok {
			f.Unit, f.Since = u, v.now.at(lastOf(events))
			all = append(all, f)
		}
	}
	return all
}

func lastOf(events []event) time.Duration { return events[len(events)-1].at }

func named(units []string) string {
	if len(units) == 0 {
		return ""
	}
	return ": " + strings.Join(units, ", ")
}
