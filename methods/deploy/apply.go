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
	keys      ChangeKeys
}

// Apply makes the task that deploys a machine.
func Apply(reach Reach, blueprint *nixos.Blueprint) task.Task {
	return &apply{reach: reach, blueprint: blueprint}
}

func (a *apply) Coordinates() []any {
	return append(append(a.reach.Way.Coordinates(), a.blueprint.Coordinates()...), a.keys.Coordinates()...)
}

// Check looks at the coordinates before anything starts.
func (a *apply) Check(environment env.Environment) error {
	return errors.Join(a.reach.Way.Check(), a.blueprint.Check(environment), a.keys.Check())
}

func (a *apply) Run(ctx context.Context, run *task.Run) error {
	built, err := a.blueprint.Build(ctx, run)
	if err != nil {
		return err
	}
	reached, err := To(ctx, run, a.reach, built, a.keys)
	if err != nil || reached.URL == "" {
		return err
	}
	_, err = fmt.Fprintln(run.Out, reached.URL)
	return err
}
