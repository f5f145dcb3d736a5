package netbox

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"fediversity.eu/slipway/groups"
	"fediversity.eu/slipway/targets/report"
	"fediversity.eu/slipway/targets/task"
)

// answering is a server that answers everything in one way. A NetBox tells the
// version of its API with each answer.
func answering(t *testing.T, status int, version, body string) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if version != "" {
			w.Header().Set("API-Version", version)
		}
		if status == 0 {
			panic(http.ErrAbortHandler)
		}
		w.WriteHeader(status)
		_, _ = fmt.Fprint(w, body)
	}))
	t.Cleanup(server.Close)
	return server
}

// TestAnswersThatAreNone: whatever answers, what it means is said, nothing is taken
// for a success, and the token is shown to nobody else.
func TestAnswersThatAreNone(t *testing.T) {
	const page = "<!DOCTYPE html><html><title>Log in</title></html>"
	for _, c := range []struct {
		name    string
		status  int
		version string
		body    string
		code    report.Code
		says    string
		hint    string
	}{
		{"a page of something else", 200, "", page, report.Unknown, "this is no NetBox", "NETBOX_URL"},
		{"a page with NetBox's mark", 200, "4.7", page, report.Unknown, "an answer that is not what NetBox says", "NETBOX_URL"},
		{"nothing", 200, "4.7", "", report.Unknown, "an answer that is not what NetBox says", "NETBOX_URL"},
		{"an object that is no list", 200, "4.7", `{"tags": "https://netbox.example.org/api/extras/tags/"}`, report.Unknown, "no page of a list", "NETBOX_URL"},
		{"half a page", 200, "4.7", `{"count": 1, "results": [{"id": 1`, report.Unknown, "unexpected EOF", "NETBOX_URL"},
		{"no page of that name", 404, "", page, report.Unknown, "404 Not Found", "without /api"},
		{"a wrong token", 403, "4.7", `{"detail": "Invalid v2 token"}`, report.Refused, "403 Forbidden: Invalid v2 token", "NETBOX_TOKEN must be valid"},
		{"a proxy that wants a login", 401, "", page, report.Refused, "401 Unauthorized", "NETBOX_TOKEN"},
		{"a host that it doesn't go by", 400, "4.7", `{"detail": "Bad Request"}`, report.Unknown, "400 Bad Request", "NETBOX_URL"},
		{"a fault of its own", 500, "4.7", `{"error": "relation does not exist", "exception": "ProgrammingError"}`, report.Unknown, "relation does not exist", "later"},
		{"an end in the middle", 0, "", "", report.Unknown, "EOF", "NETBOX_URL must name a NetBox that answers"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			token := strings.Repeat("5ec2e7", 7)
			for _, verb := range []string{"plan", task.Apply, "destroy"} {
				it, environment, err := load(t, groups.Group{Name: "g", Inventory: inventory()}, verb, map[string]string{
					"NETBOX_URL": answering(t, c.status, c.version, c.body).URL, "NETBOX_TOKEN": token, "DNS_DOMAIN": "example.org",
				})
				assert.NilError(t, err)
				var log, out bytes.Buffer
				record := &report.Record{}
				err = it.Run(t.Context(), &task.Run{Environment: environment, Log: report.NewLog(report.Plain(&log)), Out: &out, Record: record})
				assert.Equal(t, report.CodeOf(err), c.code, "%s: %v", verb, err)
				assert.ErrorContains(t, err, c.says)
				assert.Assert(t, cmp.Contains(strings.Join(report.Hints(err), "\n"), c.hint))
				assert.Assert(t, !record.Changed)
				assert.Assert(t, !strings.Contains(err.Error()+log.String()+out.String(), token))
			}
		})
	}
}
