package dns

import (
	"context"
	_ "embed" // the glue
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	mdns "github.com/miekg/dns"

	"fediversity.eu/slipway/internal/bounded"
	"fediversity.eu/slipway/targets/report"
)

// The names in OctoDNS's configuration.
const (
	wanted = "wanted" // what the zones are to hold
	live   = "live"   // what they hold
)

// glue is a module of ours that OctoDNS loads as a processor, by the name of
// glueModule.
//
//go:embed glue.py
var glue []byte

const glueModule = "slipway_glue"

// workspace is a folder with everything that OctoDNS reads. It is private and ends
// with the run.
type workspace struct {
	dir      string
	commands commands
	provider provider
	env      []string
	log      *report.Log
	limit    time.Duration // of one command
}

// newWorkspace writes the zones and the configuration. Without a server, it serves to
// validate alone.
func newWorkspace(zones []zone, server map[string]any) (*workspace, error) {
	dir, err := os.MkdirTemp("", "slipway-dns-")
	if err != nil {
		return nil, report.Refuse("write the zones", err, "TMPDIR names a folder that can be written to")
	}
	w := &workspace{dir: dir}
	err = os.WriteFile(w.path(glueModule+".py"), glue, 0o600)
	if err == nil {
		err = w.write("config.json", w.config(zones, server))
	}
	for _, z := range zones {
		if err == nil {
			err = w.write(filepath.Join("zones", z.name+"yaml"), content(z))
		}
	}
	if err != nil {
		w.Close()
		return nil, report.Refuse("write the zones", err, "")
	}
	return w, nil
}

// Close removes the folder.
func (w *workspace) Close() { _ = os.RemoveAll(w.dir) }

func (w *workspace) path(name string) string { return filepath.Join(w.dir, name) }

// write writes JSON, which is YAML too, but for a reader of YAML 1.1 has no text
// that could be a number or a yes.
func (w *workspace) write(name string, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(w.path(name)), 0o700); err != nil {
		return err
	}
	return os.WriteFile(w.path(name), text, 0o600)
}

// config is OctoDNS's configuration.
func (w *workspace) config(zones []zone, server map[string]any) map[string]any {
	type object = map[string]any
	list := object{}
	for _, z := range zones {
		list[z.name] = object{
			"sources": []string{wanted}, "targets": []string{live}, "processors": []string{"challenges", "writable"},
			// Our own guard judges every plan, small zones included.
			"update_pcent_threshold": 1.0, "delete_pcent_threshold": 1.0,
		}
	}
	source := object{
		"class": "octodns.provider.yaml.YamlProvider", "directory": w.path("zones"),
		"default_ttl": leastTTL, "enforce_order": false, "escaped_semicolons": false,
	}
	if server == nil {
		server = maps.Clone(source)
	}
	return object{
		"manager": object{
			"max_workers": 4, "enable_checksum": true,
			"plan_outputs": object{"json": object{"class": "octodns.provider.plan.PlanJson", "output_filename": w.path("plan.json")}},
			"validators":   object{"enabled": []string{"strict"}},
		},
		"processors": object{
			"challenges": object{"class": "octodns.processor.acme.AcmeManagingProcessor"},
			"writable":   object{"class": glueModule + ".Writable"},
		},
		"providers": object{wanted: source, live: server},
		"zones":     list,
	}
}

// content is a zone as OctoDNS's files have it.
func content(z zone) map[string][]map[string]any {
	all := map[string][]map[string]any{}
	for _, r := range z.records {
		values := make([]any, 0, len(r.values))
		for _, value := range r.values {
			values = append(values, plain(value))
		}
		one := map[string]any{"type": mdns.TypeToString[r.kind], "ttl": r.ttl, "values": values}
		if r.kind == mdns.TypeCNAME {
			delete(one, "values")
			one["value"] = values[0]
		}
		name := relative(r.name, z.name)
		all[name] = append(all[name], one)
	}
	return all
}

// run runs one of OctoDNS's commands and gives what it said.
func (w *workspace) run(ctx context.Context, name string, args ...string) (string, error) {
	command := w.commands.command(name, append([]string{"--config-file", w.path("config.json")}, args...)...)
	command.Dir = w.dir
	command.Env = append(slices.Clip(w.env), "PYTHONPATH="+w.dir) // where the glue lies
	limited, cancel := context.WithTimeout(ctx, w.limit)
	defer cancel()
	limited, stop := context.WithCancelCause(limited)
	defer stop(nil)
	const most = 64 << 20
	said := bounded.Buffer{Limit: most, Full: stop}
	command.Stdout, command.Stderr = &said, &said
	err := command.Run(limited)
	for line := range warnings(said.String()) {
		w.log.Warnf("%s", line)
	}
	switch {
	case err == nil:
		return said.String(), nil
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case errors.Is(limited.Err(), context.Canceled):
		return "", report.Fail("run octodns-"+name, context.Cause(limited), "")
	case limited.Err() != nil:
		return "", &report.Fault{
			Code: report.Unknown, What: "talk to the server of the zones", Why: fmt.Errorf("octodns-%s took longer than %s", name, w.limit),
			Hint: "run it again when the server can be reached, or give it more time with DNS_TIMEOUT",
		}
	}
	return "", octodnsError(said.String(), err)
}

var checksumLine = regexp.MustCompile(`(?m)checksum=([0-9a-f]{64})$`)

// look asks the servers what they hold, and gives what would be changed. Forced,
// OctoDNS shows the whole plan; it changes nothing without being told to, and what
// is safe is judged here.
func (w *workspace) look(ctx context.Context, zones []zone) (changes, error) {
	_ = os.Remove(w.path("plan.json"))
	said, err := w.run(ctx, "sync", "--force", "--quiet")
	if err != nil {
		return changes{}, err
	}
	text, err := os.ReadFile(w.path("plan.json"))
	if err != nil {
		return changes{}, fmt.Errorf("read the plan of OctoDNS: %w", err)
	}
	c, err := readPlan(text, zones)
	if err != nil {
		return changes{}, err
	}
	if match := checksumLine.FindStringSubmatch(said); match != nil {
		c.checksum = match[1]
	}
	if c.any() && c.checksum == "" {
		return changes{}, errors.New("read the plan of OctoDNS: it gave no checksum")
	}
	return c, nil
}

// change makes a plan come true, and nothing but that plan.
func (w *workspace) change(ctx context.Context, c changes) error {
	args := []string{"--doit", "--checksum", c.checksum, "--quiet"}
	if c.ownNS() {
		// The guard has let them pass; OctoDNS would not, and it has no other way of
		// being told. The checksum holds it to what was judged.
		args = append(args, "--force")
	}
	_, err := w.run(ctx, "sync", args...)
	return err
}
