package nixos

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"fediversity.eu/slipway/groups"
	"fediversity.eu/slipway/methods"
	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/report"
	"fediversity.eu/slipway/targets/task"
)

// StandIn gives the nixpkgs of machines that need nothing from the caller. It
// may keep files in the cache directory.
type StandIn func(ctx context.Context, cache string) (string, error)

// Blueprint is a machine's system as the coordinates describe it: what every
// task that needs a system is built on.
type Blueprint struct {
	deployment methods.Deployment
	standIn    StandIn
	cache      env.Cache
	hosting    HostingKeys
	nixpkgs    NixpkgsKeys
	local      LocalKeys
	placement  string
	image      string // kind of the image to build, instead of a system; see evaluate.nix
}

// NewBlueprint makes the blueprint of a machine. standIn serves the machines
// that Slipway boots itself.
func NewBlueprint(d methods.Deployment, standIn StandIn) *Blueprint {
	return &Blueprint{deployment: d, standIn: standIn}
}

// At says where the machine runs, where that is not where its declaration says:
// its modules see it as coordinates.placement.
func (b *Blueprint) At(placement string) *Blueprint {
	if placement != "" {
		b.placement = placement
	}
	return b
}

// Coordinates are the keys that say what the system is made of.
func (b *Blueprint) Coordinates() []any {
	if b.isLocal() {
		return []any{&b.cache, &b.hosting, &b.local}
	}
	return []any{&b.cache, &b.hosting, &b.nixpkgs}
}

func (b *Blueprint) isLocal() bool {
	_, ok := b.deployment.Machine.Placement.(groups.Local)
	return ok
}

// Check looks at the coordinates before anything starts: the facts can be read,
// the trees are there, and hold the machine's modules.
func (b *Blueprint) Check(environment env.Environment) error {
	if _, err := environment.CacheDir(); err != nil {
		return &report.Fault{Code: report.Usage, What: "read the coordinates", Why: err}
	}
	_, err := NewCoordinates(b.deployment.Group, b.deployment.Machine, "", string(b.hosting.Hosting))
	faults := []error{err}
	nixpkgs := cmp.Or(b.nixpkgs.Nixpkgs, b.local.Nixpkgs)
	if nixpkgs != "" {
		_, err := openNixpkgs(string(nixpkgs))
		faults = append(faults, err)
	}
	if dir := b.deployment.Group.Source.Dir; dir != "" {
		faults = append(faults, haveModules(dir, b.deployment.Machine.Modules))
	}
	return errors.Join(faults...)
}

// haveModules names every module that a source lacks.
func haveModules(dir string, modules []string) error {
	var faults []error
	for _, module := range modules {
		if _, err := os.Stat(filepath.Join(dir, module)); err != nil {
			faults = append(faults, err)
		}
	}
	if err := errors.Join(faults...); err != nil {
		return badSource(dir, err)
	}
	return nil
}

// Built is a system that lies in the store of this host.
type Built struct {
	Tool     *Tool
	Toplevel string
}

// Build evaluates and builds the system, or finds that both are done.
func (b *Blueprint) Build(ctx context.Context, run *task.Run) (Built, error) {
	cache, err := run.Environment.CacheDir()
	if err != nil {
		return Built{}, &report.Fault{Code: report.Usage, What: "read the coordinates", Why: err}
	}
	tool, err := FindTool(ctx, run.Environment, run.Log)
	if err != nil {
		return Built{}, err
	}
	system, err := b.system(ctx, cache)
	if err != nil {
		return Built{}, err
	}
	system.warnOfFacts(run.Log)
	done := run.Record.Time("evaluate")
	evaluation, err := tool.Evaluate(ctx, system, cache)
	done()
	if err != nil {
		return Built{}, err
	}
	run.Record.Source = &report.Source{
		Modules: system.Source.Name, Hash: evaluation.Hash, Nixpkgs: system.Nixpkgs, Cached: evaluation.Cached,
	}
	if evaluation.Cached {
		run.Log.In("evaluate").Infof("nothing to evaluate: the same was evaluated before")
	} else {
		run.Log.In("evaluate").Infof("%s, modules from %s", evaluation.Derivation, system.Source.Name)
	}
	done = run.Record.Time("build")
	toplevel, err := tool.Build(ctx, evaluation)
	done()
	run.Record.Toplevel = toplevel
	return Built{Tool: tool, Toplevel: toplevel}, err
}

func (b *Blueprint) system(ctx context.Context, cache string) (System, error) {
	group, machine := b.deployment.Group, b.deployment.Machine
	nixpkgs, domain := string(b.nixpkgs.Nixpkgs), string(b.nixpkgs.Domain)
	if b.isLocal() {
		nixpkgs, domain = string(b.local.Nixpkgs), string(b.local.Domain)
	}
	if nixpkgs == "" && b.standIn == nil {
		return System{}, &report.Fault{Code: report.Usage, What: "find nixpkgs", Why: errors.New("NIXPKGS is not set, and this program carries no stand-in")}
	}
	if nixpkgs == "" {
		var err error
		if nixpkgs, err = b.standIn(ctx, cache); err != nil {
			return System{}, fmt.Errorf("stand-in nixpkgs: %w", err)
		}
	}
	coordinates, err := NewCoordinates(group, machine, domain, string(b.hosting.Hosting))
	if err != nil {
		return System{}, err
	}
	coordinates.Placement = b.placement
	source, err := OpenSource(group, cache)
	if err != nil {
		return System{}, err
	}
	return System{
		Deployment: group.Name + "-" + machine.Name, Machine: machine,
		Source: source, Nixpkgs: nixpkgs, Coordinates: coordinates, Image: b.image,
	}, nil
}
