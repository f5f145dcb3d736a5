package rundir

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"fediversity.eu/slipway/targets/report"
)

// deep is a folder whose path has n bytes.
func deep(t *testing.T, n int) string {
	t.Helper()
	base, err := os.MkdirTemp("/tmp", "deep-") //nolint:usetesting // the lengths have to be right
	assert.NilError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(base) })
	path := filepath.Join(base, strings.Repeat("d", n-len(base)-1))
	assert.NilError(t, os.Mkdir(path, 0o700))
	assert.Equal(t, len(path), n)
	return path
}

func TestSocketsAreWhereTheirPathsAreShort(t *testing.T) {
	short := t.TempDir
	for _, c := range []struct {
		name  string
		bases []string
		used  int
	}{
		{"the one for temporary files", []string{deep(t, maxRoom), short()}, 0},
		{"a long one", []string{deep(t, maxRoom+1), deep(t, maxRoom)}, 1},
		{"one that is not there", []string{filepath.Join(deep(t, 40), "not"), deep(t, 50)}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			folder, err := socketsIn(c.bases)
			assert.NilError(t, err)
			assert.Equal(t, filepath.Dir(folder), c.bases[c.used])
			assert.Assert(t, Fits(folder))
			info, err := os.Stat(folder)
			assert.NilError(t, err)
			assert.Equal(t, info.Mode().Perm(), os.FileMode(0o700))
			socket := filepath.Join(folder, "plugin"+strings.Repeat("9", maxDigits))
			listener, err := net.Listen("unix", socket)
			assert.NilError(t, err)
			defer func() { _ = listener.Close() }()
			assert.Equal(t, Owner(socket), folder)
		})
	}
	assert.Equal(t, Owner("/run/agent/socket"), "/run/agent/socket")

	long := deep(t, 102)
	_, err := socketsIn([]string{long, "/nowhere"})
	assert.Equal(t, report.CodeOf(err), report.Usage)
	assert.ErrorContains(t, err, long+": its path has 102 bytes, and may have 71, since that of a socket in it may have 107")
	assert.ErrorContains(t, err, "/nowhere")
	assert.Assert(t, cmp.Contains(report.Hints(err)[0], "TMPDIR"))
}

func TestARelativeFolderIsMeantFromHere(t *testing.T) {
	t.Chdir(deep(t, 40))
	assert.NilError(t, os.Mkdir("tmp", 0o700))
	folder, err := socketsIn([]string{"tmp"})
	assert.NilError(t, err)
	assert.Assert(t, filepath.IsAbs(folder))
}
