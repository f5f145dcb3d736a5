package verdict

import (
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
	r := icmd.RunCmd(icmd.Command("sh", append([]string{"-c", sumsScript, "sh"}, names...)...))
	r.Assert(t, icmd.Success)
	sums := strings.Split(strings.TrimSuffix(r.Stdout(), "\n"), "\n")
	assert.Equal(t, len(sums), len(names), r.Stdout())
	assert.Equal(t, sums[0], sums[2])
	assert.Assert(t, sums[0] != sums[1])
	assert.DeepEqual(t, sums[3:], []string{"none", "none", "none", "none"})
}
