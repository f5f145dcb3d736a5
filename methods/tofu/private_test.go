package tofu

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/checks/fakestate"
	"fediversity.eu/slipway/methods/tofu/rundir"
)

func TestPrivateFoldersOfKilledRunsGo(t *testing.T) {
	temporary := t.TempDir()
	folder := func(name string, files ...string) string {
		dir := filepath.Join(temporary, name)
		assert.NilError(t, os.Mkdir(dir, 0o700))
		for _, file := range files {
			assert.NilError(t, os.WriteFile(filepath.Join(dir, file), nil, 0o600))
		}
		return dir
	}
	self, err := rundir.Process(os.Getpid())
	assert.NilError(t, err)

	killed, socket := folder(privately+"killed", heldFile, "lock", "plan"), folder("socket")
	assert.NilError(t, rundir.Note(killed, socket))
	works := folder(privately + "works")
	lock, err := hold(works)
	assert.NilError(t, err)
	defer func() { assert.NilError(t, lock.Close()) }()
	survives := folder(privately+"survives", heldFile, "lock")
	supervisor, err := hold(survives)
	assert.NilError(t, err)
	defer func() { assert.NilError(t, supervisor.Close()) }()
	assert.NilError(t, os.Rename(filepath.Join(survives, heldFile), filepath.Join(survives, "lock")))
	assert.NilError(t, os.WriteFile(filepath.Join(survives, heldFile), nil, 0o600))
	alone := folder(privately+"alone", heldFile)
	assert.NilError(t, os.WriteFile(filepath.Join(alone, "pid"), []byte(self), 0o600))
	begins, another := folder(privately+"begins"), folder("another", heldFile)

	sweep(temporary)
	for path, there := range map[string]bool{
		killed: false, socket: false, works: true, survives: true, alone: true, begins: true, another: true,
	} {
		_, err := os.Stat(path)
		assert.Equal(t, err == nil, there, path)
	}
}

func TestPrivateFolderIsHeldWhileItIsUsed(t *testing.T) {
	b := newBench(t, fakestate.Strict)
	assert.NilError(t, b.engine(Keys{}).private(t.Context(), objects(1), nil, func(_ context.Context, w *workshop) error {
		sweep(os.TempDir())
		_, err := os.Stat(w.dir)
		return err
	}))
}
