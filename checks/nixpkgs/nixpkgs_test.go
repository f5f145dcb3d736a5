package nixpkgs_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/fs"

	"fediversity.eu/slipway/checks/nixpkgs"
)

func TestUnpackGivesAWholeTree(t *testing.T) {
	needBusybox(t)
	dir := t.TempDir()
	path, err := nixpkgs.Unpack(t.Context(), dir, "")
	assert.NilError(t, err)
	assert.Equal(t, filepath.Dir(path), dir)
	for _, name := range []string{"nixos/lib/eval-config.nix", "lib/default.nix", "pkgs/default.nix", "default.nix"} {
		_, err := os.Stat(filepath.Join(path, name))
		assert.NilError(t, err)
	}
	info, err := os.Stat(filepath.Join(path, "busybox/bin/busybox"))
	assert.NilError(t, err)
	assert.Equal(t, info.Mode().Perm(), os.FileMode(0o755))
}

func TestUnpackAgainChangesNothing(t *testing.T) {
	needBusybox(t)
	dir := t.TempDir()
	first, err := nixpkgs.Unpack(t.Context(), dir, "")
	assert.NilError(t, err)
	before, err := os.Stat(filepath.Join(first, "default.nix"))
	assert.NilError(t, err)
	second, err := nixpkgs.Unpack(t.Context(), dir, "")
	assert.NilError(t, err)
	assert.Equal(t, first, second)
	after, err := os.Stat(filepath.Join(second, "default.nix"))
	assert.NilError(t, err)
	assert.Assert(t, os.SameFile(before, after))
	onlyEntry(t, dir, filepath.Base(first))
}

func TestUnpackSideBySideGivesOneTree(t *testing.T) {
	needBusybox(t)
	dir := t.TempDir()
	paths := make([]string, 8)
	errs := make([]error, len(paths))
	var all sync.WaitGroup
	for i := range paths {
		all.Go(func() { paths[i], errs[i] = nixpkgs.Unpack(t.Context(), dir, "") })
	}
	all.Wait()
	for i := range paths {
		assert.NilError(t, errs[i])
		assert.Equal(t, paths[i], paths[0])
	}
	onlyEntry(t, dir, filepath.Base(paths[0]))
}

func TestUnpackLeavesNothingWhenStopped(t *testing.T) {
	needBusybox(t)
	dir := t.TempDir()
	ctx, stop := context.WithCancelCause(t.Context())
	reason := errors.New("told to stop")
	stop(reason)
	_, err := nixpkgs.Unpack(ctx, dir, "")
	assert.ErrorIs(t, err, reason)
	onlyEntry(t, dir)
}

func TestUnpackRefusesOtherPrograms(t *testing.T) {
	self, err := os.Executable()
	assert.NilError(t, err)
	own, err := os.ReadFile(self)
	assert.NilError(t, err)
	foreign := append([]byte{}, own...)
	foreign[18], foreign[19] = 0xf3, 0 // e_machine: RISC-V
	dir := fs.NewDir(t, "programs",
		fs.WithFile("script", "#!/bin/sh\n", fs.WithMode(0o755)),
		fs.WithFile("foreign", string(foreign), fs.WithMode(0o755)))
	for name, test := range map[string]struct{ path, says string }{
		"no file":                      {"/nonexistent/busybox", "no such file"},
		"a script":                     {dir.Join("script"), "is no program"},
		"a program of another machine": {dir.Join("foreign"), "and this machine is " + runtime.GOARCH},
		"a program with libraries":     {"/bin/sh", "needs a loader"},
	} {
		t.Run(name, func(t *testing.T) {
			into := t.TempDir()
			_, err := nixpkgs.Unpack(t.Context(), into, test.path)
			assert.ErrorIs(t, err, nixpkgs.ErrBusybox)
			assert.ErrorContains(t, err, test.says)
			onlyEntry(t, into)
		})
	}
}

// onlyEntry asserts that a directory holds these names and nothing else.
func onlyEntry(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	assert.NilError(t, err)
	names := []string{}
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	assert.DeepEqual(t, names, append([]string{}, want...))
}

func needBusybox(t *testing.T) {
	t.Helper()
	if _, err := os.Stat(nixpkgs.DefaultBusybox); err != nil {
		t.Skip("missing part: busybox-static")
	}
}
