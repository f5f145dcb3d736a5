package nixos

import (
	iofs "io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"
	"gotest.tools/v3/fs"

	"fediversity.eu/slipway/groups"
	"fediversity.eu/slipway/targets/report"
)

func hashOf(t *testing.T, dir string) string {
	t.Helper()
	hash, err := hashTree(os.DirFS(dir))
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
	first, err := hashTree(one)
	assert.NilError(t, err)
	second, err := hashTree(two)
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
		hash, err := hashTrees(trees)
		assert.NilError(t, err)
		return hash
	}
	assert.Equal(t, of("dev", "modules"), of("modules", "dev"))
	assert.Assert(t, of("dev") != of("modules"))
	assert.Assert(t, of("dev") != of("dev", "modules"))
}

func baked() groups.Group {
	return groups.Group{Name: "operator", Source: groups.Source{Name: "operator (baked in)", Trees: map[string]iofs.FS{
		"operator": fstest.MapFS{"web.nix": {Data: []byte("{ }")}, "site/index.html": {Data: []byte("<p>")}},
		"modules":  fstest.MapFS{"public-host.nix": {Data: []byte("{ }")}},
	}}}
}

func TestBakedModulesAreUnpackedOnce(t *testing.T) {
	cache := t.TempDir()
	source, err := OpenSource(baked(), "", cache)
	assert.NilError(t, err)
	assert.Equal(t, source.Name, "operator (baked in)")
	assert.Equal(t, source.Dir, filepath.Join(cache, "sources", source.Hash[:32]))
	for _, name := range []string{"operator/web.nix", "operator/site/index.html", "modules/public-host.nix"} {
		_, err := os.Stat(filepath.Join(source.Dir, name))
		assert.NilError(t, err)
	}
	before, err := os.Stat(source.Dir)
	assert.NilError(t, err)
	again, err := OpenSource(baked(), "", cache)
	assert.NilError(t, err)
	assert.DeepEqual(t, again, source)
	after, err := os.Stat(source.Dir)
	assert.NilError(t, err)
	assert.Assert(t, os.SameFile(before, after))
}

func TestManyUnpackAtOnce(t *testing.T) {
	cache := t.TempDir()
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			source, err := OpenSource(baked(), "", cache)
			if err != nil {
				t.Error(err)
				return
			}
			if _, err := os.Stat(filepath.Join(source.Dir, "modules", "public-host.nix")); err != nil {
				t.Error("a run saw half a tree:", err)
			}
		})
	}
	all.Wait()
	entries, err := os.ReadDir(filepath.Join(cache, "sources"))
	assert.NilError(t, err)
	assert.Assert(t, cmp.Len(entries, 1), "nothing half-made stays behind")
}

func TestAFolderOfTheCallers(t *testing.T) {
	dir, err := filepath.EvalSymlinks(modules(t))
	assert.NilError(t, err)
	link := filepath.Join(t.TempDir(), "link")
	assert.NilError(t, os.Symlink(dir, link))
	source, err := OpenSource(baked(), link, t.TempDir())
	assert.NilError(t, err)
	assert.DeepEqual(t, source, Source{Name: dir, Dir: dir, Hash: hashOf(t, dir)})
}

func TestSourcesThatCannotBeOpened(t *testing.T) {
	for _, c := range []struct {
		name  string
		group groups.Group
		dir   string
		code  report.Code
		want  string
	}{
		{"a folder that is not there", baked(), "/no/such/folder", report.Usage, "open the module source (/no/such/folder): "},
		{"a group without modules", groups.Group{Name: "bare"}, "", report.Usage, "group bare has no modules of its own"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := OpenSource(c.group, c.dir, t.TempDir())
			assert.Equal(t, report.CodeOf(err), c.code)
			assert.ErrorContains(t, err, c.want)
		})
	}
	t.Run("a cache that is a file", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "cache")
		assert.NilError(t, os.WriteFile(file, nil, 0o600))
		_, err := OpenSource(baked(), "", file)
		assert.Equal(t, report.CodeOf(err), report.Refused)
		assert.ErrorContains(t, err, "unpack the modules of operator (baked in)")
	})
	t.Run("a file in the place of a folder", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "module.nix")
		assert.NilError(t, os.WriteFile(file, []byte("{ }"), 0o600))
		_, err := OpenSource(baked(), file, t.TempDir())
		assert.Equal(t, report.CodeOf(err), report.Usage)
	})
}

func TestPruneKeepsWhatWasUsedLast(t *testing.T) {
	dir := t.TempDir()
	now := time.Now()
	for i, name := range []string{"g", "f", "e", "d", "c", "b", "a"} { // g is the youngest
		path := filepath.Join(dir, name)
		assert.NilError(t, os.Mkdir(path, 0o700))
		assert.NilError(t, os.WriteFile(filepath.Join(path, "input.json"), nil, 0o600))
		at := now.Add(-time.Duration(i) * time.Hour)
		assert.NilError(t, os.Chtimes(path, at, at))
	}
	assert.NilError(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o600))
	touch(filepath.Join(dir, "a")) // the oldest is used again
	assert.NilError(t, prune(dir))
	entries, err := os.ReadDir(dir)
	assert.NilError(t, err)
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	assert.DeepEqual(t, names, []string{"a", "d", "e", "f", "file", "g"})
	assert.ErrorIs(t, prune(filepath.Join(dir, "none")), os.ErrNotExist)
}

func TestRootedIsWhatIsStillThere(t *testing.T) {
	dir := t.TempDir()
	for name, to := range map[string]string{"elsewhere": dir, "collected": "/nix/store/00000000000000000000000000000000-gone"} {
		assert.NilError(t, os.Symlink(to, filepath.Join(dir, name)))
		_, ok := rooted(filepath.Join(dir, name))
		assert.Assert(t, !ok, name)
	}
	_, ok := rooted(filepath.Join(dir, "none"))
	assert.Assert(t, !ok)
}
