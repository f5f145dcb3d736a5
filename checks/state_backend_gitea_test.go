//go:build checks

package checks

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/checks/gitea"
	"fediversity.eu/slipway/checks/port"
	"fediversity.eu/slipway/methods/statebackend/protocol"
	"fediversity.eu/slipway/targets/env"
)

// TestStateBackendProtocolOverGitea runs the suite that our backend has to pass
// over a backend of others, so that what it expects is not only ours.
func TestStateBackendProtocolOverGitea(t *testing.T) {
	for _, tool := range []string{"git", "gcc"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("missing part: %s, for Gitea", tool)
		}
	}
	_, tools, cache := given(t)
	began := time.Now()
	program, err := gitea.Build(t.Context(), env.Process(), tools, filepath.Join(cache, "tools"))
	if err != nil {
		t.Skipf("missing part: Gitea %s: %v", gitea.Version, err)
	}
	t.Logf("Gitea %s was there after %s", gitea.Version, time.Since(began).Round(time.Second))
	server, err := program.Start(t.Context(), t.TempDir(), port.Keep(t))
	assert.NilError(t, err)
	defer server.Close()
	states := 0
	protocol.Run(t, func(*testing.T) protocol.Backend {
		states++
		address := server.State(fmt.Sprintf("web-%d", states))
		return protocol.Backend{
			URL: address, LockURL: address + "/lock", LockMethod: "POST", UnlockURL: address + "/lock", UnlockMethod: "DELETE",
			User: server.User, Password: server.Password,
		}
	})
}
