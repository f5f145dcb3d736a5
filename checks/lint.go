package checks

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"fediversity.eu/slipway/internal/child"
	"fediversity.eu/slipway/targets/report"
)

// linter is golangci-lint, at the version that .golangci.yml was written for.
const (
	linterModule  = "github.com/golangci/golangci-lint/v2/cmd/golangci-lint"
	linterVersion = "v2.15.0"
)

// lint runs go vet and golangci-lint.
func (r *Run) lint(ctx context.Context, t *tally) error {
	if err := r.step(ctx, t, "go vet", "go", "vet", "-tags", "mage,checks", "./..."); err != nil {
		return err
	}
	cache, err := r.Environment.CacheDir()
	if err != nil {
		return err
	}
	program, err := r.linter(ctx, cache, r.Log.In("lint"))
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		t.skip("golangci-lint", "golangci-lint "+linterVersion+" can't be built: "+err.Error(), r.keys.MaySkip)
		return nil //nolint:nilerr // It is counted.
	}
	return r.step(ctx, t, "golangci-lint", program, "run", "./...")
}

// linter gives golangci-lint, which is built once, from the module proxy into the
// cache. That takes minutes.
func (r *Run) linter(ctx context.Context, cache string, log *report.Log) (string, error) {
	dir := filepath.Join(cache, "tools", "golangci-lint-"+linterVersion)
	program := filepath.Join(dir, "golangci-lint")
	if _, err := os.Stat(program); err == nil {
		return program, nil
	}
	log.Infof("building golangci-lint %s once; this takes minutes", linterVersion)
	lines := log.Lines()
	defer func() { _ = lines.Close() }()
	install := r.tools.Go(r.Environment, "/", map[string]string{"GOBIN": dir}, "install", linterModule+"@"+linterVersion)
	install.Stderr = lines
	return program, install.Run(ctx)
}

// step runs one program whose exit code says whether all is well.
func (r *Run) step(ctx context.Context, t *tally, name, program string, args ...string) error {
	lines := r.Log.In(name).Lines()
	defer func() { _ = lines.Close() }()
	cache, err := r.Environment.CacheDir()
	if err != nil {
		return err
	}
	err = child.Command{
		Path: program, Args: args, Dir: r.module, Stdout: lines, Stderr: lines,
		Env: r.tools.Environment(r.Environment, map[string]string{"GOLANGCI_LINT_CACHE": filepath.Join(cache, "lint")}),
	}.Run(ctx)
	var ended *child.Error
	switch {
	case err == nil:
		t.passed++
		r.Log.In(name).Infof("ok")
		return nil
	case ctx.Err() == nil && errors.As(err, &ended) && ended.ExitCode > 0:
		t.failed = append(t.failed, failure{name: name})
		return nil
	}
	return err
}
