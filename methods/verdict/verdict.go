// Package verdict judges whether a machine is healthy. It takes a baseline
// before a change and listens to systemd while the change happens, waits until
// nothing is on its way any more, and names what is wrong and why. How the
// system got there is not its business.
//
// Looking and judging are apart: a sample is what the machine said at one
// moment, events are what happened between samples, and judging both is a pure
// function. Events come from the machine's bus; where that is missing or was
// lost, the journal has the same.
package verdict

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"fediversity.eu/slipway/targets/report"
)

// Fault says what is wrong with a unit.
type Fault string

// The faults.
const (
	FailedUnit   Fault = "failed"
	RestartLoop  Fault = "restarts again and again"
	StillStarts  Fault = "still starting"
	StillStops   Fault = "still stopping"
	NotStarted   Fault = "did not start"
	NotLoaded    Fault = "can't be loaded"
	Missing      Fault = "does not exist"
	Masked       Fault = "is masked"
	ReloadFailed Fault = "did not reload"
	Stopped      Fault = "is no longer up"
	Outdated     Fault = "runs on as it was before"
)

// Remarks are no faults, but worth a line.
const (
	Recovered  Fault = "was restarted, and runs"
	Ended      Fault = "ended by itself"
	Periodic   Fault = "ends and is started again, as declared"
	Retried    Fault = "did not start at first, and is well"
	Idle       Fault = "is no longer up, and waits for its first use"
	NeverFires Fault = "has no next time"
	NotInside  Fault = "is not looked into"
	Reset      Fault = "had failed before, and was not started again"
	NoLook     Fault = "can't be looked at"
)

// Class says what a finding counts for.
type Class string

// The classes.
const (
	New       Class = "new"       // came with this run
	Present   Class = "present"   // is there; nothing was changed that it could have come with
	Old       Class = "old"       // was there before this run, in the same unit
	Tolerated Class = "tolerated" // is on the list of those that do not count
	Remark    Class = "remark"    // is not a fault
)

// Finding is one unit with its fault, and what its journal says about it.
type Finding struct {
	Unit     Unit
	Fault    Fault
	Class    Class
	Why      string // in words, where the unit's properties do not say it
	Since    time.Time
	Restarts int      // automatic ones that were seen
	Journal  []string // the last lines of the invocation that failed
}

// Verdict is the judgement on a machine.
type Verdict struct {
	Findings []Finding // sorted by unit
	Probes   []Answer  // of the machine's probes, in their order
	Machine  []string  // what is wrong with the machine as a whole
	Units    int       // how many were looked at
	Idle     []string  // names and patterns of Tolerate that mean no unit

	baseline Baseline
}

// counts tells whether a finding turns the verdict.
func (v Verdict) counts(f Finding) bool {
	return f.Class == New || f.Class == Present || (f.Class == Old && v.baseline == Fail)
}

// Unhealthy gives the findings that turn the verdict.
func (v Verdict) Unhealthy() []Finding {
	return slices.DeleteFunc(slices.Clone(v.Findings), func(f Finding) bool { return !v.counts(f) })
}

// Remarks gives the findings that do not turn the verdict.
func (v Verdict) Remarks() []Finding { return slices.DeleteFunc(slices.Clone(v.Findings), v.counts) }

// Code is Healthy, Unhealthy or Unknown.
func (v Verdict) Code() report.Code {
	code := report.Healthy
	for _, a := range v.Probes {
		switch a.Outcome {
		case Wrong:
			code = report.Unhealthy
		case NotKnown:
			if code == report.Healthy {
				code = report.Unknown
			}
		case Right:
		}
	}
	if len(v.Unhealthy()) > 0 || len(v.Machine) > 0 {
		code = report.Unhealthy
	}
	return code
}

// Healthy tells whether nothing turns the verdict.
func (v Verdict) Healthy() bool { return v.Code() == report.Healthy }

