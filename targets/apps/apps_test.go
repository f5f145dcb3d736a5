package apps

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"gotest.tools/v3/assert"
)

// listed gives where the links of a folder lead, and of what is no link its name.
func listed(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	assert.NilError(t, err)
	var all []string
	for _, entry := range entries {
		target, err := os.Readlink(filepath.Join(dir, entry.Name()))
		if err == nil {
			all = append(all, entry.Name()+"→"+target)
		} else if entry.Name() != notes {
			all = append(all, entry.Name())
		}
	}
	return all
}

func TestLink(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "apps")
	r, err := Link(dir, "/srv/one", []string{"a", "b"})
	assert.NilError(t, err)
	assert.Equal(t, r, Result{Made: 2})
	assert.DeepEqual(t, listed(t, dir), []string{"a→/srv/one", "b→/srv/one"})

	r, err = Link(dir, "/srv/one", []string{"a", "b"})
	assert.NilError(t, err)
	assert.Equal(t, r, Result{Kept: 2})

	// Of others, beside ours.
	assert.NilError(t, os.WriteFile(filepath.Join(dir, "notes.txt"), nil, 0o600))
	assert.NilError(t, os.Symlink("/srv/other", filepath.Join(dir, "other")))
	assert.NilError(t, os.Symlink("/srv/one", filepath.Join(dir, "short")))
	r, err = Link(dir, "/srv/one", []string{"b", "c"})
	assert.NilError(t, err)
	assert.Equal(t, r, Result{Made: 1, Kept: 1, Removed: 1})
	assert.DeepEqual(t, listed(t, dir), []string{"b→/srv/one", "c→/srv/one", "notes.txt", "other→/srv/other", "short→/srv/one"})

	// The binary has moved.
	r, err = Link(dir, "/srv/two", []string{"b"})
	assert.NilError(t, err)
	assert.Equal(t, r, Result{Made: 1, Removed: 1})
	assert.DeepEqual(t, listed(t, dir), []string{"b→/srv/two", "notes.txt", "other→/srv/other", "short→/srv/one"})
}

func TestWhatIsForeignIsLeftAndNamed(t *testing.T) {
	dir := t.TempDir()
	_, err := Link(dir, "/srv/one", []string{"gone"})
	assert.NilError(t, err)
	assert.NilError(t, os.WriteFile(filepath.Join(dir, "b"), []byte("mine"), 0o600))
	assert.NilError(t, os.Symlink("/srv/other", filepath.Join(dir, "a")))
	assert.NilError(t, os.Mkdir(filepath.Join(dir, "c"), 0o700))
	before := listed(t, dir)
	_, err = Link(dir, "/srv/one", []string{"c", "new", "a", "b"})
	foreign, ok := errors.AsType[*ForeignError](err)
	assert.Assert(t, ok, "%v", err)
	assert.DeepEqual(t, foreign.Paths, []string{filepath.Join(dir, "a"), filepath.Join(dir, "b"), filepath.Join(dir, "c")})
	assert.DeepEqual(t, listed(t, dir), before)
}

// TestARunThatWasCutOffIsGoneOnFrom leaves what a kill between two steps leaves.
func TestARunThatWasCutOffIsGoneOnFrom(t *testing.T) {
	dir := t.TempDir()
	_, err := Link(dir, "/srv/one", []string{"a", "b"})
	assert.NilError(t, err)
	assert.NilError(t, made{[]string{"/srv/one", "/srv/two"}, []string{"a", "b", "d"}}.remember(dir))
	assert.NilError(t, os.Symlink("/srv/two", filepath.Join(dir, notes+"-b"))) // not yet renamed
	assert.NilError(t, os.Symlink("/srv/two", filepath.Join(dir, "d")))
	r, err := Link(dir, "/srv/two", []string{"a", "b"})
	assert.NilError(t, err)
	assert.Assert(t, r.Made == 2, "%+v", r)
	assert.DeepEqual(t, listed(t, dir), []string{"a→/srv/two", "b→/srv/two"})
}

func TestAFolderThatCanNotBe(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	assert.NilError(t, os.WriteFile(file, nil, 0o600))
	_, err := Link(file, "/srv/one", []string{"a"})
	assert.ErrorContains(t, err, "make the folder")
}
