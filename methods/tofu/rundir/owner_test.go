package rundir

import (
	"os"
	"path/filepath"
	"testing"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/targets/report"
)

// TestADirectoryOfAnotherIsRefused is of what would be believed though somebody else may
// have put it there.
func TestADirectoryOfAnotherIsRefused(t *testing.T) {
	for _, c := range []struct {
		name string
		make func(path string) error // what is there
		uid  int                     // of the run
		says string                  // empty is nothing
	}{
		{"nothing", func(string) error { return nil }, os.Getuid(), ""},
		{"an empty folder of ours", func(p string) error { return os.Mkdir(p, 0o700) }, os.Getuid(), ""},
		{"one that others may read", func(p string) error { return os.Mkdir(p, 0o755) }, os.Getuid(), ""},
		{"an empty one that a group may write to", func(p string) error { return mkdir(p, 0o775) }, os.Getuid(), ""},
		{"one that a group may write to", func(p string) error { return holding(p, 0o770) }, os.Getuid(), "may write to"},
		{"one that everybody may write to", func(p string) error { return holding(p, 0o777|os.ModeSticky) }, os.Getuid(), "mode 0777"},
		{"an empty one of another that everybody may write to", func(p string) error { return mkdir(p, 0o777) }, os.Getuid() + 4711, "belongs to"},
		{"one with a journal that everybody may write to", func(p string) error {
			if err := os.Mkdir(p, 0o700); err != nil {
				return err
			}
			return mkdir(filepath.Join(p, "journal"), 0o777)
		}, os.Getuid(), "journal"},
		{"another's", func(p string) error { return os.Mkdir(p, 0o700) }, os.Getuid() + 4711, "belongs to"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "state")
			assert.NilError(t, c.make(path))
			before, _ := os.Stat(path)
			d := &Dir{Path: path, Run: "one", uid: c.uid}
			err := d.take()
			if c.says == "" {
				assert.NilError(t, err)
				assert.NilError(t, d.Close(false))
				return
			}
			assert.Equal(t, report.CodeOf(err), report.Usage)
			assert.ErrorContains(t, err, c.says)
			assert.Assert(t, len(report.Hints(err)) > 0)
			after, err := os.Stat(path)
			assert.NilError(t, err)
			assert.Equal(t, after.Mode(), before.Mode(), "it is left as it was")
			_, err = os.Stat(filepath.Join(path, "lock"))
			assert.ErrorIs(t, err, os.ErrNotExist)
		})
	}
}

// mkdir makes a folder with a mode that no umask narrows.
func mkdir(path string, mode os.FileMode) error {
	if err := os.Mkdir(path, 0o700); err != nil {
		return err
	}
	return os.Chmod(path, mode)
}

// holding is mkdir, of a folder with something in it.
func holding(path string, mode os.FileMode) error {
	if err := mkdir(path, mode); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(path, "errored.tfstate"), nil, 0o600)
}
