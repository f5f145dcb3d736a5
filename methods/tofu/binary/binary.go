// Package binary finds OpenTofu, or builds it once.
//
// A tofu that is there and new enough is used: the one that TOFU_PATH names, or
// the first on the PATH that is a program and not a script around one. Where
// there is none, the pinned version is built from its Go module into the cache,
// which takes minutes, and is found there ever after.
package binary

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/hashicorp/go-version"
	install "github.com/hashicorp/hc-install"
	"github.com/hashicorp/hc-install/fs"
	"github.com/hashicorp/hc-install/src"

	"fediversity.eu/slipway/internal/toolchain"
	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/report"
)

// Keys say where OpenTofu is.
type Keys struct {
	Path env.Path `env:"TOFU_PATH" desc:"the OpenTofu to use: the program itself, no script around it; by default the first on the PATH that will do, else one that is built into the cache"`
}

// Pinned is the version that is built where none is found.
const Pinned = "1.12.6"

// wanted is what the state guard was proved with: from 1.12 the lock outlives a
// cancelled context and the JSON streams have their present form.
const wanted = ">= 1.12.0, < 2.0.0"

// Tofu is an OpenTofu.
type Tofu struct {
	Path    string // absolute
	Version string // "1.12.6"
}

// Find returns the OpenTofu of this host, and builds one where there is none.
func Find(ctx context.Context, e env.Environment, k Keys, tools toolchain.Keys, log *report.Log) (*Tofu, error) {
	p, built, constraints, err := prepare(e)
	if err != nil {
		return nil, err
	}
	if k.Path != "" {
		return p.named(ctx, string(k.Path), constraints)
	}
	path, err := p.find(ctx, built, constraints)
	if err == nil {
		return p.tofu(ctx, path)
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if passed := p.passed(); passed != "" {
		log.Infof("passed over %s", passed)
	}
	path, err = build(ctx, e, tools, built, log)
	if err != nil {
		return nil, err
	}
	return p.tofu(ctx, path)
}

// prepare says where a built one lies and what will do.
func prepare(e env.Environment) (*prober, string, version.Constraints, error) {
	cache, err := e.CacheDir()
	if err != nil {
		return nil, "", nil, err
	}
	folder := filepath.Join(cache, "tools")
	constraints, err := version.NewConstraint(wanted)
	if err != nil {
		return nil, "", nil, err
	}
	return &prober{env: e, memory: filepath.Join(folder, "tofu-versions.json")}, filepath.Join(folder, "tofu-"+Pinned), constraints, nil
}

// find asks hc-install for the first that will do: on the PATH, then the built.
func (p *prober) find(ctx context.Context, built string, constraints version.Constraints) (string, error) {
	return install.NewInstaller().Ensure(ctx, []src.Source{
		&fs.Version{Product: p.product(), Constraints: constraints, ExtraPaths: []string{built}, Timeout: probeLimit},
	})
}

// named takes the tofu that the caller names, or none.
func (p *prober) named(ctx context.Context, path string, constraints version.Constraints) (*Tofu, error) {
	v, err := p.version(ctx, path)
	if err == nil && constraints.Check(v) {
		return &Tofu{Path: path, Version: v.String()}, nil
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return nil, &report.Fault{
		Code: report.Usage, What: "use " + path, Why: errors.New(p.reasons[path]),
		Hint: "TOFU_PATH must name a tofu " + wanted + "; unset, one is found or built",
	}
}

// passed lists what was found and not taken, in one line.
func (p *prober) passed() string {
	var all []string
	for _, path := range p.order {
		all = append(all, path+" ("+p.reasons[path]+")")
	}
	return strings.Join(all, ", ")
}

// ErrNone is that no OpenTofu is there.
var ErrNone = errors.New("no OpenTofu is there")

// Look returns the OpenTofu that is there, by PATH or built before, and ErrNone
// where there is none. It builds nothing.
func Look(ctx context.Context, e env.Environment) (*Tofu, error) {
	p, built, constraints, err := prepare(e)
	if err != nil {
		return nil, err
	}
	path, err := p.find(ctx, built, constraints)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNone, err)
	}
	return p.tofu(ctx, path)
}
