//go:build checks

package checks

import (
	"net/http"
	"path/filepath"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"fediversity.eu/slipway/internal/child"
	"fediversity.eu/slipway/methods/statebackend/protocol"
)

// TestStateBackendFullDisk fills the disk of a state backend, a small one that is
// mounted for its process alone.
func TestStateBackendFullDisk(t *testing.T) {
	path := []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin"}
	if err := (child.Command{Path: "unshare", Args: []string{"--mount", "true"}, Env: path}).Run(t.Context()); err != nil {
		t.Skip("missing part: mount namespaces, for a disk to fill")
	}
	dir := t.TempDir()
	b := startServer(t, filepath.Join(dir, "states"), anyPort, "unshare", "--mount", "sh", "-euc",
		`mount -t tmpfs -o size=2m,mode=700 small "$1"; exec "$2"`, "sh", dir, buildServer(t)).backend("web")
	ctx := t.Context()

	lock := protocol.NewLock("apply")
	assert.Equal(t, b.Lock(ctx, lock).Status, http.StatusOK)
	const resources = 1200 // about 300 kB
	serial, state := 0, ""
	full := false
	for !full {
		assert.Assert(t, serial < 20, "the disk never got full")
		next := protocol.State(stateLineage, serial+1, resources)
		switch got := b.Post(ctx, next, lock.ID); got.Status {
		case http.StatusOK:
			serial, state = serial+1, next
		default:
			full = true
			assert.Equal(t, got.Status, http.StatusInsufficientStorage, "%s", got)
			assert.Check(t, cmp.Contains(got.Body, "store state: "))
			assert.Check(t, cmp.Contains(got.Body, "no space left on device"))
		}
	}
	assert.Assert(t, serial > 2)
	assert.Assert(t, b.Get(ctx).Body == state, "the last state that was stored is the state")
	assert.Equal(t, b.Lock(ctx, protocol.NewLock("plan")).Status, http.StatusLocked, "the lock is held still")

	small := protocol.State(stateLineage, serial+1, 1)
	assert.Equal(t, b.Post(ctx, small, lock.ID).Status, http.StatusOK, "what was half written is gone and takes no place")
	assert.Equal(t, b.Get(ctx).Body, small)
	assert.Equal(t, b.Unlock(ctx, lock).Status, http.StatusOK)
}
