// Package verdict judges whether a machine is healthy. It looks at the units of
// its systemd, waits until nothing is starting any more, and names what failed
// and why. How the system got there is not its business.
//
// Looking and judging are apart: a sample is what systemd said at one moment,
// and judging samples is a pure function over them.
package verdict

import (
	"fmt"
	"strings"

	"fediversity.eu/slipway/targets/report"
)

// Fault says what is wrong with a unit.
type Fault string

// The faults.
const (
	FailedUnit  Fault = "failed"
	RestartLoop Fault = "restarts again and again"
	StillStarts Fault = "still starting"
)

// Finding is one unit with its fault, and what its journal says about it.
type Finding struct {
	Unit    Unit
	Fault   Fault
	Journal []string // the last lines of the invocation that failed
}

// Verdict is the judgement on a machine.
type Verdict struct {
	Findings []Finding // empty means healthy
	Units    int       // how many were looked at
}

// Healthy tells whether nothing was found.
func (v Verdict) Healthy() bool { return len(v.Findings) == 0 }

// Err is nil for a healthy machine, and otherwise a fault with exit code 3 that
// names every unit and shows why.
func (v Verdict) Err() error {
	if v.Healthy() {
		return nil
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s unhealthy", plural(len(v.Findings), "unit"))
	for _, f := range v.Findings {
		fmt.Fprintf(&b, "\n  %s", f)
		for _, line := range f.Journal {
			fmt.Fprintf(&b, "\n    | %s", line)
		}
	}
	return &report.Fault{
		Code: report.Unhealthy, What: "judge the machine", Why: fmt.Errorf("%s", b.String()),
		Hint: "the new system stays in place: mend it and apply again, or look on the machine with systemctl status UNIT",
	}
}

// String is one line: the unit, its fault, result, exit status and restarts.
func (f Finding) String() string {
	details := []string{}
	if f.Unit.Result != "" && f.Unit.Result != "success" {
		details = append(details, f.Unit.Result)
	}
	if f.Unit.ExitStatus != 0 {
		details = append(details, fmt.Sprintf("exit status %d", f.Unit.ExitStatus))
	}
	if f.Unit.Restarts > 0 {
		details = append(details, plural(f.Unit.Restarts, "restart"))
	}
	if len(details) == 0 {
		details = append(details, f.Unit.Active+"/"+f.Unit.Sub)
	}
	return fmt.Sprintf("%s: %s (%s)", f.Unit.Name, f.Fault, strings.Join(details, ", "))
}

// Record is how a finding stands in the record of a run.
func (f Finding) Record() report.Unit {
	return report.Unit{
		Name: f.Unit.Name, Fault: string(f.Fault), Result: f.Unit.Result,
		ExitStatus: f.Unit.ExitStatus, Restarts: f.Unit.Restarts, Journal: f.Journal,
	}
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
