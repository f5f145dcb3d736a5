package checks

import (
	"fmt"
	"strings"

	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/report"
)

// tally counts what was run.
type tally struct {
	passed   int
	failed   []failure
	unsteady []string // tests on machines that failed first, and count as passed
	skipped  []skip
}

// skip is something that was not run, and why.
type skip struct{ name, why string }

// failure is something that failed.
type failure struct {
	pkg, test string // of what can be run again by itself
	name      string
	why       string // the end of what it said
	machines  bool   // it is a test on machines
	unsteady  bool   // it passed when it was run again
}

// forgive counts tests on machines that passed when they were run again as passed,
// unless there are more of them than may be.
func (t *tally) forgive(most int) {
	var failed []failure
	var unsteady []string
	for _, f := range t.failed {
		if f.machines && f.unsteady {
			unsteady = append(unsteady, f.name)
		} else {
			failed = append(failed, f)
		}
	}
	if len(unsteady) > most {
		return
	}
	t.failed, t.unsteady, t.passed = failed, unsteady, t.passed+len(unsteady)
}

// line is the closing line of a run.
func (t *tally) line() string {
	return fmt.Sprintf("%d passed, %d failed, %d skipped", t.passed, len(t.failed), len(t.skipped))
}

// print names what was skipped and what failed, and says why.
func (t *tally) print(log *report.Log) {
	for _, s := range t.skipped {
		log.Warnf("skipped: %s: %s", s.name, s.why)
	}
	for _, name := range t.unsteady {
		log.Warnf("unsteady: %s failed, and passed when it was run again by itself", name)
	}
	for _, f := range t.failed {
		again := ""
		if f.unsteady {
			again = ", and passed when it was run again by itself"
		}
		log.Troublef("failed: %s%s\n%s", f.name, again, f.why)
	}
}

// err is the error of a run: what failed, or what kept it from running.
func (t *tally) err(err error) error {
	if err != nil {
		return err
	}
	if len(t.failed) > 0 {
		var names []string
		for _, f := range t.failed {
			names = append(names, f.name)
		}
		return report.Fail("run the checks", fmt.Errorf("%d failed: %s", len(t.failed), strings.Join(names, ", ")), "")
	}
	if t.passed == 0 {
		return report.Fail("run the checks", fmt.Errorf("nothing was run"), "")
	}
	return nil
}

// skip counts something that was not run. When the parts whose absence is
// allowed are listed, any other reason is a failure.
func (t *tally) skip(name, why string, allowed env.Names) {
	if len(allowed) > 0 {
		ok := false
		for _, part := range allowed {
			ok = ok || strings.Contains(why, part)
		}
		if !ok {
			t.failed = append(t.failed, failure{name: name, why: "must not be skipped: " + why})
			return
		}
	}
	t.skipped = append(t.skipped, skip{name, why})
}
