package dns

import (
	"context"
	"crypto/sha256"
	_ "embed" // the pinned versions
	"encoding/hex"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"fediversity.eu/slipway/internal/child"
	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/report"
)

// requirements are the Python packages that are installed, each with the hashes
// of its files.
//
//go:embed requirements.txt
var requirements []byte

// commands are OctoDNS's own, as they are started.
type commands struct {
	python string // empty where dir has the commands themselves
	dir    string
}

// command is one of OctoDNS's commands: "sync", "validate", "dump".
func (c commands) command(name string, args ...string) child.Command {
	if c.python == "" {
		return child.Command{Path: filepath.Join(c.dir, "octodns-"+name), Args: args}
	}
	return child.Command{Path: c.python, Args: append([]string{"-m", "octodns.cmds." + name}, args...)}
}

// Prepare installs OctoDNS into the cache, unless it is there: the first run of an
// effect does it too.
func Prepare(ctx context.Context, e env.Environment, log *report.Log) error {
	_, err := (&ToolKeys{}).find(ctx, e, log, "")
	return err
}

// find gives the commands that the coordinates name, or those in the cache, where
// it installs them first if need be.
func (k *ToolKeys) find(ctx context.Context, e env.Environment, log *report.Log, extra string) (commands, error) {
	if k.OctoDNS != "" {
		if _, err := os.Stat(string(k.OctoDNS)); err != nil {
			return commands{}, report.Refuse("find OctoDNS", err, "DNS_OCTODNS names octodns-sync itself")
		}
		return commands{dir: filepath.Dir(string(k.OctoDNS))}, nil
	}
	cache, err := e.CacheDir()
	if err != nil {
		return commands{}, &report.Fault{Code: report.Usage, What: "find OctoDNS", Why: err}
	}
	sum := sha256.Sum256(append(append([]byte{}, requirements...), extra...))
	dir := filepath.Join(cache, "tools", "octodns-"+hex.EncodeToString(sum[:6]))
	c := commands{python: filepath.Join(dir, "bin", "python")}
	// A folder of that name is whole, but its Python may have gone since.
	if _, err := os.Stat(dir); err == nil {
		if _, err := os.Stat(c.python); err == nil {
			return c, nil
		}
		if err := os.RemoveAll(dir); err != nil {
			return commands{}, report.Refuse("install OctoDNS", err, "")
		}
	}
	log.Infof("installing OctoDNS into %s", dir)
	if err := k.install(ctx, e, log, dir, extra); err != nil {
		return commands{}, err
	}
	return c, nil
}

// install makes a virtual environment beside dir, and gives it its name when it is
// whole: what has the name can be used. Another run may have been faster.
func (k *ToolKeys) install(ctx context.Context, e env.Environment, log *report.Log, dir, extra string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return report.Refuse("install OctoDNS", err, "CACHE_DIR names a folder that can be written to")
	}
	draft, err := os.MkdirTemp(filepath.Dir(dir), ".octodns-*")
	if err != nil {
		return report.Refuse("install OctoDNS", err, "CACHE_DIR names a folder that can be written to")
	}
	defer func() { _ = os.RemoveAll(draft) }()
	list := filepath.Join(draft, "requirements.txt")
	if err := os.WriteFile(list, requirements, 0o644); err != nil {
		return report.Refuse("install OctoDNS", err, "")
	}
	own := map[string]string{}
	if k.Index.IsSet() {
		own["PIP_INDEX_URL"] = k.Index.Reveal()
	}
	python := filepath.Join(draft, "bin", "python")
	pip := []string{"-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input"}
	steps := []child.Command{
		{Path: "python3", Args: []string{"-m", "venv", draft}},
		{Path: python, Args: append(slices.Clip(pip), "--no-deps", "--require-hashes", "--requirement", list)},
	}
	if extra != "" {
		steps = append(steps, child.Command{Path: python, Args: append(slices.Clip(pip), extra)})
	}
	lines := log.Lines()
	defer func() { _ = lines.Close() }()
	for _, step := range steps {
		step.Env, step.Stdout, step.Stderr = childEnvironment(e, own), lines, lines
		if err := step.Run(ctx); err != nil {
			if ctx.Err() != nil {
				return err
			}
			if child.Killed(err) {
				return report.Fail("install OctoDNS", err, outOfMemory)
			}
			return report.Refuse("install OctoDNS", err, "mage setup installs python3-venv; without PyPI, DNS_OCTODNS names an octodns-sync that is there, or PIP_INDEX_URL another index")
		}
	}
	if err := os.Rename(draft, dir); err != nil {
		if _, there := os.Stat(dir); there != nil {
			return report.Refuse("install OctoDNS", err, "")
		}
	}
	return nil
}

// childEnvironment is that of a program in Python, whose library for HTTP looks for
// authorities in a variable of its own (Requests documentation, "SSL Cert
// Verification").
func childEnvironment(e env.Environment, own map[string]string) []string {
	all := map[string]string{}
	if authorities := e.Authorities(); authorities != "" {
		all["REQUESTS_CA_BUNDLE"] = authorities
	}
	maps.Copy(all, own)
	return e.Child(all)
}
