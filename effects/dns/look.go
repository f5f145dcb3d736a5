package dns

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"fediversity.eu/slipway/targets/report"
	"fediversity.eu/slipway/targets/task"
)

// plan shows what apply would change.
type plan struct{ served }

func (p *plan) Run(ctx context.Context, run *task.Run) error {
	zones, w, c, err := p.compared(ctx, run)
	if err != nil {
		return err
	}
	defer w.Close()
	if err := c.show(run.Out); err != nil {
		return err
	}
	if refusal := p.guard.judge(c, zones, w.provider); refusal != nil {
		return report.Refuse("plan", fmt.Errorf("apply would be refused: %w", refusal), strings.Join(report.Hints(refusal), "; "))
	}
	return nil
}

// validate checks the zones by our rules and by OctoDNS's, and asks no server.
type validate struct{ declared }

func (v *validate) Run(ctx context.Context, run *task.Run) error {
	zones, err := v.zones(ctx, run.Environment, false)
	if err != nil {
		return report.Refuse("render the zones", err, "")
	}
	w, err := newWorkspace(zones, nil)
	if err != nil {
		return err
	}
	defer w.Close()
	if w.commands, err = v.tools.find(ctx, run.Environment, run.Log.In("setup"), ""); err != nil {
		return err
	}
	w.env, w.limit, w.log = childEnvironment(run.Environment, nil), 10*time.Minute, run.Log
	if _, err := w.run(ctx, "validate"); err != nil {
		return err
	}
	for _, z := range zones {
		if _, err := fmt.Fprintf(run.Out, "%s: %s, no faults\n", z.name, records(len(z.records))); err != nil {
			return err
		}
	}
	return nil
}

// dump prints what the servers hold, as OctoDNS writes it.
type dump struct{ served }

func (d *dump) Run(ctx context.Context, run *task.Run) error {
	zones, w, err := d.open(ctx, run)
	if err != nil {
		return err
	}
	defer w.Close()
	for i, z := range zones {
		text, err := w.dump(ctx, i, z)
		if err != nil {
			return err
		}
		if _, err := io.WriteString(run.Out, "# "+z.name+"\n"+text); err != nil {
			return err
		}
	}
	return nil
}

// dump gives what the servers hold of a zone, the one with some number. OctoDNS
// calls the file after the zone, an international one in its own alphabet, and makes
// no folder for what stands before a slash in it (RFC 2317): so each zone has its
// own folder, in which there is but that file.
func (w *workspace) dump(ctx context.Context, number int, z zone) (string, error) {
	within := w.path(filepath.Join("dump", strconv.Itoa(number)))
	dir := filepath.Dir(filepath.Join(within, z.name+"yaml"))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", report.Refuse("dump "+z.name, err, "TMPDIR names a folder that can be written to")
	}
	if _, err := w.run(ctx, "dump", "--lenient", "--quiet", "--output-dir", within, z.name, live); err != nil {
		return "", err
	}
	files, err := os.ReadDir(dir)
	if err == nil && len(files) != 1 {
		err = fmt.Errorf("OctoDNS wrote %d files for it", len(files))
	}
	if err != nil {
		return "", fmt.Errorf("read the dump of %s: %w", z.name, err)
	}
	text, err := os.ReadFile(filepath.Join(dir, files[0].Name()))
	if err != nil {
		return "", fmt.Errorf("read the dump of %s: %w", z.name, err)
	}
	return string(text), nil
}
