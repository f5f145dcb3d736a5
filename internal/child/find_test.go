package child

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/fs"
)

func TestFind(t *testing.T) {
	dir := fs.NewDir(t, "path",
		fs.WithDir("first", fs.WithFile("plain", ""), fs.WithDir("folder")),
		fs.WithDir("second",
			fs.WithFile("plain", "", fs.WithMode(0o755)),
			fs.WithFile("folder", "", fs.WithMode(0o755)),
			fs.WithFile("tool", "", fs.WithMode(0o755))))
	t.Chdir(dir.Path())
	t.Setenv("PATH", dir.Join("second"))
	both := "PATH=" + dir.Join("first") + ":" + dir.Join("second")
	for _, c := range []struct {
		name string
		ask  string
		env  []string
		want string // empty means not found
	}{
		{"a name with a slash is itself", "./no/such", nil, "./no/such"},
		{"an absolute name is itself", "/no/such", nil, "/no/such"},
		{"found on the PATH given", "tool", []string{both}, dir.Join("second", "tool")},
		{"a file that is not executable is passed over", "plain", []string{both}, dir.Join("second", "plain")},
		{"a folder is passed over", "folder", []string{both}, dir.Join("second", "folder")},
		{"our own PATH does not count", "tool", []string{"HOME=/root"}, ""},
		{"no environment finds nothing", "tool", nil, ""},
		{"a relative entry does not count", "tool", []string{"PATH=second:."}, ""},
		{"the last PATH counts, as in a shell", "tool", []string{"PATH=/nowhere", both}, dir.Join("second", "tool")},
		{"a variable that ends in PATH is another", "tool", []string{"MY" + both}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Find(c.ask, c.env)
			if c.want == "" {
				assert.ErrorIs(t, err, exec.ErrNotFound)
				assert.ErrorContains(t, err, c.ask+" on PATH")
				return
			}
			assert.NilError(t, err)
			assert.Equal(t, got, c.want)
		})
	}
}

func TestFindNamesAFileThatRuns(t *testing.T) {
	path, err := Find("sh", []string{"PATH=/usr/bin:/bin"})
	assert.NilError(t, err)
	assert.Assert(t, filepath.IsAbs(path))
	info, err := os.Stat(path)
	assert.NilError(t, err)
	assert.Assert(t, info.Mode()&0o111 != 0)
}
