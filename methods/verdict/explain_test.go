package verdict

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/fs"
	"gotest.tools/v3/icmd"
)

// A user's unit may be anything by the time that root reads it.
func TestSumsOfWhatIsNoFile(t *testing.T) {
	dir := fs.NewDir(t, "units", fs.WithFile("a", "[Service]\n"), fs.WithFile("b", "[Unit]\n"), fs.WithSymlink("link", "a"), fs.WithDir("dir"))
	zeros := fs.NewDir(t, "links", fs.WithSymlink("zero", "/dev/zero"))
	assert.NilError(t, syscall.Mkfifo(dir.Join("fifo"), 0o600))
	names := []string{dir.Join("a"), dir.Join("b"), dir.Join("link"), dir.Join("dir"), dir.Join("fifo"), zeros.Join("zero"), dir.Join("gone")}
	sums := sumsBelow(t, "", names...)
	assert.Equal(t, sums[0], sums[2])
	assert.Assert(t, sums[0] != sums[1])
	assert.DeepEqual(t, sums[3:], []string{"none", "none", "none", "none"})
}

// sumsBelow gives the checksums of files below a root.
func sumsBelow(t *testing.T, root string, names ...string) []string {
	t.Helper()
	args := []string{"-c", sumsScript, "sh"}
	for _, name := range names {
		args = append(args, root, name)
	}
	r := icmd.RunCmd(icmd.Command("sh", args...))
	r.Assert(t, icmd.Success)
	sums := strings.Split(strings.TrimSuffix(r.Stdout(), "\n"), "\n")
	assert.Equal(t, len(sums), len(names), r.Stdout())
	return sums
}

// What a container calls /etc is not what the machine calls so.
func TestSumsOfAContainerAreOfItsOwnFiles(t *testing.T) {
	dir := fs.NewDir(t, "machine", fs.WithFile("secret", "of the machine"), fs.WithDir("root", fs.WithDir("etc"), fs.WithDir("store", fs.WithDir("unit", fs.WithFile("web.service", "[Service]\n")))))
	for name, target := range map[string]string{"static": "/store/unit", "near": "../store/./unit", "out": "/../../secret", "up": "../../../secret", "round": "round"} {
		assert.NilError(t, os.Symlink(target, dir.Join("root", "etc", name)))
	}
	sums := sumsBelow(t, dir.Join("root"), "/store/unit/web.service", "/etc/static/web.service", "/etc/near/web.service", "/etc/out", "/etc/up", "/etc/round", "/none/x")
	assert.Assert(t, sums[0] != "none")
	assert.DeepEqual(t, sums[1:], []string{sums[0], sums[0], "none", "none", "none", "none"})
}
