package source

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"
	"gotest.tools/v3/fs"
	"gotest.tools/v3/icmd"

	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/report"
)

// shelf is a shelf with a cache of its own.
func shelf(t *testing.T) (*Shelf, string) {
	t.Helper()
	cache := filepath.Join(t.TempDir(), "[cache]")
	e := env.Map(map[string]string{"PATH": os.Getenv("PATH"), "HOME": t.TempDir(), "CACHE_DIR": cache, "GIT_DIR": "/nonsense"})
	return NewShelf(e, report.NewLog(report.Plain(&strings.Builder{}))), cache
}

func address(t *testing.T, text string) Address {
	t.Helper()
	var a Address
	assert.NilError(t, a.EnvDecode(text))
	return a
}

// repositoryOf makes a repository of a folder and gives its commits' ids by git.
func repositoryOf(t *testing.T, dir string) func(args ...string) string {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("missing part: git")
	}
	git := func(args ...string) string {
		t.Helper()
		cmd := icmd.Command("git", append([]string{"-C", dir, "-c", "user.name=t", "-c", "user.email=t@example.org"}, args...)...)
		result := icmd.RunCmd(cmd, icmd.WithEnv("PATH="+os.Getenv("PATH"), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1"))
		result.Assert(t, icmd.Success)
		return strings.TrimSpace(result.Stdout())
	}
	git("init", "--quiet", "-b", "main")
	git("add", ".")
	git("commit", "--quiet", "-m", "one")
	return git
}

func TestARevisionIsFetched(t *testing.T) {
	// What a tree may ask of git is not done: its filters, its exports, its line ends.
	dir := fs.NewDir(t, "repository", fs.WithDir("groups",
		fs.WithFile("web.nix", "{ } # $Id$ $Format:%H$\n"), fs.WithFile("hidden.nix", "{ }\n"))).Path()
	assert.NilError(t, os.Symlink("web.nix", filepath.Join(dir, "groups", "link")))
	git := repositoryOf(t, dir)
	assert.NilError(t, os.WriteFile(filepath.Join(dir, "groups", ".gitattributes"), []byte("hidden.nix export-ignore\nweb.nix ident export-subst text eol=crlf filter=evil working-tree-encoding=UTF-16\n"), 0o600))
	git("add", "groups/.gitattributes")
	git("commit", "--quiet", "-m", "attributes")
	first := git("rev-parse", "HEAD")
	assert.NilError(t, os.WriteFile(filepath.Join(dir, "groups", "hidden.nix"), []byte("{ } # two\n"), 0o600))
	git("commit", "--quiet", "-m", "two", "groups/hidden.nix")
	hook := filepath.Join(dir, ".git", "hooks", "post-upload-pack")
	assert.NilError(t, os.MkdirAll(filepath.Dir(hook), 0o755))
	assert.NilError(t, os.WriteFile(hook, []byte("#!/bin/sh\ntouch "+dir+"/ran\n"), 0o755))

	for _, where := range []string{dir, "file://" + dir} {
		t.Run(where, func(t *testing.T) {
			s, cache := shelf(t)
			got, err := s.open(t.Context(), "KEY", address(t, "git+"+where+"#"+first+":groups"), "")
			assert.NilError(t, err)
			text, err := os.ReadFile(filepath.Join(got.Dir, "web.nix"))
			assert.NilError(t, err)
			assert.Equal(t, string(text), "{ } # $Id$ $Format:%H$\n")
			_, err = os.Stat(filepath.Join(got.Dir, "hidden.nix"))
			assert.NilError(t, err)
			assert.Equal(t, got.Revision, first)
			left, err := os.ReadDir(filepath.Join(cache, "sources"))
			assert.NilError(t, err)
			assert.Assert(t, cmp.Len(left, 1), "nothing half-made stays behind")
		})
	}
	_, err := os.Stat(filepath.Join(dir, "ran"))
	assert.Assert(t, errors.Is(err, os.ErrNotExist), "a hook ran")

	t.Run("once", func(t *testing.T) {
		s, cache := shelf(t)
		a := address(t, "git+"+dir+"#"+first)
		got, err := s.open(t.Context(), "KEY", a, "")
		assert.NilError(t, err)
		gone := dir + "-gone"
		assert.NilError(t, os.Rename(dir, gone))
		defer func() { assert.NilError(t, os.Rename(gone, dir)) }()
		again := NewShelf(env.Map(map[string]string{"PATH": os.Getenv("PATH"), "CACHE_DIR": cache}), s.log)
		same, err := again.open(t.Context(), "KEY", a, "")
		assert.NilError(t, err)
		assert.DeepEqual(t, same, got)
		// What was changed in the cache is not what it says it is.
		assert.NilError(t, os.WriteFile(filepath.Join(got.Dir, "groups", "web.nix"), []byte("{ evil }"), 0o600))
		_, err = NewShelf(s.environment, s.log).open(t.Context(), "KEY", a, "")
		assert.Equal(t, report.CodeOf(err), report.Refused)
	})
}

func TestRevisionsThatCannotBeHad(t *testing.T) {
	dir := fs.NewDir(t, "repository", fs.WithFile("web.nix", "{ }\n")).Path()
	git := repositoryOf(t, dir)
	tree := git("rev-parse", "HEAD^{tree}")
	s, cache := shelf(t)
	for _, c := range []struct{ name, where, want string }{
		{"a revision that is not there", dir + "#" + rev, "git could not fetch it: fatal:"},
		{"a tree", dir + "#" + tree, "is a tree, and a source is a commit"},
		{"no repository", "/no/such/repository#" + rev, "git could not fetch it: fatal:"},
		{"nobody answers", "http://127.0.0.1:1/m.git#" + rev, "git could not fetch it: fatal:"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := s.open(t.Context(), "KEY", address(t, "git+"+c.where), "")
			assert.Equal(t, report.CodeOf(err), report.Refused)
			assert.ErrorContains(t, err, c.want)
			assert.ErrorContains(t, err, "KEY=git+")
		})
	}
	_, err := s.open(t.Context(), "KEY", address(t, "git+"+dir+"#"+git("rev-parse", "HEAD")+":groups"), "")
	assert.Equal(t, report.CodeOf(err), report.Usage, "a folder that is not there")
	left, err := filepath.Glob(filepath.Join(cache, "sources", ".fetch-*"))
	assert.NilError(t, err)
	assert.Assert(t, cmp.Len(left, 0))
}

