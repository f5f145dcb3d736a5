package incus

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/groups"
	"fediversity.eu/slipway/internal/incus"
	"fediversity.eu/slipway/targets/report"
)

func TestPrivateAddressesAreToldWhereThereAreNoOthers(t *testing.T) {
	for _, c := range []struct {
		name      string
		has, want []string
	}{
		{"none is public", []string{"10.1.2.3", "fd42::7"}, []string{"10.1.2.3", "fd42::7"}},
		{"one is", []string{"10.1.2.3", "fd42::7", "2001:db8::7"}, []string{"2001:db8::7"}},
	} {
		t.Run(c.name, func(t *testing.T) { assert.DeepEqual(t, told(c.has), c.want) })
	}
}

// TestAHostKeyThatIsBeingMade looks at a machine that boots: its host key is not there,
// is there and empty, and is whole. Only the last can be gone by, and the others are
// waited for.
func TestAHostKeyThatIsBeingMade(t *testing.T) {
	m := machineOf(groups.Instance{})
	m.login.Agent = "/run/agent"
	const addresses = `{"family":"inet","address":"192.0.2.7","scope":"global"},{"family":"inet6","address":"fd42::7","scope":"global"},{"family":"inet6","address":"2001:db8::7","scope":"global"}`
	for _, c := range []struct {
		name, key string
		status    int
		code      report.Code
	}{
		{"not there", "", http.StatusNotFound, report.Unknown},
		{"empty", "", http.StatusOK, report.Unknown},
		{"whole", loginKey + " root@db\n", http.StatusOK, report.Healthy},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
				switch {
				case strings.HasSuffix(q.URL.Path, "/files"):
					w.WriteHeader(c.status)
					_, _ = io.WriteString(w, c.key)
				case strings.HasSuffix(q.URL.Path, "/state"):
					_, _ = io.WriteString(w, `{"type":"sync","metadata":{"status":"Running","network":{"eth0":{"host_name":"veth1","addresses":[`+addresses+`]}}}}`)
				default:
					_, _ = io.WriteString(w, `{"type":"sync","metadata":{"config":{"`+mark+`":"operator-db"}}}`)
				}
			}))
			defer server.Close()
			sum := sha256.Sum256(server.Certificate().Raw)
			client := incus.New(incus.Remote{Address: server.URL, Fingerprint: hex.EncodeToString(sum[:]), Project: "tenant"})
			defer client.Close()
			reached, err := m.find(t.Context(), client)
			assert.Equal(t, report.CodeOf(err), c.code, "%v", err)
			if c.code == report.Healthy {
				assert.Equal(t, reached.Target.Host, "192.0.2.7")
				assert.DeepEqual(t, reached.Addresses, []string{"192.0.2.7", "2001:db8::7"})
			}
		})
	}
}
