package checks

import "context"

// mostAgain is how many failed tests are run again: more of them are no coincidence.
const mostAgain = 4

// again runs each test that failed once more, by itself, now that nothing else
// runs: that tells one that is unsteady from one that is broken.
func (r *Run) again(ctx context.Context, t *tally) error {
	if len(t.failed) > mostAgain {
		return nil
	}
	for i, f := range t.failed {
		if f.test == "" {
			continue
		}
		var alone tally
		if err := r.test(ctx, &alone, "again", "-tags", "checks", "-run", "^"+f.test+"$", "-count", "1", "-timeout", "20m", f.pkg); err != nil {
			return err
		}
		t.failed[i].unsteady = alone.passed == 1 && len(alone.failed) == 0
	}
	return nil
}
