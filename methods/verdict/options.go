package verdict

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"fediversity.eu/slipway/groups"
)

// Baseline says what becomes of faults that were there before a change.
type Baseline string

// What there is to choose from.
const (
	Ignore Baseline = "ignore" // they are reported
	Fail   Baseline = "fail"   // they turn the verdict
)

// Options say how a machine is judged.
type Options struct {
	Limit    time.Duration // how long its units may take to settle
	Baseline Baseline      // empty means Ignore
	Tolerate []string      // names of units that do not turn the verdict, with the wildcards * ? [] of path.Match
	Probes   []groups.Probe
	System   string // the toplevel that ought to run; empty means any
	Switch   Switch
	Changed  bool // Look: another run changed the machine just now, so what started of late must live
}

// Switch is what the switch said of how it ended. The zero Switch is one that ended
// well, or none.
type Switch struct {
	Code  int      // exit code
	Units []string // that it says failed
	Users []string // whose activation it says failed
}

// CheckTolerate finds patterns that can match nothing.
func CheckTolerate(patterns []string) error {
	for _, pattern := range (Options{Tolerate: patterns}).patterns() {
		if _, err := path.Match(literal(pattern), ""); err != nil {
			return fmt.Errorf("%q is no name and no pattern: %w", pattern, err)
		}
	}
	return nil
}

// patterns are the names of Tolerate, one by one: no name of a unit has a blank in
// it, so blanks set names apart as well.
func (o Options) patterns() []string {
	var all []string
	for _, names := range o.Tolerate {
		all = append(all, strings.Fields(names)...)
	}
	return all
}

// literal is a pattern in which a backslash is one: names of units have it where
// systemd escapes (systemd.unit(5)).
func literal(pattern string) string { return strings.ReplaceAll(pattern, `\`, `\\`) }

// tolerates tells whether a unit is on the list.
func (o Options) tolerates(unit string) bool {
	return slices.ContainsFunc(o.patterns(), func(pattern string) bool { return matches(pattern, unit) })
}

// matches tells whether a pattern means a unit. A name without a type means a
// service.
func matches(pattern, unit string) bool {
	for _, name := range []string{pattern, pattern + ".service"} {
		if ok, err := path.Match(literal(name), unit); err == nil && ok {
			return true
		}
	}
	return false
}

// idle lists the patterns that mean none of the units.
func (o Options) idle(units []Unit, findings []Finding) []string {
	return slices.DeleteFunc(o.patterns(), func(pattern string) bool {
		return slices.ContainsFunc(units, func(u Unit) bool { return matches(pattern, u.Name) }) ||
			slices.ContainsFunc(findings, func(f Finding) bool { return matches(pattern, f.Unit.Name) })
	})
}
