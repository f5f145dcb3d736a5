package netbox

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/groups"
	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/report"
	"fediversity.eu/slipway/targets/task"
)

// silent takes requests and answers none until the test ends.
func silent(t *testing.T) *httptest.Server {
	t.Helper()
	ended := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-ended:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(ended) })
	return server
}

func TestSilence(t *testing.T) {
	server := silent(t)
	t.Run("of one request is unknown", func(t *testing.T) {
		for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPatch} {
			c, err := newClient(server.URL, env.NewSecret("token"), "")
			assert.NilError(t, err)
			c.http.Timeout = 50 * time.Millisecond
			err = c.do(t.Context(), method, "dcim/sites/", nil, nil, nil)
			assert.Equal(t, report.CodeOf(classify(t.Context(), "do it", err, false)), report.Unknown, "%v", err)
		}
	})
	t.Run("ends a run when its time is up", func(t *testing.T) {
		it, environment, err := load(t, groups.Group{Name: "g", Inventory: inventory()}, "plan", map[string]string{
			"NETBOX_URL": server.URL, "NETBOX_TOKEN": strings.Repeat("a", 40), "DNS_DOMAIN": "example.org", "NETBOX_TIMEOUT": "50ms",
		})
		assert.NilError(t, err)
		err = it.Run(t.Context(), &task.Run{Environment: environment, Log: &report.Log{}, Out: &bytes.Buffer{}, Record: &report.Record{}})
		assert.Equal(t, report.CodeOf(err), report.Unknown)
		assert.ErrorContains(t, err, "not done after 50ms")
	})
}

func TestQueriesFitIntoALine(t *testing.T) {
	var values []string
	for n := range 500 {
		values = append(values, strings.Repeat("ä", n%60))
	}
	var all []string
	for _, chunk := range chunksOf("name__ie", values) {
		assert.Assert(t, len(url.Values{"name__ie": chunk}.Encode()) <= longest)
		assert.Assert(t, len(chunk) > 0)
		all = append(all, chunk...)
	}
	assert.DeepEqual(t, all, values)
	assert.Equal(t, len(chunksOf("slug", nil)), 0)
	assert.Equal(t, len(chunksOf("slug", []string{strings.Repeat("x", 2*longest)})), 1)
}
