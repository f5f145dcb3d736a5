//go:build checks

package checks

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/checks/guest"
	"fediversity.eu/slipway/internal/child"
	"fediversity.eu/slipway/targets/report"
)

// TestDeploymentCIEnvironment deploys as a bare job runner would: no HOME, no
// terminal, an environment of nothing but coordinates, and a checkout that
// can't be written to.
func TestDeploymentCIEnvironment(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("missing part: root, to make a checkout that can't be written to")
	}
	w := newWorld(t)
	w.boot(guest.VM)
	environment := w.with(map[string]string{"HOME": "", "REPORT": filepath.Join(w.dir, "record.json")})
	var out bytes.Buffer
	err := child.Command{
		Path: "unshare", Env: pairs(environment), Stdout: &out, Stderr: testWriter{t},
		Args: []string{
			"--mount", "--", "sh", "-c",
			`mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" && cd "$1" && ! touch operator/written 2>/dev/null && exec setsid --wait "$2" run operator-ssh-web-apply </dev/null`,
			"sh", w.source, binary(t),
		},
	}.Run(t.Context())
	assert.NilError(t, err)
	assert.Equal(t, out.String(), "")

	t.Run("without a cache directory", func(t *testing.T) {
		w := w.as(t)
		// The user database of a container has a home for nobody that is not there.
		o := w.slipway(map[string]string{"HOME": "/nonexistent", "XDG_CACHE_HOME": filepath.Join(w.dir, "xdg"), "CACHE_DIR": ""}, "operator-web")
		assert.Equal(t, o.code, report.Healthy)
	})
}