func TestTarballs(t *testing.T) {
	packed := entries(t, file("operator/web.nix", "{ }"), file("module.json", `{"version":1,"groups":{}}`)).Bytes()
	path := fs.NewFile(t, "modules.tar", fs.WithBytes(packed)).Path()
	right, err := copyHashed(&strings.Builder{}, path)
	assert.NilError(t, err)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/modules.tar" {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write(packed)
	}))
	defer server.Close()
	s, cache := shelf(t)
	for _, c := range []struct {
		name, where string
		code        report.Code
		want        string
	}{
		{"a file", path + "#" + right, 0, ""},
		{"another hash", path + "#" + sri, report.Refused, "its hash is " + right + ", and that which was pinned is " + sri},
		{"an address", server.URL + "/modules.tar#" + right, 0, ""},
		{"another hash of an address", server.URL + "/modules.tar#" + sri, report.Refused, "Nix could not fetch it: error: hash mismatch"},
		{"an address that has nothing", server.URL + "/none.tar#" + sri, report.Refused, "HTTP error 404"},
		{"a file that is not there", "/no/such.tar#" + right + ":x", report.Usage, ""},
		{"a folder that is not there", path + "#" + right + ":groups", report.Usage, "groups"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := exec.LookPath("nix-prefetch-url"); err != nil && strings.HasPrefix(c.where, "http") {
				t.Skip("missing part: nix-bin")
			}
			got, err := s.open(t.Context(), "KEY", address(t, c.where), "")
			assert.Equal(t, report.CodeOf(err), c.code, "%v", err)
			if c.code == 0 {
				assert.Equal(t, got.Revision, right)
				assert.Assert(t, got.Module != nil)
				return
			}
			assert.ErrorContains(t, err, c.want)
		})
	}
	left, err := os.ReadDir(filepath.Join(cache, "sources"))
	assert.NilError(t, err)
	assert.Assert(t, cmp.Len(left, 1), fmt.Sprint(left))
}

func TestSourcesWithoutUse(t *testing.T) {
	s, _ := shelf(t)
	newer := fs.NewDir(t, "newer", fs.WithFile("module.json", `{"version":2}`)).Path()
	elsewhere := t.TempDir()
	assert.NilError(t, os.Symlink("/etc/passwd", filepath.Join(elsewhere, "module.json")))
	for _, c := range []struct{ name, where, want string }{
		{"a folder that is not there", "/no/such/folder", "open the module source (KEY=/no/such/folder)"},
		{"a file", fs.NewFile(t, "web.nix").Path(), "it is a file; a tarball needs"},
		{"a module.json of a newer version", newer, "read module.json (KEY=" + newer + "): it is of format version 2"},
		{"a module.json that is a link to elsewhere", elsewhere, "escapes from parent"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := s.open(t.Context(), "KEY", address(t, c.where), "")
			assert.Equal(t, report.CodeOf(err), report.Usage)
			assert.ErrorContains(t, err, c.want)
		})
	}
}
