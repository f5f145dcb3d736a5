package checks

import (
	"context"
	"slices"
)

// mostAgain is how many failed tests are run again: more of them are no coincidence.
const mostAgain = 4

// again runs each test that failed once more, by itself, now that nothing else
// runs. One that passes then is unsteady: counted as passed, and named. That is a
// mistake still, in the test or in what it tests, but none of the change at hand.
func (r *Run) again(ctx context.Context, t *tally) error {
	if len(t.failed) > mostAgain {
		return nil
	}
	for _, f := range slices.Clone(t.failed) {
		if f.test == "" {
			continue
		}
		var alone tally
		if err := r.test(ctx, &alone, "again", "-tags", "checks", "-run", "^"+f.test+"$", "-count", "1", "-timeout", "20m", f.pkg); err != nil {
			return err
		}
		t.retried(f, alone)
	}
	return nil
}

// retried counts a test that failed as what it was when it was run again.
func (t *tally) retried(f failure, alone tally) {
	if alone.passed != 1 || len(alone.failed) > 0 {
		return
	}
	t.passed++
	t.unsteady = append(t.unsteady, f)
	t.failed = slices.DeleteFunc(t.failed, func(other failure) bool { return other == f })
}
