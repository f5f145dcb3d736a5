package dns

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"fediversity.eu/slipway/targets/report"
	"fediversity.eu/slipway/targets/task"
)

// plan shows what apply would change.
type plan struct{ served }

func (p *plan) Run(ctx context.Context, run *task.Run) error {
	zones, b, err := p.open(ctx, run)
	if err != nil {
		return err
	}
	defer b.Close()
	done := run.Record.Time("look")
	c, err := b.look(ctx, run, zones)
	done()
	if err != nil {
		return err
	}
	run.Record.Zones = c.record()
	if err := c.show(run.Out); err != nil {
		return err
	}
	if refusal := p.guard.judge(c, zones, b.provider); refusal != nil {
		return report.Refuse("plan", fmt.Errorf("apply would be refused: %w", refusal), strings.Join(report.Hints(refusal), "; "))
	}
	return nil
}

// validate checks the zones by our rules and by OctoDNS's, and asks no server.
type validate struct{ declared }

func (v *validate) Run(ctx context.Context, run *task.Run) error {
	zones, err := v.zones(ctx, run.Environment)
	if err != nil {
		return &report.Fault{Code: report.Usage, What: "render the zones", Why: err, Hint: "nothing was started"}
	}
	b, err := newBench(zones, nil)
	if err != nil {
		return err
	}
	defer b.Close()
	if b.commands, err = v.tools.find(ctx, run.Environment, run.Log.In("setup"), ""); err != nil {
		return err
	}
	b.env, b.limit = run.Environment.Child(nil), 10*time.Minute
	if _, err := b.run(ctx, run, "validate"); err != nil {
		return err
	}
	for _, z := range zones {
		if _, err := fmt.Fprintf(run.Out, "%s: %d records, no faults\n", z.name, len(z.records)); err != nil {
			return err
		}
	}
	return nil
}

// dump prints what the servers hold, as OctoDNS writes it.
type dump struct{ served }

func (d *dump) Run(ctx context.Context, run *task.Run) error {
	zones, b, err := d.open(ctx, run)
	if err != nil {
		return err
	}
	defer b.Close()
	for _, z := range zones {
		if _, err := b.run(ctx, run, "dump", "--lenient", "--quiet", "--output-dir", b.path("dump"), z.name, live); err != nil {
			return err
		}
		text, err := os.ReadFile(b.path("dump/" + z.name + "yaml"))
		if err != nil {
			return fmt.Errorf("read the dump of %s: %w", z.name, err)
		}
		if _, err := io.WriteString(run.Out, "# "+z.name+"\n"+string(text)); err != nil {
			return err
		}
	}
	return nil
}
