package dns

import (
	"context"
	"errors"
	"fmt"
	"time"

	"fediversity.eu/slipway/internal/wait"
	"fediversity.eu/slipway/targets/report"
	"fediversity.eu/slipway/targets/task"
)

// apply makes the servers hold the zones: look, judge, change, look again.
type apply struct{ served }

func (a *apply) Run(ctx context.Context, run *task.Run) error {
	zones, w, before, err := a.compared(ctx, run)
	if err != nil {
		return err
	}
	defer w.Close()
	for _, z := range before.zones {
		run.Log.Infof("%s", z)
	}
	if !before.any() {
		return nil
	}
	if err := a.guard.judge(before, zones, w.provider); err != nil {
		return err
	}
	if err := before.show(run.Out); err != nil {
		return err
	}
	done := run.Record.Time("change")
	err = w.change(ctx, before)
	done()
	if err != nil {
		return broken(ctx, run, w, zones, before, err)
	}
	run.Record.Changed = true
	defer run.Record.Time("look again")()
	return settled(ctx, run, w, zones)
}

// settled waits until the servers hold what they were told to.
func settled(ctx context.Context, run *task.Run, w *workspace, zones []zone) error {
	var left changes
	err := wait.For{What: "the servers to hold what was written", Limit: w.provider.settles, Interval: time.Second}.Until(ctx, func(context.Context) error {
		// A look has a limit of its own, and one of a large zone is not to be cut off.
		var err error
		if left, err = w.look(ctx, zones); err != nil {
			return wait.Stop(err)
		}
		if left.any() {
			return errors.New("they hold something else")
		}
		return nil
	})
	if err == nil {
		run.Log.Infof("the servers hold what was written, %s", records(count(zones)))
		return nil
	}
	if _, late := errors.AsType[*wait.TimeoutError](err); late {
		if shown := left.show(run.Out); shown != nil {
			return shown
		}
		return report.Fail("look at the zones again", err, "plan shows what is left; a value that its server writes in another way never comes to rest")
	}
	if ctx.Err() != nil {
		return err
	}
	return &report.Fault{Code: report.Unknown, What: "look at the zones again", Why: err, Hint: "the change was written; plan shows whether all of it is there"}
}

// broken says what came of a change that failed: whether anything was changed
// shows only on the servers.
func broken(ctx context.Context, run *task.Run, w *workspace, zones []zone, before changes, cause error) error {
	if report.CodeOf(cause) == report.Busy {
		// OctoDNS compares plans before it changes anything, and another look would
		// show what somebody else has done as if it were ours.
		return cause
	}
	if ctx.Err() != nil {
		run.Record.Changed = true // as far as anybody knows
		return cause
	}
	after, err := w.look(ctx, zones)
	switch {
	case err != nil:
		run.Record.Changed = true
		return &report.Fault{Code: report.Unknown, What: "change the zones", Why: errors.Join(cause, fmt.Errorf("and what came of it can't be seen: %w", err)), Hint: "plan shows what is left when the servers can be reached"}
	case after.checksum == before.checksum:
		return cause // with its own exit code: nothing was changed
	}
	run.Record.Changed = true
	if !after.any() {
		return report.Fail("change the zones", fmt.Errorf("the servers hold everything, but one of them said: %w", cause), "run it again to be sure")
	}
	return report.Fail("change the zones", fmt.Errorf("only some of it was changed: %w", cause), "mend the cause and run it again: it plans what is left")
}