// Seen counts what was looked at: "97 units, 1 probe".
func (v Verdict) Seen() string {
	text := plural(v.Units, "unit")
	if n := len(v.Probes); n > 0 {
		text += ", " + plural(n, "probe")
	}
	return text
}

// Err is nil for a healthy machine, and otherwise a fault with exit code 3 or 5
// that names everything and shows why.
func (v Verdict) Err() error {
	if v.Healthy() {
		return nil
	}
	var heads, lines []string
	if n := len(v.Unhealthy()); n > 0 {
		heads = append(heads, plural(n, "unit")+" unhealthy")
	}
	heads = append(heads, v.Machine...)
	for _, f := range v.Unhealthy() {
		lines = append(lines, f.lines()...)
	}
	wrong, unknown := 0, 0
	for _, a := range v.Probes {
		if a.Outcome == Right {
			continue
		}
		if a.Outcome == Wrong {
			wrong++
		} else {
			unknown++
		}
		lines = append(lines, "  "+a.String())
	}
	if wrong > 0 {
		heads = append(heads, plural(wrong, "probe")+" unanswered")
	}
	if unknown > 0 {
		heads = append(heads, plural(unknown, "probe")+" not carried out")
	}
	fault := &report.Fault{
		Code: v.Code(), What: "judge the machine", Why: errors.New(strings.Join(append([]string{strings.Join(heads, ", ")}, lines...), "\n")),
		Hint: "look on the machine with systemctl status UNIT and journalctl --unit UNIT",
	}
	if fault.Code == report.Unknown {
		fault.Hint = "whether the machine is healthy is not known; verify looks again"
	}
	return fault
}

// lines are how a finding is shown to a person.
func (f Finding) lines() []string {
	lines := []string{"  " + f.String()}
	for _, line := range f.Journal {
		lines = append(lines, "    | "+line)
	}
	return lines
}

// Name is the unit's, with that of the user or container where it belongs to one.
func (f Finding) Name() string { return f.Unit.called() }

// String is one line: the unit, its fault, result, exit status, restarts, and
// since when.
func (f Finding) String() string {
	var details []string
	if f.Why != "" {
		details = append(details, f.Why)
	}
	if f.Class != Remark {
		if r := f.Unit.Result; r != "" && r != "success" {
			if results[r] != "" {
				r += ": " + results[r]
			}
			details = append(details, r)
		}
		if how := f.Unit.ending(); how != "" {
			details = append(details, how)
		}
	}
	if n := max(f.Restarts, f.Unit.Restarts); n > 0 {
		details = append(details, plural(n, "restart"))
	}
	if len(details) == 0 && f.Unit.Active != "" {
		details = append(details, f.Unit.Active+"/"+f.Unit.Sub)
	}
	if len(f.Unit.TriggeredBy) > 0 && f.Fault != Missing {
		details = append(details, "started by "+strings.Join(f.Unit.TriggeredBy, ", "))
	}
	if !f.Since.IsZero() && f.Fault != Recovered {
		details = append(details, "since "+f.Since.UTC().Format("15:04:05 UTC"))
	}
	text := fmt.Sprintf("%s: %s", f.Name(), f.Fault)
	if len(details) > 0 {
		text += " (" + strings.Join(details, ", ") + ")"
	}
	switch f.Class { //nolint:exhaustive // the others are what the verdict speaks of
	case Old:
		text += "; it was so before"
	case Tolerated:
		text += "; tolerated"
	}
	return text
}

// Record is how a finding stands in the record of a run.
func (f Finding) Record() report.Unit {
	u := report.Unit{
		Name: f.Unit.Name, User: f.Unit.User, Container: f.Unit.Container, Class: string(f.Class), Fault: string(f.Fault), Why: f.Why, Result: f.Unit.Result,
		ExitStatus: f.Unit.ExitStatus, Exit: f.Unit.ending(), Restarts: max(f.Restarts, f.Unit.Restarts), Journal: f.Journal,
	}
	if !f.Since.IsZero() {
		since := f.Since.UTC()
		u.Since = &since
	}
	return u
}
