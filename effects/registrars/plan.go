package registrars

import (
	"context"
	"fmt"
	"io"
	"strings"

	"fediversity.eu/slipway/effects/registrars/delegation"
	"fediversity.eu/slipway/targets/report"
	"fediversity.eu/slipway/targets/task"
)

// plan shows what apply would do, and whether it would be refused. It changes
// nothing.
type plan struct{ access }

func (p *plan) Run(ctx context.Context, run *task.Run) error {
	list, err := p.evaluation.evaluate()
	if err != nil {
		return err
	}
	run.Record.Plan = &report.Plan{}
	return each(run, list, func(w wanted) error {
		return classify(ctx, p.one(ctx, run, w), "plan "+w.Domain, false)
	})
}

func (p *plan) one(ctx context.Context, run *task.Run, w wanted) error {
	have, err := p.open(w).Read(ctx, w.Domain)
	if err != nil {
		return err
	}
	steps := delegation.Steps(have, w.stated())
	if len(steps) == 0 {
		_, err = fmt.Fprintf(run.Out, "no changes: %s is delegated as declared\n", w.Domain)
		return err
	}
	run.Record.Plan.Changes = true
	if _, err := fmt.Fprintf(run.Out, "%s at %s:\n  %s\n", w.Domain, w.registrar.name, strings.Join(lines(steps), "\n  ")); err != nil {
		return err
	}
	return guard(ctx, p.asking.asker(), run.Log, have, w.stated())
}

// validate shows what is declared, and asks nobody.
type validate struct{ evaluation *evaluation }

func (v *validate) Coordinates() []any { return v.evaluation.coordinates() }

func (v *validate) Run(_ context.Context, run *task.Run) error {
	list, err := v.evaluation.evaluate()
	if err != nil {
		return err
	}
	return each(run, list, func(w wanted) error { return show(run.Out, w) })
}

// show writes a delegation as it is to be.
func show(out io.Writer, w wanted) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s at %s:\n", w.Domain, w.registrar.name)
	for _, name := range w.Servers {
		fmt.Fprintf(&b, "  server %s\n", name)
	}
	for _, host := range w.Hosts {
		fmt.Fprintf(&b, "  host %s\n", host)
	}
	for _, line := range w.Anchors() {
		fmt.Fprintf(&b, "  %s\n", line)
	}
	for _, k := range w.Keys {
		fmt.Fprintf(&b, "  derived: DS %s\n", k.DS(w.Domain))
	}
	if !w.Signed() {
		b.WriteString("  not signed\n")
	}
	_, err := io.WriteString(out, b.String())
	return err
}
