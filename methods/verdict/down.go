package verdict

import (
	"fmt"
	"slices"
	"strings"
)

// inactive judges a unit that is down. Most are meant to be.
func (v *view) inactive(u Unit, c course) (Finding, bool) {
	switch c.job {
	case "dependency":
		return Finding{Fault: NotStarted, Why: "what it needs is not up" + named(v.broken(u))}, true
	case "assert":
		return Finding{Fault: NotStarted, Why: "its assertions are not met"}, true
	case "failed":
		return Finding{Fault: NotStarted, Why: "its start failed"}, true
	case "timeout":
		return Finding{Fault: NotStarted, Why: "its start took too long"}, true
	}
	if u.Default && u.User == "" {
		return v.withoutItsTarget(u), true
	}
	if v.startedByUse(u) {
		return v.idle(u)
	}
	if !v.wanted(u) {
		return Finding{}, false
	}
	switch {
	case u.AssertFail && u.Down < u.Tried:
		return Finding{Fault: NotStarted, Why: "its assertions are not met"}, true
	case u.Tried == 0 && len(v.missing(u)) > 0:
		return Finding{Fault: NotStarted, Why: "it needs what can't be loaded" + named(v.missing(u))}, true
	case (u.Tried == 0 || u.Type != "oneshot") && v.failed(u):
		return Finding{Fault: NotStarted, Why: "what it needs is not up" + named(v.broken(u))}, true
	case u.Changed == 0 && v.triggersNothing(u):
		return Finding{Fault: NotStarted, Why: "the unit that it starts can't be loaded" + named(u.Triggers)}, true
	case u.Job:
		return Finding{}, false
	}
	return v.down(u)
}

// withoutItsTarget judges a machine or container whose default target is down, as in rescue:
// whatever else runs, it does not do what it is for.
func (v *view) withoutItsTarget(u Unit) Finding {
	f := Finding{Fault: Stopped, Why: "the machine is to start it at boot"}
	if u.Container != "" {
		f.Why = "the container is to start it at boot"
	}
	if u.Up == 0 {
		f.Fault = NotStarted
	}
	return f
}

// startedByUse tells whether a socket, timer, path or automount that is up
// starts the unit when it is needed.
func (v *view) startedByUse(u Unit) bool { return v.active(u, u.TriggeredBy) }

// idle judges a unit that is started when it is needed. Nothing is wrong with
// one that is down, but what was up and was taken down is worth a word.
func (v *view) idle(u Unit) (Finding, bool) {
	by := slices.ContainsFunc(u.TriggeredBy, func(name string) bool { return strings.HasSuffix(name, ".socket") })
	if !by || u.Type == "oneshot" || v.was[u.key()].Active != "active" || !u.stopped() {
		return Finding{}, false
	}
	return Finding{Fault: Idle, Class: Remark}, true
}

// stopped tells whether the unit was told to end, and did not end by itself:
// then it ceased to be active before its process ended, and not after it.
func (u Unit) stopped() bool {
	switch {
	case u.Started == 0:
		return true
	case u.Left == 0: // it was not even up
		return u.ExitCode != exited
	}
	return u.Exited >= u.Left
}

// down judges a unit that something active wants, and that is down without a
// word: it was never started, it ended, or it was stopped.
func (v *view) down(u Unit) (Finding, bool) {
	f := Finding{Class: v.ofUsers(u)}
	switch {
	case !v.pulled(u), v.givesWay(u), u.Skipped, u.Result == "exec-condition":
		return Finding{}, false
	case u.Tried == 0:
		f.Fault, f.Why = NotStarted, v.neverTried(u)
		if u.mayBeAbsent() {
			f.Class = Remark
		}
		return f, true
	case u.Up == 0 && u.Started == 0 && u.Changed == 0:
		return Finding{}, false // of a kind that the machine does not have, as swap in a container
	case u.Type == "oneshot" && !u.Remains, u.Spent:
		return Finding{}, false // it has done what it is for
	case u.kind() == "service" && !u.Remains && !u.stopped() && u.ExitCode == exited && (u.ExitStatus == 0 || (v.base != nil && u.Started > v.since)):
		return Finding{Fault: Ended, Class: Remark, Why: fmt.Sprintf("exit status %d after %s", u.ExitStatus, rough(u.Exited-u.Started))}, true
	}
	f.Fault, f.Why = Stopped, "though it is wanted by "+strings.Join(v.pullers(u), ", ")
	if by := v.rivals(u); len(by) > 0 {
		f.Why += "; it conflicts with " + strings.Join(by, ", ")
	} else if broken := v.broken(u); len(broken) > 0 {
		f.Why += "; what it needs is not up" + named(broken)
	}
	return f, true
}

// ofUsers is the class of what is a user's own affair.
func (v *view) ofUsers(u Unit) Class {
	if u.User != "" {
		return Remark
	}
	return ""
}

// isDown tells whether a finding is that a unit is simply down.
func (f Finding) isDown() bool {
	return f.Unit.Active == "inactive" && (f.Fault == Stopped || f.Fault == NotStarted || f.Fault == Ended)
}

// neverTried says why a start may have come to nothing: systemd then leaves no
// trace but a line in its journal.
func (v *view) neverTried(u Unit) string {
	why := "wanted by " + strings.Join(v.pullers(u), ", ") + ", and nothing tried to start it"
	if by := v.rivals(u); len(by) > 0 {
		return why + "; it conflicts with " + strings.Join(by, ", ")
	}
	if broken := v.broken(u); len(broken) > 0 {
		return why + "; what it needs is not up" + named(broken)
	}
	return why + ": systemd drops starts that wait for each other"
}

// rivals are the units that are up and that a unit can't be up with.
func (v *view) rivals(u Unit) []string {
	var up []string
	for _, name := range u.Conflicts {
		if v.units[u.beside(name)].serves() {
			up = append(up, name)
		}
	}
	return up
}

// givesWay tells whether the unit is the login of a console that something else
// has taken: display managers are declared to.
func (v *view) givesWay(u Unit) bool {
	return (strings.HasPrefix(u.Name, "getty@") || strings.HasPrefix(u.Name, "autovt@")) && len(v.rivals(u)) > 0
}

// mayBeAbsent tells whether the unit is a file system or swap of a device which
// the machine is declared to do without (nofail in fstab(5)): it is wanted, and
// not required.
func (u Unit) mayBeAbsent() bool {
	return (u.kind() == "mount" || u.kind() == "swap") && len(u.RequiredBy) == 0 &&
		slices.ContainsFunc(u.Requires, func(name string) bool { return strings.HasSuffix(name, ".device") })
}

// pullers are the active units whose start started the unit too, or would have.
// Mounts, devices, scopes and slices may come up without any start.
func (v *view) pullers(u Unit) []string {
	var names []string
	for _, name := range slices.Concat(u.WantedBy, u.RequiredBy) {
		by := v.units[u.beside(name)]
		switch by.kind() {
		case "target", "service", "socket", "timer", "path":
			if by.Active == "active" && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

func (v *view) pulled(u Unit) bool { return len(v.pullers(u)) > 0 }

// failed tells whether one of its requirements has failed.
func (v *view) failed(u Unit) bool {
	return slices.ContainsFunc(u.Requires, func(name string) bool { return v.units[u.beside(name)].Active == "failed" })
}

// triggersNothing tells whether a timer, socket or path has nothing to start.
func (v *view) triggersNothing(u Unit) bool {
	return len(u.Triggers) > 0 && !slices.ContainsFunc(u.Triggers, func(name string) bool {
		load := v.units[u.beside(name)].Load
		return load == "" || load == "loaded"
	})
}
