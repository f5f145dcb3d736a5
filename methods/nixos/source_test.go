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

func baked() groups.Group {
	return groups.Group{Name: "operator", Source: groups.Source{Name: "operator (baked in)", Trees: map[string]iofs.FS{
		"operator": fstest.MapFS{"web.nix": {Data: []byte("{ }")}, "site/index.html": {Data: []byte("<p>")}},
		"modules":  fstest.MapFS{"public-host.nix": {Data: []byte("{ }")}},
	}}}
}

func TestBakedModulesAreUnpackedOnce(t *testing.T) {
	cache := t.TempDir()
	source, err := OpenSource(baked(), cache)
	assert.NilError(t, err)
	assert.Equal(t, source.Name, "operator (baked in)")
	assert.Equal(t, source.Dir, filepath.Join(cache, "sources", source.Hash[:32]))
	for _, name := range []string{"operator/web.nix", "operator/site/index.html", "modules/public-host.nix"} {
		_, err := os.Stat(filepath.Join(source.Dir, name))
		assert.NilError(t, err)
	}
	before, err := os.Stat(source.Dir)
	assert.NilError(t, err)
	again, err := OpenSource(baked(), cache)
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
			source, err := OpenSource(baked(), cache)
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

// pinned is the group with its modules in a folder.
func pinned(dir string) groups.Group {
	group := baked()
	group.Source.Name, group.Source.Dir = "a folder", dir
	return group
}

func TestAFolderIsReadAsItIsNow(t *testing.T) {
	dir := fs.NewDir(t, "modules", fs.WithFile("web.nix", "{ }")).Path()
	source, err := OpenSource(pinned(dir), t.TempDir())
	assert.NilError(t, err)
	assert.Equal(t, source.Name, "a folder")
	assert.Equal(t, source.Dir, dir)
	assert.NilError(t, os.WriteFile(filepath.Join(dir, "web.nix"), []byte("{x}"), 0o600))
	again, err := OpenSource(pinned(dir), t.TempDir())
	assert.NilError(t, err)
	assert.Assert(t, again.Hash != source.Hash)
}

func TestSourcesThatCannotBeOpened(t *testing.T) {
	file := filepath.Join(t.TempDir(), "cache")
	assert.NilError(t, os.WriteFile(file, nil, 0o600))
	for _, c := range []struct {
		name  string
		group groups.Group
		cache string
		code  report.Code
		want  string
	}{
		{"a folder that is not there", pinned("/no/such/folder"), t.TempDir(), report.Usage, "open the module source (/no/such/folder): "},
		{"a group without modules", groups.Group{Name: "bare"}, t.TempDir(), report.Usage, "group bare has no modules of its own"},
		{"a cache that is a file", baked(), file, report.Refused, "unpack the modules of operator (baked in)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := OpenSource(c.group, c.cache)
			assert.Equal(t, report.CodeOf(err), c.code)
			assert.ErrorContains(t, err, c.want)
		})
	}
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
