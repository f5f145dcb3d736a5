package source

import (
	"crypto/rand"
	"encoding/pem"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/fs"

	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/report"
)

// TestSourcesOverTLS fetches from a server whose certificate an authority of the
// caller's own vouches for.
func TestSourcesOverTLS(t *testing.T) {
	dir := fs.NewDir(t, "repository", fs.WithDir("groups", fs.WithFile("web.nix", "{ }\n"))).Path()
	git := repositoryOf(t, dir)
	first := git("rev-parse", "HEAD")
	mux := http.NewServeMux()
	mux.Handle("/m.git/", &cgi.Handler{
		Path: filepath.Join(git("--exec-path"), "git-http-backend"), Root: "/m.git",
		Env: []string{"GIT_PROJECT_ROOT=" + filepath.Join(dir, ".git"), "GIT_HTTP_EXPORT_ALL=1", "HOME=" + t.TempDir()},
	})
	server := httptest.NewTLSServer(mux)
	defer server.Close()
	authority := fs.NewFile(t, "authority.pem", fs.WithBytes(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))).Path()

	for _, tool := range []string{"git", "nix-prefetch-url"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip("missing part: " + tool)
		}
	}
	for _, trusts := range []string{"", "SSL_CERT_FILE", "NIX_SSL_CERT_FILE"} {
		packed := entries(t, file("operator/web.nix", "{ } # "+rand.Text())).Bytes() // Nix fetches nothing that it has
		sum, err := copyHashed(&strings.Builder{}, fs.NewFile(t, "modules.tar", fs.WithBytes(packed)).Path())
		assert.NilError(t, err)
		mux.HandleFunc("/"+trusts+".tar", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(packed) })
		for _, where := range []string{"git+" + server.URL + "/m.git#" + first, server.URL + "/" + trusts + ".tar#" + sum} {
			t.Run(trusts+" "+where, func(t *testing.T) {
				e := env.Map(map[string]string{"PATH": os.Getenv("PATH"), "HOME": t.TempDir(), "CACHE_DIR": t.TempDir(), trusts: authority})
				_, err := NewShelf(e, report.NewLog(report.Plain(&strings.Builder{}))).open(t.Context(), "KEY", address(t, where), "")
				if trusts == "" {
					assert.Equal(t, report.CodeOf(err), report.Refused)
					assert.ErrorContains(t, err, "certificate")
					return
				}
				assert.NilError(t, err)
			})
		}
	}
}
