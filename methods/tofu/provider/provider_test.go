package provider

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"gotest.tools/v3/assert"
)

func none() tfprotov6.ProviderServer { return nil }

// TestAProviderListensWhateverTheFolderForTemporaryFilesIsCalled goes through lengths on
// both sides of what a socket's path may have.
func TestAProviderListensWhateverTheFolderForTemporaryFilesIsCalled(t *testing.T) {
	base := t.TempDir()
	for _, n := range []int{0, 71, 72, 90, 91, 102, 107, 108, 250, 1000} {
		folder := base
		for len(folder) < n {
			folder = filepath.Join(folder, strings.Repeat("d", min(200, max(1, n-len(folder)-1))))
		}
		assert.NilError(t, os.MkdirAll(folder, 0o700))
		t.Setenv("TMPDIR", folder)
		t.Setenv("PLUGIN_UNIX_SOCKET_DIR", "/of/the/caller")
		began := time.Now()
		served, err := Serve(t.Context(), "example.org/slipway/none", none)
		assert.NilError(t, err, "%d", n)
		assert.Assert(t, time.Since(began) < startLimit/2)
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "unix", served.Config.Addr.String)
		assert.NilError(t, err)
		assert.NilError(t, conn.Close())
		served.Close()
		_, err = os.Stat(filepath.Dir(served.Config.Addr.String))
		assert.Assert(t, errors.Is(err, fs.ErrNotExist), "its folder is gone")
	}
}

func TestSeveralProvidersBeginAtOnce(t *testing.T) {
	all := make(chan *Served)
	for range 8 {
		go func() {
			served, err := Serve(t.Context(), "example.org/slipway/none", none)
			assert.Check(t, err)
			all <- served
		}()
	}
	folders := map[string]bool{}
	for range 8 {
		served := <-all
		folders[filepath.Dir(served.Config.Addr.String)] = true
		defer served.Close()
	}
	assert.Equal(t, len(folders), 8)
}

// TestAProviderThatCannotListenSaysSoAtOnce has the library log the reason to nobody.
func TestAProviderThatCannotListenSaysSoAtOnce(t *testing.T) {
	began := time.Now()
	_, err := serve(t.Context(), "example.org/slipway/none", none, filepath.Join(t.TempDir(), "not-there"))
	assert.ErrorContains(t, err, "it can't listen in ")
	assert.Assert(t, time.Since(began) < startLimit/2)
}
