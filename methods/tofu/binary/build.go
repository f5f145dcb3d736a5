package binary

import (
	"context"
	_ "embed" // the module that builds the pinned version
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"fediversity.eu/slipway/internal/toolchain"
	"fediversity.eu/slipway/internal/wait"
	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/report"
)

// The module that pins OpenTofu and all that it needs. It is apart from ours:
// a program that only runs tofu must not be held to its several hundred
// dependencies. Its replace and godebug lines are those of OpenTofu's own
// go.mod, which count only in the main module.
//
//go:embed pin/mod.txt
var pinMod []byte

//go:embed pin/sum.txt
var pinSum []byte

const command = "github.com/opentofu/opentofu/cmd/tofu"

// linked leaves symbols out, and says that this is the release: its source is.
const linked = "-ldflags=-s -w -X github.com/opentofu/opentofu/version.dev=no"

// buildLimit bounds a build, and the wait for another process that builds.
const buildLimit = time.Hour

// build makes the pinned tofu in dir, which appears there whole or not at all.
func build(ctx context.Context, e env.Environment, k toolchain.Keys, dir string, log *report.Log) (string, error) {
	log = log.In("tofu")
	program := filepath.Join(dir, "tofu")
	fail := func(err error) error {
		return report.Fail("build OpenTofu", err, "put tofu "+wanted+" on the PATH, or Go and a way to its module proxy")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fail(err)
	}
	unlock, err := alone(ctx, filepath.Join(dir, "lock"), log)
	if err != nil {
		return "", fail(err)
	}
	defer unlock()
	if _, err := os.Stat(program); err == nil {
		return program, nil // another process built it meanwhile
	}
	module, err := os.MkdirTemp(dir, ".module-")
	if err != nil {
		return "", fail(err)
	}
	defer func() { _ = os.RemoveAll(module) }()
	for name, text := range map[string][]byte{"go.mod": pinMod, "go.sum": pinSum} {
		if err := os.WriteFile(filepath.Join(module, name), text, 0o600); err != nil {
			return "", fail(err)
		}
	}
	log.Infof("no OpenTofu %s here: building %s once; this takes minutes", wanted, Pinned)
	started := time.Now()
	lines := log.Lines()
	defer func() { _ = lines.Close() }()
	args := []string{"build", "-mod=readonly", linked, "-o", filepath.Join(module, "tofu"), command}
	run := k.Go(e, module, map[string]string{"GOWORK": "off"}, args...)
	run.Stderr = lines
	done := make(chan struct{})
	go tell(done, started, log)
	err = run.Run(ctx)
	close(done)
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	if err == nil {
		err = os.Rename(filepath.Join(module, "tofu"), program)
	}
	if err != nil {
		return "", fail(err)
	}
	log.Infof("built %s in %s", program, time.Since(started).Round(time.Second))
	return program, nil
}

// tell says now and then that the build goes on: the go command says nothing
// while it compiles.
func tell(done <-chan struct{}, started time.Time, log *report.Log) {
	ticker := time.NewTicker(20 * time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-done:
			return
		case <-ticker.C:
			log.Infof("still building OpenTofu, for %s now", time.Since(started).Round(time.Second))
		}
	}
}

// alone holds a file's lock, so that two processes do not build the same.
func alone(ctx context.Context, path string, log *report.Log) (func(), error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	told := false
	err = wait.For{What: "another process that builds OpenTofu", Limit: buildLimit, Interval: time.Second}.Until(ctx, func(context.Context) error {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err != nil && !told {
			log.Infof("waiting for another process that builds OpenTofu")
			told = true
		}
		return err
	})
	if err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return func() { _ = file.Close() }, nil
}
