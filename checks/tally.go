package checks

import (
	"fmt"
	"strings"

	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/report"
)

// tally counts what was run.
type tally struct {
	passed  int
	failed  []string
	skipped []skip
}

// skip is something that was not run, and why.
type skip struct{ name, why string }

// line is the closing line of a run.
func (t *tally) line() string {
	return fmt.Sprintf("%d passed, %d failed, %d skipped", t.passed, len(t.failed), len(t.skipped))
}

// print names what was skipped and what failed.
func (t *tally) print(log *report.Log) {
	for _, s := range t.skipped {
		log.Warnf("skipped: %s: %s", s.name, s.why)
	}
	for _, name := range t.failed {
		log.Troublef("failed: %s", name)
	}
}

// err is the error of a run: what failed, or what kept it from running.
func (t *tally) err(err error) error {
	if err != nil {
		return err
	}
	if len(t.failed) > 0 {
		return report.Fail("run the checks", fmt.Errorf("%d failed: %s", len(t.failed), strings.Join(t.failed, ", ")), "")
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
			t.failed = append(t.failed, fmt.Sprintf("%s (must not be skipped: %s)", name, why))
			return
		}
	}
	t.skipped = append(t.skipped, skip{name, why})
}
