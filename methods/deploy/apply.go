package deploy

import (
	"context"
	"errors"
	"fmt"

	"fediversity.eu/slipway/methods/nixos"
	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/task"
)

// apply deploys a machine: build, copy, check, switch, judge.
type apply struct {
	reach     Reach
	blueprint *nixos.Blueprint
	copying   CopyKeys
	switching SwitchKeys
	verdict   VerdictKeys
}

// Apply makes the task that deploys a machine.
func Apply(reach Reach, blueprint *nixos.Blueprint) task.Task {
	return &apply{reach: reach, blueprint: blueprint}
}

func (a *apply) Coordinates() []any {
	return append(append(a.reach.Way.Coordinates(), a.blueprint.Coordinates()...), &a.copying, &a.switching, &a.verdict)
}

// Check looks at the coordinates before anything starts.
func (a *apply) Check(environment env.Environment) error {
	return errors.Join(a.reach.Way.Check(), a.blueprint.Check(environment), a.verdict.check())
}

func (a *apply) Run(ctx context.Context, run *task.Run) error {
	err := a.run(ctx, run)
	return classify(err, run.Record.Changed)
}

func (a *apply) run(ctx context.Context, run *task.Run) error {
	built, err := a.blueprint.Build(ctx, run)
	if err != nil {
		return err
	}
	c := &change{Run: run, reach: a.reach, keys: a.switching, verdict: a.verdict}
	defer c.end()
	if err := c.begin(ctx); err != nil {
		return err
	}
	if c.machine.Runs(built.Toplevel) {
		err = c.unchanged(ctx)
	} else {
		if err := a.copy(ctx, c, built); err != nil {
			return err
		}
		err = c.to(ctx, destination{toplevel: built.Toplevel})
	}
	if err != nil || c.reached.URL == "" {
		return err
	}
	_, err = fmt.Fprintln(run.Out, c.reached.URL)
	return err
}

// copy sends what the machine lacks of the built system.
func (a *apply) copy(ctx context.Context, c *change, built nixos.Built) error {
	closure, err := built.Tool.Closure(ctx, built.Toplevel)
	if err != nil {
		return err
	}
	defer c.Record.Time("copy")()
	return send(ctx, c.Run, c.conn, c.machine, built, closure, a.copying)
}
