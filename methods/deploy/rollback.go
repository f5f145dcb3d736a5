package deploy

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"fediversity.eu/slipway/methods/nixos"
	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/report"
	"fediversity.eu/slipway/targets/task"
)

// rollback brings a machine back to one of its generations, and judges it.
type rollback struct {
	reach     Reach
	owner     OwnerKeys
	switching SwitchKeys
	verdict   VerdictKeys
	keys      RollbackKeys
}

// Rollback makes the task that brings a machine back to a generation.
func Rollback(reach Reach) task.Task { return &rollback{reach: reach} }

func (r *rollback) Coordinates() []any {
	return append(r.reach.Way.Coordinates(), &r.owner, &r.switching, &r.verdict, &r.keys)
}

// Check looks at the coordinates before anything starts.
func (r *rollback) Check(env.Environment) error {
	return errors.Join(r.reach.Way.Check(), r.verdict.check())
}

func (r *rollback) Run(ctx context.Context, run *task.Run) error {
	err := r.run(ctx, run)
	return classify(err, run.Record.Changed)
}

func (r *rollback) run(ctx context.Context, run *task.Run) error {
	c := &change{Run: run, reach: r.reach, owner: r.owner, keys: r.switching, verdict: r.verdict}
	defer c.end()
	if err := c.begin(ctx); err != nil {
		return err
	}
	list, err := nixos.Generations(ctx, c.conn, c.machine)
	if err != nil {
		return err
	}
	chosen, err := choose(list, c.machine, int(r.keys.Generation))
	if err != nil {
		return err
	}
	run.Record.Toplevel = chosen.Toplevel
	run.Log.Infof("back to generation %d, %s", chosen.Number, chosen.Toplevel)
	if chosen.Current && c.machine.Runs(chosen.Toplevel) {
		return c.unchanged(ctx)
	}
	return c.to(ctx, destination{toplevel: chosen.Toplevel, generation: chosen.Number})
}

// choose picks the generation to go back to: the one that was asked for, or else
// the default at boot where another system runs, or else the newest one before
// it that is another system.
func choose(list []nixos.Generation, machine nixos.Machine, number int) (nixos.Generation, error) {
	var numbers []string
	var before *nixos.Generation
	for i, g := range list {
		numbers = append(numbers, fmt.Sprint(g.Number))
		switch {
		case number == g.Number:
			return g, nil
		case number > 0:
		case g.Current && g.Toplevel != machine.Current:
			return g, nil
		case g.Number < machine.Generation && g.Toplevel != machine.Current:
			before = &list[i]
		}
	}
	switch {
	case number > 0:
		return nixos.Generation{}, report.Refuse("choose a generation",
			fmt.Errorf("GENERATION: the machine has no generation %d, it has %s", number, strings.Join(numbers, ", ")),
			"generations lists them; nothing was changed")
	case before == nil:
		return nixos.Generation{}, report.Refuse("choose a generation",
			fmt.Errorf("no generation before %d is another system than the one that runs", machine.Generation),
			"generations lists what there is; nothing was changed")
	}
	return *before, nil
}
