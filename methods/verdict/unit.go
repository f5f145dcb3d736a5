package verdict

import (
	"regexp"
	"slices"
	"strings"
	"time"
)

// Unit is what systemd says of a unit at one moment (org.freedesktop.systemd1).
// Moments are counted from the boot of the machine; zero means never.
type Unit struct {
	Name      string
	User      string // whose manager it belongs to, by user ID; empty for the machine's
	Container string // whose manager it belongs to; empty for the machine's
	Load      string // LoadState
	LoadError string
	Active    string // ActiveState
	Sub       string // SubState
	Result    string // "success", "exit-code", "timeout", …; empty where the type has none
	Reload    string // ReloadResult

	Type    string        // of a service: "simple", "notify", "oneshot", …
	Restart string        // "no", "always", "on-failure", …
	Delay   time.Duration // before the next automatic restart
	Remains bool          // RemainAfterExit

	Restarts   int // automatic ones, since the last start by hand
	Invocation string
	Job        bool // a job of it is waiting or running

	ExitCode   int           // ExecMainCode: 0 never ended, 1 exited, 2 killed, 3 dumped (CLD_*)
	ExitStatus int           // of the main process, or its signal
	Started    time.Duration // its main process
	Exited     time.Duration // its main process
	Up         time.Duration // when it became active
	Left       time.Duration // when it last ceased to be active
	Down       time.Duration // when it became inactive
	Changed    time.Duration // when its state last changed
	Tried      time.Duration // when its conditions were last looked at: at each start
	Skipped    bool          // its conditions were looked at, and were not met
	AssertFail bool          // its assertions were looked at, and were not met

	Requires, RequiredBy  []string // or is bound to
	WantedBy              []string // or is upheld by
	Triggers, TriggeredBy []string
	Conflicts             []string // in either direction

	Watchdog time.Duration // how long it may give no sign of life; 0 means for ever
	Longest  time.Duration // how long it may run; 0 means for ever
	Spent    bool          // a timer that has fired, and is not needed any more
	Vain     bool          // a timer that has no next time, and has never fired

	Overtaken bool // systemd has read the texts of units since its process was started
	Default   bool // what the machine starts at boot
	Transient bool // was made by a program, for as long as the machine runs

	Files []string // its text and what adds to it
}

// key names a unit among those of all managers.
type key struct{ user, container, name string }

func (u Unit) key() key { return u.beside(u.Name) }

// beside names another unit of the same manager.
func (u Unit) beside(name string) key { return key{u.User, u.Container, name} }

// ofMachine tells whether the unit is one of the machine's own manager, which is
// the one that is listened to.
func (u Unit) ofMachine() bool { return u.User == "" && u.Container == "" }

// called is its name, with that of the user or container where it belongs to one.
func (u Unit) called() string {
	switch {
	case u.User != "":
		return u.Name + " of user " + u.User
	case u.Container != "":
		return u.Name + " of container " + u.Container
	}
	return u.Name
}

func (u Unit) kind() string { return u.Name[strings.LastIndexByte(u.Name, '.')+1:] }

// ourNames are the units that this program makes for a switch, a commit, the way
// back and a reboot (methods/nixos). Whoever made one looks after it.
var ourNames = regexp.MustCompile(`^slipway-(?:(?:switch|commit|guard)-[0-9a-f-]+|reboot)\.(?:service|timer)$`)

// ours tells whether this program made the unit: one that somebody declared may
// have any name.
func (u Unit) ours() bool { return u.Transient && asOurs(u.Name) }

// asOurs tells whether a unit is called as this program calls its own: all that
// an event tells.
func asOurs(name string) bool { return ourNames.MatchString(name) }

// beingRestarted tells whether its process died and systemd waits before it
// starts it again. With RestartMode=direct it never looks failed.
func (u Unit) beingRestarted() bool { return strings.HasPrefix(u.Sub, "auto-restart") }

// timed tells whether it does its work when a timer or a path unit says so, and
// is "activating" for as long as that takes.
func (u Unit) timed() bool {
	return u.Type == "oneshot" && slices.ContainsFunc(u.TriggeredBy, func(by string) bool {
		return strings.HasSuffix(by, ".timer") || strings.HasSuffix(by, ".path")
	})
}

// moving tells whether the unit is on its way. A device that is in use but that
// udev never announced stays "activating (tentative)" for ever and is well. Scopes
// are processes that others started, as the session of somebody who logs out: how
// long they take to end is nothing to wait for.
func (u Unit) moving() bool {
	switch {
	case u.Sub == "tentative", u.Active == "failed", u.kind() == "scope":
		return false
	case u.Active == "activating", u.Active == "reloading", u.Active == "refreshing", u.Active == "deactivating":
		return true
	}
	return u.Job && u.Active != "active"
}

// hasUnitsInside tells whether the unit is a container with a systemd of its own:
// one of NixOS (containers.NAME), or of systemd-nspawn.
func (u Unit) hasUnitsInside() bool {
	return u.ofMachine() && (strings.HasPrefix(u.Name, "container@") || strings.HasPrefix(u.Name, "systemd-nspawn@"))
}

// serves tells whether the unit is up, also while it reads its settings again.
func (u Unit) serves() bool {
	return u.Active == "active" || u.Active == "reloading" || u.Active == "refreshing"
}

// Sample is what a machine says of itself at one moment.
type Sample struct {
	Boot   string        // boot ID
	Now    time.Duration // since the boot, on the clock of the units' moments
	Clock  time.Time
	System string // what /run/current-system leads to
	Cursor string // of the journal's last entry; empty where there is none

	Activated time.Duration     // when that system was made the present one; zero where that is not known
	Ran       map[string]string // what outdated processes were started from, by invocation

	Units      []Unit
	Refused    map[string]string    // user IDs whose manager can't be looked at, and why
	Containers map[string]Container // those that run, by name
}

// Container is a container that runs on the machine, as systemd-machined knows it.
type Container struct {
	Unit    string // of the machine, in which it runs
	Leader  string // the process ID of its first process
	Refused string // why its manager can't be looked at; empty also where it has none
}

// root is where the machine has the files that a manager reads.
func (s Sample) root(u Unit) string {
	if u.Container == "" {
		return ""
	}
	return "/proc/" + s.Containers[u.Container].Leader + "/root"
}

// knowsInside tells whether a unit is one of a container that systemd-machined knows.
func (s Sample) knowsInside(u Unit) bool {
	for _, c := range s.Containers {
		if c.Unit == u.Name {
			return true
		}
	}
	return false
}

// goesOn tells whether the manager of a unit is the same in a later sample of the
// same boot: a container may have been started again.
func (s Sample) goesOn(u Unit, later Sample) bool {
	return u.Container == "" || s.Containers[u.Container].Leader == later.Containers[u.Container].Leader
}

// index finds units by name.
func (s Sample) index() map[key]Unit {
	all := make(map[key]Unit, len(s.Units))
	for _, u := range s.Units {
		all[u.key()] = u
	}
	return all
}

// at makes a time of day of a moment.
func (s Sample) at(moment time.Duration) time.Time {
	if moment == 0 || s.Clock.IsZero() {
		return time.Time{}
	}
	return s.Clock.Add(moment - s.Now)
}
