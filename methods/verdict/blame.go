package verdict

import (
	"fmt"
	"slices"
	"strings"
)

// unexplained gives in words what a switch reported and nothing that was found is
// the reason of. What was broken before is one only where the switch named it:
// each switch does, so that it would hide all else (nixpkgs,
// switch-to-configuration-ng, which has one exit code for all that failed).
func (s Switch) unexplained(findings []Finding) []string {
	if s.Code == 0 {
		return nil
	}
	var faults []string
	if len(s.Users) > 0 && !slices.ContainsFunc(findings, ofUser) {
		faults = append(faults, fmt.Sprintf("the switch reported that the activation of user %s failed (exit code %d)", strings.Join(s.Users, ", "), s.Code))
	}
	var unseen []string
	for _, unit := range s.Units {
		if !slices.ContainsFunc(findings, func(f Finding) bool { return f.Unit.Container == "" && f.Unit.Name == unit && f.blamed() }) {
			unseen = append(unseen, unit)
		}
	}
	fresh := slices.ContainsFunc(findings, func(f Finding) bool { return f.Class == New || f.Class == Present })
	switch {
	case fresh: // which turns the verdict
	case len(unseen) > 0:
		faults = append(faults, fmt.Sprintf("the switch reported failed units (exit code %d), but of %s none is failed now", s.Code, strings.Join(unseen, ", ")))
	case len(s.Units) == 0 && len(s.Users) == 0:
		faults = append(faults, fmt.Sprintf("the switch reported a failure (exit code %d), and nothing new is failed that could be it", s.Code))
	}
	return faults
}

// blamed tells whether a finding may be why the switch reported a failed unit.
func (f Finding) blamed() bool {
	return f.Class != Remark || f.Fault == Recovered || f.Fault == Retried
}

// ofUser tells whether a finding may be why a user's activation failed.
func ofUser(f Finding) bool {
	return f.Fault == NoLook && strings.HasPrefix(f.Unit.Name, "user@") || f.Unit.User != "" && f.blamed()
}
