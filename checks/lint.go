package checks

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"fediversity.eu/slipway/internal/child"
)

// linter is golangci-lint, at the version that .golangci.yml was written for.
const (
	linterModule  = "github.com/golangci/golangci-lint/v2/cmd/golangci-lint"
	linterVersion = "v2.15.0"
)

// lint runs go vet and golangci-lint. The linter is built once, from the module
// proxy into the cache, and takes minutes then.
func (r *Run) lint(ctx context.Context, t *tally) error {
	if err := r.step(ctx, t, "go vet", "go", "vet", "-tags", "mage,checks", "./..."); err != nil {
		return err
	}
	cache, err := r.Environment.CacheDir()
	if err != nil {
		return err
	}
	dir := filepath.Join(cache, "tools", "golangci-lint-"+linterVersion)
	program := filepath.Join(dir, "golangci-lint")
	if _, err := os.Stat(program); err != nil {
		r.Log.In("lint").Infof("building golangci-lint %s once; this takes minutes", linterVersion)
		lines := r.Log.In("lint").Lines()
		defer func() { _ = lines.Close() }()
		install := r.tools.Go(r.Environment, "/", map[string]string{"GOBIN": dir}, "install", linterModule+"@"+linterVersion)
		install.Stderr = lines
		err := install.Run(ctx)
		if ctx.Err() != nil {
			return err
		}
		if err != nil {
			t.skip("golangci-lint", "golangci-lint "+linterVersion+" can't be built: "+err.Error(), r.keys.MaySkip)
			return nil
		}
	}
	return r.step(ctx, t, "golangci-lint", program, "run", "./...")
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
