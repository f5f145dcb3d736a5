package verdict

import (
	"fmt"
	"path"
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
	Tolerate []string      // names of units that do not turn the verdict, with the wildcards of path.Match
	Probes   []groups.Probe
	System   string // the toplevel that ought to run; empty means any
	Switch   int    // exit code of the switch, 0 where there was none
	Changed  bool   // Look: another run changed the machine just now, so what started of late must live
}

// CheckTolerate finds patterns that can match nothing.
func CheckTolerate(patterns []string) error {
	for _, pattern := range patterns {
		if _, err := path.Match(pattern, ""); err != nil {
			return fmt.Errorf("%q is no name and no pattern: %w", pattern, err)
		}
	}
	return nil
}

// tolerates tells whether a unit is on the list. A name without a type means a
// service.
func (o Options) tolerates(unit string) bool {
	for _, pattern := range o.Tolerate {
		for _, name := range []string{pattern, pattern + ".service"} {
			if ok, err := path.Match(name, unit); err == nil && ok {
				return true
			}
		}
	}
	return false
}
