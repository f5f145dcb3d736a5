package verdict

import (
	"cmp"
	"slices"
	"time"
)

// kind is what happened to a unit.
type kind int

const (
	started   kind = iota + 1 // its main process, or the unit where only that is known
	restarted                 // automatically
	finished                  // a job of it
	ended                     // its main process, or the unit where only that is known
)

// event is something that happened to a unit of the machine's manager between
// two samples. The same event may be known from the bus and from the journal.
type event struct {
	at       time.Duration // since the boot
	unit     string
	kind     kind
	restarts int    // restarted: the counter after it
	result   string // finished: "done", "failed", "dependency", …; ended: "success" or another
}

// mayBeIll reports whether the event may be the first sign of a fault.
func (e event) mayBeIll() bool {
	return e.kind == ended || e.kind == restarted || slices.Contains(refusals, e.result)
}

// course is what became of a unit over the time that it was watched.
type course struct {
	restarts int           // automatic ones, since the watch or the last start by hand
	longest  time.Duration // the longest life that such a restart ended; as long as it may have been where that is not known
	job      string        // the result of its last job, where that is known
	refused  string        // the result of the last job that did not end well
	first    time.Duration // when it was first restarted
	last     time.Duration // and last

	well, ill int             // how its process ended, where that is known
	starts    []time.Duration // those that were no automatic restarts
}

// again is the course as it goes on when the unit was started by hand.
func (c course) again() course {
	return course{job: c.job, refused: c.refused, well: c.well, ill: c.ill, starts: c.starts}
}

// refusals are the results of jobs that did not end well (systemd,
// job_result_table); others were called off.
var refusals = []string{"failed", "dependency", "timeout", "assert"}

// follow tells what became of a unit: events are its own in order of time, and
// before is the unit when the watch began, or nil. The counter of restarts never
// goes down by itself: when it did, the unit was started by hand, or its failed
// state was reset, and it counts anew.
func follow(unit Unit, before *Unit, since time.Duration, events []event) course {
	var c course
	counter, born := 0, since
	if before != nil {
		counter = before.Restarts
		if before.Started > 0 {
			born = before.Started
		}
	}
	again := func(n int, at time.Duration) {
		if n <= counter {
			c, counter = c.again(), 0
		}
		c.restarts, counter = c.restarts+n-counter, n
		if at > 0 {
			c.longest = max(c.longest, at-unit.pause()-born)
			born, c.last = at, at
			if c.first == 0 {
				c.first = at
			}
		}
	}
	automatic := false
	for _, e := range events {
		switch e.kind {
		case started:
			born = max(born, e.at)
			if !automatic {
				c.starts = append(c.starts, e.at)
			}
			automatic = false
		case finished:
			c.job = e.result
			if slices.Contains(refusals, e.result) {
				c.refused = e.result
			}
		case ended:
			if e.result == "success" {
				c.well++
			} else {
				c.ill++
			}
		case restarted:
			automatic = true
			again(e.restarts, e.at)
		}
	}
	switch {
	case unit.Restarts == 0:
		c = c.again()
	case unit.Restarts != counter: // more than the events tell of
		again(unit.Restarts, unit.Started)
	}
	if unit.beingRestarted() && unit.Exited > unit.Started {
		c.longest = max(c.longest, unit.Exited-unit.Started)
	}
	return c
}

// pause is the time between the end of its process and the next start.
func (u Unit) pause() time.Duration {
	if u.Delay == forever {
		return 0
	}
	return u.Delay
}

// byUnit sorts events by unit and time.
func byUnit(events []event) map[string][]event {
	sorted := slices.Clone(events)
	slices.SortStableFunc(sorted, func(a, b event) int { return cmp.Compare(a.at, b.at) })
	all := map[string][]event{}
	for _, e := range sorted {
		all[e.unit] = append(all[e.unit], e)
	}
	return all
}
