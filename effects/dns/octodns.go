package dns

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"time"

	mdns "github.com/miekg/dns"

	"fediversity.eu/slipway/targets/report"
	"fediversity.eu/slipway/targets/task"
)

// The names in OctoDNS's configuration.
const (
	wanted = "wanted" // what the zones are to hold
	live   = "live"   // what they hold
)

// bench is a folder with everything that OctoDNS reads. It is private and ends
// with the run.
type bench struct {
	dir      string
	commands commands
	provider provider
	env      []string
	limit    time.Duration // of one command
}

// newBench writes the zones and the configuration. Without a server, it serves to
// validate alone.
func newBench(zones []zone, server map[string]any) (*bench, error) {
	dir, err := os.MkdirTemp("", "slipway-dns-")
	if err != nil {
		return nil, report.Refuse("write the zones", err, "TMPDIR names a folder that can be written to")
	}
	b := &bench{dir: dir}
	err = b.write("config.json", b.config(zones, server))
	for _, z := range zones {
		if err == nil {
			err = b.write(filepath.Join("zones", z.name+"yaml"), content(z))
		}
	}
	if err != nil {
		b.Close()
		return nil, report.Refuse("write the zones", err, "")
	}
	return b, nil
}

// Close removes the folder.
func (b *bench) Close() { _ = os.RemoveAll(b.dir) }

func (b *bench) path(name string) string { return filepath.Join(b.dir, name) }

// write writes JSON, which is YAML too, but for a reader of YAML 1.1 has no text
// that could be a number or a yes.
func (b *bench) write(name string, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(b.path(name)), 0o700); err != nil {
		return err
	}
	return os.WriteFile(b.path(name), text, 0o600)
}

// config is OctoDNS's configuration.
func (b *bench) config(zones []zone, server map[string]any) map[string]any {
	type object = map[string]any
	list := object{}
	for _, z := range zones {
		list[z.name] = object{
			"sources": []string{wanted}, "targets": []string{live}, "processors": []string{"challenges"},
			// Our own guard judges every plan, small zones included.
			"update_pcent_threshold": 1.0, "delete_pcent_threshold": 1.0,
		}
	}
	source := object{
		"class": "octodns.provider.yaml.YamlProvider", "directory": b.path("zones"),
		"default_ttl": leastTTL, "enforce_order": false, "escaped_semicolons": false,
	}
	if server == nil {
		server = object{}
		for name, value := range source {
			server[name] = value
		}
	}
	return object{
		"manager": object{
			"max_workers": 4, "enable_checksum": true,
			"plan_outputs": object{"json": object{"class": "octodns.provider.plan.PlanJson", "output_filename": b.path("plan.json")}},
			"validators":   object{"enabled": []string{"strict"}},
		},
		"processors": object{"challenges": object{"class": "octodns.processor.acme.AcmeManagingProcessor"}},
		"providers":  object{wanted: source, live: server},
		"zones":      list,
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
func (b *bench) run(ctx context.Context, run *task.Run, name string, args ...string) (string, error) {
	command := b.commands.command(name, append([]string{"--config-file", b.path("config.json")}, args...)...)
	var said bytes.Buffer
	command.Dir, command.Env, command.Stdout, command.Stderr = b.dir, b.env, &said, &said
	ctx, cancel := context.WithTimeoutCause(ctx, b.limit, fmt.Errorf("octodns-%s took longer than %s (DNS_TIMEOUT)", name, b.limit))
	defer cancel()
	err := command.Run(ctx)
	if err != nil {
		err = octodnsError(said.String(), err)
	}
	for line := range warnings(said.String()) {
		run.Log.Warnf("%s", line)
	}
	return said.String(), err
}

var checksumLine = regexp.MustCompile(`(?m)checksum=([0-9a-f]{64})$`)

// look asks the servers what they hold, and gives what would be changed. Forced,
// OctoDNS shows the whole plan; it changes nothing without being told to, and what
// is safe is judged here.
func (b *bench) look(ctx context.Context, run *task.Run, zones []zone) (changes, error) {
	_ = os.Remove(b.path("plan.json"))
	said, err := b.run(ctx, run, "sync", "--force", "--quiet")
	if err != nil {
		return changes{}, err
	}
	text, err := os.ReadFile(b.path("plan.json"))
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
func (b *bench) change(ctx context.Context, run *task.Run, c changes) error {
	args := []string{"--doit", "--checksum", c.checksum, "--quiet"}
	if c.ownNS() {
		// The guard has let them pass; OctoDNS would not, and it has no other way of
		// being told. The checksum holds it to what was judged.
		args = append(args, "--force")
	}
	_, err := b.run(ctx, run, "sync", args...)
	return err
}
