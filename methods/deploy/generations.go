package deploy

import (
	"context"
	"fmt"
	"time"

	"fediversity.eu/slipway/methods/nixos"
	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/task"
)

// generations lists what a machine could go back to: number, toplevel, when it was
// made, and whether it is the profile's and whether it runs.
type generations struct{ reach Reach }

// Generations makes the task that lists what a machine could go back to.
func Generations(reach Reach) task.Task { return &generations{reach: reach} }

func (g *generations) Coordinates() []any { return g.reach.Way.Coordinates() }

// Check looks at the coordinates before anything starts.
func (g *generations) Check(env.Environment) error { return g.reach.Way.Check() }

func (g *generations) Run(ctx context.Context, run *task.Run) error {
	err := g.run(ctx, run)
	return classify(err, run.Record.Changed)
}

func (g *generations) run(ctx context.Context, run *task.Run) error {
	conn, err := g.reach.dial(ctx, run)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	machine, err := g.reach.inspect(ctx, conn, run)
	if err != nil {
		return err
	}
	list, err := nixos.Generations(ctx, conn, machine)
	if err != nil {
		return err
	}
	for _, generation := range list {
		marks := ""
		if !generation.Made.IsZero() {
			marks += " " + generation.Made.Format(time.RFC3339)
		}
		if generation.Current {
			marks += " default"
		}
		if generation.Toplevel == machine.Current {
			marks += " running"
		}
		if _, err := fmt.Fprintf(run.Out, "%d %s%s\n", generation.Number, generation.Toplevel, marks); err != nil {
			return err
		}
	}
	return nil
}
