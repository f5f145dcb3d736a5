package deploy

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/report"
	"fediversity.eu/slipway/targets/task"
)

// verify judges a machine as it is.
type verify struct {
	reach   Reach
	verdict VerdictKeys
}

// Verify makes the task that judges a machine.
func Verify(reach Reach) task.Task { return &verify{reach: reach} }

func (v *verify) Coordinates() []any { return append(v.reach.Way.Coordinates(), &v.verdict) }

// Check looks at the coordinates before anything starts.
func (v *verify) Check(env.Environment) error {
	return errors.Join(v.reach.Way.Check(), v.verdict.check())
}

func (v *verify) Run(ctx context.Context, run *task.Run) error {
	return Judge(ctx, run, v.reach, v.verdict)
}

// Judge judges a machine as it is, and changes nothing.
func Judge(ctx context.Context, run *task.Run, reach Reach, keys VerdictKeys) error {
	err := judgeAsIs(ctx, run, reach, keys)
	return classify(err, run.Record.Changed)
}

func judgeAsIs(ctx context.Context, run *task.Run, reach Reach, keys VerdictKeys) error {
	conn, err := reach.dial(ctx, run)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	machine, err := reach.inspect(ctx, conn, run)
	if err != nil {
		return err
	}
	if err := reach.whose(machine, OwnerKeys{}); err != nil {
		return err
	}
	run.Record.Toplevel, run.Record.Generation = machine.Current, machine.Generation
	run.Log.Infof("%s runs", machine.Current)
	if busy := append(machine.Switching, machine.Guards...); len(busy) > 0 {
		return &report.Fault{
			Code: report.Unknown, What: "judge the machine",
			Why:  fmt.Errorf("a switch is under way, or was left behind: %s", strings.Join(busy, ", ")),
			Hint: "verify again when it has ended; apply waits for it and takes it up",
		}
	}
	if err := judge(ctx, conn, run, nil, keys.options(reach.Deployment.Machine, "")); err != nil {
		return err
	}
	if machine.Pending != "" {
		return &report.Fault{
			Code: report.Unhealthy, What: "judge the machine", Why: fmt.Errorf("the last switch, to %s, did not end well", machine.Pending),
			Hint: "apply does it again",
		}
	}
	if machine.Profile != machine.Current {
		run.Log.Warnf("at its next boot the machine comes up in another system, %s", orNone(machine.Profile))
	}
	return rebootNeeded(machine)
}
