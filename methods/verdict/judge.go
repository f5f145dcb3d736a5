package verdict

import (
	"cmp"
	"slices"
)

// loopRestarts is how many automatic restarts of a unit that is starting again
// make a loop: one may be an accident, the second shows that it did not help.
const loopRestarts = 2

// judge finds what is wrong in the last of the samples of a machine, and tells
// whether it is settled: whether nothing is starting any more that could still
// change the verdict. Units in a loop never settle and count as found.
func judge(s Sample) (findings []Finding, settled bool) {
	settled = true
	for _, unit := range s.Units {
		switch {
		case unit.Active == "failed":
			findings = append(findings, Finding{Unit: unit, Fault: FailedUnit})
		case unit.Active == "activating" && unit.Restarts >= loopRestarts:
			findings = append(findings, Finding{Unit: unit, Fault: RestartLoop})
		case unit.starting():
			settled = false
		}
	}
	sortFindings(findings)
	return findings, settled
}

// looping finds the units that were restarted again and again between two
// samples, whatever their state is in the last: most looks at a loop find it up.
// A count that went down began anew and says nothing.
func looping(first, last Sample) []Finding {
	before := map[string]int{}
	for _, unit := range first.Units {
		before[unit.Name] = unit.Restarts
	}
	var findings []Finding
	for _, unit := range last.Units {
		if count, known := before[unit.Name]; known && unit.Restarts-count >= loopRestarts {
			findings = append(findings, Finding{Unit: unit, Fault: RestartLoop})
		}
	}
	return findings
}

// join adds the findings about units that have none yet.
func join(findings, more []Finding) []Finding {
	for _, f := range more {
		if !slices.ContainsFunc(findings, func(known Finding) bool { return known.Unit.Name == f.Unit.Name }) {
			findings = append(findings, f)
		}
	}
	sortFindings(findings)
	return findings
}

// stuck finds the units that are still starting when the time is up.
func stuck(s Sample) []Finding {
	var findings []Finding
	for _, unit := range s.Units {
		if unit.starting() && unit.Restarts < loopRestarts {
			findings = append(findings, Finding{Unit: unit, Fault: StillStarts})
		}
	}
	sortFindings(findings)
	return findings
}

// starting tells whether the unit is on its way. A device that is in use but that
// udev never announced stays "activating (tentative)" for ever and is well.
func (u Unit) starting() bool {
	if u.Sub == "tentative" || u.Active == "failed" {
		return false
	}
	return u.Active == "activating" || u.Active == "reloading" || u.Active == "deactivating" || (u.Job && u.Active != "active")
}

func sortFindings(findings []Finding) {
	slices.SortFunc(findings, func(a, b Finding) int { return cmp.Compare(a.Unit.Name, b.Unit.Name) })
}
