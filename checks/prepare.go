package checks

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"fediversity.eu/slipway/checks/gitea"
	"fediversity.eu/slipway/checks/gitlabci"
	"fediversity.eu/slipway/checks/guest"
	"fediversity.eu/slipway/checks/guest/debian"
	"fediversity.eu/slipway/checks/incusd"
	"fediversity.eu/slipway/checks/netboxserver"
	"fediversity.eu/slipway/checks/openbao"
	"fediversity.eu/slipway/effects/dns"
	tofu "fediversity.eu/slipway/methods/tofu/binary"
	"fediversity.eu/slipway/targets/report"
)

// preparation makes a part that checks need and that no distribution has a package
// of. It is kept in the cache: what is there already takes no time.
type preparation struct {
	part string
	// make makes it. The error of a part that this host can't have wraps errLeftOut.
	make func(ctx context.Context, r *Run, cache string, log *report.Log) error
}

// errLeftOut is that a host lacks what a part is made of. The checks that need it
// say so, and are skipped or fail as CHECKS_MAY_SKIP has it.
var errLeftOut = errors.New("left out")

// preparations lists them: those that Go builds first, which take longest.
func preparations() []preparation {
	return []preparation{
		{"OpenTofu " + tofu.Pinned, func(ctx context.Context, r *Run, _ string, log *report.Log) error {
			_, err := tofu.Find(ctx, r.Environment, tofu.Keys{}, r.tools, log)
			return err
		}},
		{"golangci-lint " + linterVersion, func(ctx context.Context, r *Run, cache string, log *report.Log) error {
			_, err := r.linter(ctx, cache, log)
			return err
		}},
		{"Gitea " + gitea.Version, func(ctx context.Context, r *Run, cache string, _ *report.Log) error {
			_, err := gitea.Build(ctx, r.Environment, r.tools, filepath.Join(cache, "tools"))
			return err
		}},
		{"OctoDNS", func(ctx context.Context, r *Run, _ string, log *report.Log) error {
			return dns.Prepare(ctx, r.Environment, log)
		}},
		{"OpenBao " + openbao.Version, func(ctx context.Context, r *Run, cache string, _ *report.Log) error {
			_, err := openbao.Install(ctx, r.Environment, filepath.Join(cache, "tools"))
			return err
		}},
		{"NetBox " + netboxserver.Version, func(ctx context.Context, r *Run, cache string, _ *report.Log) error {
			_, err := netboxserver.Install(ctx, r.Environment, filepath.Join(cache, "tools"))
			if errors.Is(err, netboxserver.ErrMissing) {
				return errors.Join(errLeftOut, err)
			}
			return err
		}},
		{"gitlab-ci-local " + gitlabci.Version, func(ctx context.Context, r *Run, cache string, _ *report.Log) error {
			if missing := gitlabci.Missing(r.Environment); len(missing) > 0 {
				return errors.Join(errLeftOut, errors.New("missing part: "+strings.Join(missing, ", ")))
			}
			_, err := gitlabci.Install(ctx, r.Environment, cache)
			return err
		}},
		{"test machines", prepareGuests},
		{"containers of test machines", prepareNspawn},
		{"Incus", func(ctx context.Context, _ *Run, cache string, log *report.Log) error {
			if missing := incusd.Missing(); missing != "" {
				return errors.Join(errLeftOut, errors.New("missing part: "+missing))
			}
			lines := log.Lines()
			defer func() { _ = lines.Close() }()
			_, err := incusd.Tree(ctx, cache, lines)
			return err
		}},
	}
}

// prepareGuests makes what guests of each kind and release are made of.
func prepareGuests(ctx context.Context, _ *Run, cache string, log *report.Log) error {
	lines := log.Lines()
	defer func() { _ = lines.Close() }()
	o := guest.Options{Cache: filepath.Join(cache, "guest"), Log: lines}
	var errs []error
	for _, suite := range debian.Suites() {
		for _, kind := range []guest.Kind{guest.Container, guest.VM} {
			if kind == guest.VM && !suite.Bootable() {
				continue
			}
			o.Suite, o.Kind = suite, kind
			if missing := guest.Missing(kind); len(missing) > 0 {
				errs = append(errs, errors.Join(errLeftOut, errors.New("missing part: "+missing[0].String())))
				continue
			}
			if err := os.MkdirAll(o.Cache, 0o700); err != nil {
				return err
			}
			errs = append(errs, guest.Prepare(ctx, o))
		}
	}
	return errors.Join(errs...)
}

// prepare makes every part, and names all that could not be made.
func (r *Run) prepare(ctx context.Context, parts []preparation) error {
	cache, err := r.Environment.CacheDir()
	if err != nil {
		return err
	}
	var errs []error
	for i, p := range parts {
		log, began := r.Log.In("prepare"), time.Now()
		log.Infof("%s (%d of %d)", p.part, i+1, len(parts))
		err := p.make(ctx, r, cache, log)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, errLeftOut):
			log.Warnf("%s: %s", p.part, strings.ReplaceAll(err.Error(), "\n", ": "))
		case err != nil:
			errs = append(errs, report.Fail("prepare "+p.part, err, "checks:setup goes on where it stopped when it is run again"))
		default:
			log.Infof("%s is there after %s", p.part, time.Since(began).Round(100*time.Millisecond))
		}
	}
	return errors.Join(errs...)
}
