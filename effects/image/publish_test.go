package image

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"fediversity.eu/slipway/internal/incus"
	"fediversity.eu/slipway/targets/report"
)

func TestImagesOfAProjectThatIsNotThereAreRefused(t *testing.T) {
	for _, c := range []struct {
		name, project string
		status        int
		code          report.Code
	}{
		{"it is there", "own", http.StatusOK, report.Healthy},
		{"it is not", "own", http.StatusNotFound, report.Refused},
		{"we may not ask", "own", http.StatusForbidden, report.Healthy},
		{"the server is in trouble", "own", http.StatusInternalServerError, report.Unknown},
		{"it is on every server", "default", http.StatusNotFound, report.Healthy},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
				assert.Check(t, cmp.Equal(q.URL.String(), "/1.0/projects/own"))
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, `{"type":"sync","metadata":{}}`)
			}))
			defer server.Close()
			sum := sha256.Sum256(server.Certificate().Raw)
			client := incus.New(incus.Remote{Address: server.URL, Fingerprint: hex.EncodeToString(sum[:]), Project: c.project})
			defer client.Close()
			err := there(t.Context(), client)
			assert.Equal(t, report.CodeOf(err), c.code, "%v", err)
			if c.code == report.Refused {
				assert.ErrorContains(t, err, "no project own")
			}
		})
	}
}
