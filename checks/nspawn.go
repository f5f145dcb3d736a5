package checks

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"fediversity.eu/slipway/checks/guest"
	"fediversity.eu/slipway/checks/guest/debian"
	"fediversity.eu/slipway/targets/report"
)

// nspawn makes a tree with what runs containers, unless the cache has it. Laid below
// that of a guest it gives it systemd-nspawn and systemd-machined.
func nspawn(ctx context.Context, cache string) (string, error) {
	dir := filepath.Join(cache, "nspawn")
	tree := filepath.Join(dir, debian.Trixie.Hash())
	if _, err := os.Stat(tree); err == nil {
		return tree, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	half, err := os.MkdirTemp(dir, ".new-*")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(half) }()
	if err := errors.Join(debian.Trixie.Tree(ctx, []string{"systemd-container"}, half), os.Chmod(half, 0o755)); err != nil {
		return "", err
	}
	err = os.Rename(half, tree)
	if _, there := os.Stat(tree); there == nil {
		err = nil // ours, or that of a run beside us
	}
	return tree, err
}

// prepareNspawn makes the tree, where there are guests to lay it below.
func prepareNspawn(ctx context.Context, _ *Run, cache string, _ *report.Log) error {
	if missing := guest.Missing(guest.Container); len(missing) > 0 {
		return errors.Join(errLeftOut, errors.New("missing part: "+missing[0].String()))
	}
	_, err := nspawn(ctx, cache)
	return err
}
