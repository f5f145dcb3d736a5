package tofu

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/checks/fakestate"
)

func TestShortened(t *testing.T) {
	for _, c := range []struct{ name, said, want string }{
		{"one line", "exit status 1", "exit status 1"},
		{
			"a box with colours",
			"exit status 1\n\n\x1b[31m╷\x1b[0m\x1b[0m\n\x1b[31m│\x1b[0m \x1b[1mError: \x1b[0mNo instance found\n│\n│ This command requires that the address\n│ references one instance.\n╵\n",
			"exit status 1: Error: No instance found: This command requires that the address references one instance.",
		},
		{"two errors", "Error: one\nError: two", "Error: one: Error: two"},
		{"many lines", strings.Repeat("line\n", 20), "line" + strings.Repeat(" line", 7)},
		{"nothing", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) { assert.Equal(t, shortened(errors.New(c.said)).Error(), c.want) })
	}
}

// TestProvidersOfOthersListenWhereThereIsRoom opens a workshop of each length, below a
// folder for temporary files of the same.
func TestProvidersOfOthersListenWhereThereIsRoom(t *testing.T) {
	for _, n := range []int{0, 70, 80, 86, 87, 102, 150} {
		base, err := os.MkdirTemp("/tmp", "room-") //nolint:usetesting // the lengths have to be right
		assert.NilError(t, err)
		t.Cleanup(func() { _ = os.RemoveAll(base) })
		dir := filepath.Join(base, strings.Repeat("d", max(1, n-len(base)-1)))
		work := filepath.Join(dir, "w")
		assert.NilError(t, os.MkdirAll(work, 0o700))
		t.Setenv("TMPDIR", dir)
		e := newBench(t, fakestate.Strict).engine(Keys{})
		w, err := e.open(t.Context(), objects(0), work, inPrivate(work), nil)
		assert.NilError(t, err)
		folder := cmp.Or(w.env["PLUGIN_UNIX_SOCKET_DIR"], filepath.Join(work, "tmp"))
		assert.Check(t, len(folder)+len("/plugin1234567890") <= 107, "%d: %s", n, folder)
		_, err = os.Stat(folder)
		assert.Check(t, err)
		assert.NilError(t, w.Close())
		if w.sockets != "" {
			_, err = os.Stat(w.sockets)
			assert.Check(t, errors.Is(err, os.ErrNotExist))
		}
	}
}
