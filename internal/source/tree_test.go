package source

import (
	iofs "io/fs"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"
	"gotest.tools/v3/fs"
)

func hashOf(t *testing.T, dir string) string {
	t.Helper()
	hash, err := HashTree(os.DirFS(dir))
	assert.NilError(t, err)
	return hash
}

// modules is a folder with everything that a tree of modules may hold.
func modules(t *testing.T) string {
	return fs.NewDir(t, "modules",
		fs.WithFile("web.nix", "{ }"), fs.WithFile("empty", ""),
		fs.WithFile("run.sh", "#!/bin/sh\n", fs.WithMode(0o755)),
		fs.WithDir("site", fs.WithFile("index.html", "<p>")),
		fs.WithDir(".git", fs.WithFile("HEAD", "ref: refs/heads/main")),
		fs.WithSymlink("link", "web.nix")).Path()
}

func TestWhatChangesTheHashOfATree(t *testing.T) {
	for _, c := range []struct {
		name    string
		change  func(dir string) error
		changes bool
	}{
		{"nothing", func(string) error { return nil }, false},
		{"a file's content", func(d string) error { return os.WriteFile(filepath.Join(d, "web.nix"), []byte("{x}"), 0o600) }, true},
		{"a file's content of the same length", func(d string) error { return os.WriteFile(filepath.Join(d, "web.nix"), []byte("{_}"), 0o600) }, true},
		{"a file in a folder", func(d string) error {
			return os.WriteFile(filepath.Join(d, "site", "index.html"), []byte("<q>"), 0o600)
		}, true},
		{"a new file", func(d string) error { return os.WriteFile(filepath.Join(d, "new.nix"), nil, 0o600) }, true},
		{"a file's name", func(d string) error { return os.Rename(filepath.Join(d, "web.nix"), filepath.Join(d, "wib.nix")) }, true},
		{"a file that is gone", func(d string) error { return os.Remove(filepath.Join(d, "empty")) }, true},
		{"a file that can be run", func(d string) error { return os.Chmod(filepath.Join(d, "web.nix"), 0o755) }, true},
		{"a file's other bits", func(d string) error { return os.Chmod(filepath.Join(d, "web.nix"), 0o400) }, false},
		{"a file's time", func(d string) error { return os.Chtimes(filepath.Join(d, "web.nix"), time.Unix(1, 0), time.Unix(1, 0)) }, false},
		{"where a link leads", func(d string) error {
			_ = os.Remove(filepath.Join(d, "link"))
			return os.Symlink("run.sh", filepath.Join(d, "link"))
		}, true},
		{"what version control keeps", func(d string) error { return os.WriteFile(filepath.Join(d, ".git", "HEAD"), []byte("x"), 0o600) }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := modules(t)
			before := hashOf(t, dir)
			assert.Assert(t, cmp.Regexp("^[0-9a-f]{64}$", before))
			assert.NilError(t, c.change(dir))
			assert.Equal(t, hashOf(t, dir) != before, c.changes)
		})
	}
}

func TestAHashTellsFilesApart(t *testing.T) {
	one := fstest.MapFS{"a": {Data: []byte("file \"b\" false 0\n")}, "b": {}}
	two := fstest.MapFS{"a": {}, "b": {Data: []byte("file \"b\" false 0\n")}}
	first, err := HashTree(one)
	assert.NilError(t, err)
	second, err := HashTree(two)
	assert.NilError(t, err)
	assert.Assert(t, first != second)
}

func TestALinkThatLeadsNowhereIsHashed(t *testing.T) {
	dir := fs.NewDir(t, "tree", fs.WithSymlink("link", "nowhere"))
	hashOf(t, dir.Path())
}

func TestHashOfTreesKnowsTheirNames(t *testing.T) {
	tree := fstest.MapFS{"a.nix": {Data: []byte("{ }")}}
	of := func(names ...string) string {
		trees := map[string]iofs.FS{}
		for _, name := range names {
			trees[name] = tree
		}
		hash, err := HashTrees(trees)
		assert.NilError(t, err)
		return hash
	}
	assert.Equal(t, of("dev", "modules"), of("modules", "dev"))
	assert.Assert(t, of("dev") != of("modules"))
	assert.Assert(t, of("dev") != of("dev", "modules"))
}
