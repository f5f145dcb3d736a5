package deploy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"fediversity.eu/slipway/methods/nixos"
	"fediversity.eu/slipway/methods/remote"
	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/report"
	"fediversity.eu/slipway/targets/task"
)

// plan shows what apply would do. What the machine lacks of the new closure is
// copied to it, since only the new system itself can tell what a switch would do
// to the units; nothing refers to it there, and a garbage collection removes it.
type plan struct {
	reach     Reach
	blueprint *nixos.Blueprint
	owner     OwnerKeys
	copying   CopyKeys
}

// Plan makes the task that shows what Apply would do.
func Plan(reach Reach, blueprint *nixos.Blueprint) task.Task {
	return &plan{reach: reach, blueprint: blueprint}
}

func (p *plan) Coordinates() []any {
	return append(append(p.reach.Way.Coordinates(), p.blueprint.Coordinates()...), &p.owner, &p.copying)
}

// Check looks at the coordinates before anything starts.
func (p *plan) Check(environment env.Environment) error {
	return errors.Join(p.reach.Way.Check(), p.blueprint.Check(environment))
}

func (p *plan) Run(ctx context.Context, run *task.Run) error {
	built, err := p.blueprint.Build(ctx, run)
	if err != nil {
		return err
	}
	changes, err := Preview(ctx, run, p.reach, built, p.owner, p.copying)
	if err == nil && !changes {
		_, err = fmt.Fprintf(run.Out, "no changes: %s runs already\n", built.Toplevel)
	}
	return err
}

// Preview shows what a deployment of a system would do to a machine: to its closure
// and to its units. It tells whether it would do anything; where the machine runs
// the system already, nothing is shown.
func Preview(ctx context.Context, run *task.Run, reach Reach, built nixos.Built, owner OwnerKeys, keys CopyKeys) (changes bool, err error) {
	changes, err = preview(ctx, run, reach, built, owner, keys)
	return changes, classify(err, run.Record.Changed)
}

func preview(ctx context.Context, run *task.Run, reach Reach, built nixos.Built, owner OwnerKeys, keys CopyKeys) (bool, error) {
	conn, err := reach.dial(ctx, run)
	if err != nil {
		return false, err
	}
	defer func() { _ = conn.Close() }()
	machine, err := reach.inspect(ctx, conn, run)
	if err != nil {
		return false, err
	}
	if err := reach.whose(machine, owner); err != nil {
		return false, err
	}
	if busy := append(machine.Switching, machine.Guards...); len(busy) > 0 {
		run.Log.Warnf("a switch is under way, or was left behind: %s; apply would settle that first", strings.Join(busy, ", "))
	}
	run.Record.Generation = machine.Generation
	if machine.Runs(built.Toplevel) {
		run.Record.Plan = &report.Plan{}
		return false, nil
	}
	difference, err := compare(ctx, conn, run, machine, built, keys)
	if err != nil {
		return true, err
	}
	refusal := nixos.Check(ctx, conn, built.Toplevel, run.Log)
	if code := report.CodeOf(refusal); refusal != nil && code != report.Refused {
		return true, refusal
	}
	effect, err := nixos.DryRun(ctx, conn, built.Toplevel)
	// A system that refuses may do so here too: its checks run for every verb.
	if err != nil && (refusal == nil || report.CodeOf(err) != report.Refused) {
		return true, err
	}
	run.Record.Plan = planRecord(difference, effect)
	if err := show(run.Out, machine.Current, built.Toplevel, difference, effect); err != nil {
		return true, err
	}
	if refusal == nil {
		return true, nil
	}
	return true, report.Refuse("plan", fmt.Errorf("apply would be refused: %w", refusal), strings.Join(report.Hints(refusal), "; "))
}

// compare compares the closures, and brings the new one to the machine.
func compare(ctx context.Context, conn *remote.Conn, run *task.Run, machine nixos.Machine, built nixos.Built, keys CopyKeys) (nixos.Difference, error) {
	closure, err := built.Tool.Closure(ctx, built.Toplevel)
	if err == nil {
		err = built.Tool.Sizes(ctx, closure)
	}
	if err != nil {
		return nixos.Difference{}, err
	}
	var before []nixos.Path
	if machine.Current != "" {
		if before, err = nixos.RemoteClosure(ctx, conn, machine.Current); err != nil {
			return nixos.Difference{}, err
		}
	}
	defer run.Record.Time("copy")()
	return nixos.Compare(before, closure), send(ctx, run, conn, machine, built, closure, keys)
}

// send copies what the machine lacks of a closure.
func send(ctx context.Context, run *task.Run, conn *remote.Conn, machine nixos.Machine, built nixos.Built, closure []nixos.Path, keys CopyKeys) error {
	copied, err := built.Tool.Copy(ctx, conn, machine, closure, nixos.CopyOptions{Substitute: bool(keys.Substitute)})
	if err != nil {
		return err
	}
	run.Record.Copied = &report.Copied{Paths: copied.Paths, Bytes: copied.Bytes}
	return nil
}

// show prints a plan for a person.
func show(out io.Writer, before, after string, d nixos.Difference, e nixos.Effect) error {
	var b strings.Builder
	fmt.Fprintf(&b, "from %s\n  to %s\n\n", cmp.Or(before, "nothing"), after)
	for _, p := range d.Packages {
		fmt.Fprintf(&b, "  %s  %s\n", p, signed(p.Bytes))
	}
	fmt.Fprintf(&b, "\n%d paths added, %d removed; closure %s, %s\n", len(d.Added), len(d.Removed), report.Bytes(d.After), signed(d.After-d.Before))
	for _, list := range []struct {
		what  string
		units []string
	}{
		{"would stop", e.Stop},
		{"would restart", e.Restart},
		{"would reload", e.Reload},
		{"would start", e.Start},
		{"changed, but left alone", e.Skip},
		{"only a reboot would bring in", e.Reboot},
	} {
		if len(list.units) > 0 {
			fmt.Fprintf(&b, "%s: %s\n", list.what, strings.Join(list.units, ", "))
		}
	}
	_, err := io.WriteString(out, b.String())
	return err
}

func signed(n int64) string {
	if n < 0 {
		return "-" + report.Bytes(-n)
	}
	return "+" + report.Bytes(n)
}

func planRecord(d nixos.Difference, e nixos.Effect) *report.Plan {
	return &report.Plan{
		Changes: true, Added: len(d.Added), Removed: len(d.Removed), Bytes: d.After - d.Before,
		Stop: e.Stop, Start: e.Start, Restart: e.Restart, Reload: e.Reload, Skip: e.Skip, Reboot: e.Reboot,
	}
}
