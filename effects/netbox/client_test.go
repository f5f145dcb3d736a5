package netbox

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
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

// TestWhatIsDoneAgain counts how often a request is sent that does not go well.
func TestWhatIsDoneAgain(t *testing.T) {
	const often = attempts + 3
	for _, c := range []struct {
		name   string
		method string
		status int
		after  string
		times  int // that it does not go well
		calls  int
		well   bool
	}{
		{"a creation that was not taken", http.MethodPost, http.StatusTooManyRequests, "", 1, 2, true},
		{"one that was often not taken", http.MethodPost, http.StatusTooManyRequests, "0", often, often + 1, true},
		{"one that is to be left for hours", http.MethodPost, http.StatusTooManyRequests, "7200", often, 1, false},
		{"one that may have been done", http.MethodPost, http.StatusServiceUnavailable, "", 1, 1, false},
		{"a change that may have been done", http.MethodPatch, http.StatusServiceUnavailable, "", 1, 2, true},
		{"a change that never goes well", http.MethodPatch, http.StatusInternalServerError, "", often, attempts, false},
		{"a look that was not taken", http.MethodGet, http.StatusTooManyRequests, "", often, often + 1, true},
		{"a look that is to be left for hours", http.MethodGet, http.StatusServiceUnavailable, "7200", often, 1, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			calls := limited(t, c.status, c.after, c.times)
			client, err := newClient(calls.URL, env.NewSecret("token"), "")
			assert.NilError(t, err)
			client.pause = time.Millisecond
			err = client.do(t.Context(), c.method, "dcim/sites/", nil, nil, nil)
			assert.Equal(t, err == nil, c.well, "%v", err)
			assert.Equal(t, int(calls.count.Load()), c.calls)
		})
	}
	t.Run("not before NetBox says", func(t *testing.T) {
		calls := limited(t, http.StatusTooManyRequests, "1", 1)
		client, err := newClient(calls.URL, env.NewSecret("token"), "")
		assert.NilError(t, err)
		client.pause = time.Millisecond
		began := time.Now()
		assert.NilError(t, client.do(t.Context(), http.MethodPost, "dcim/sites/", nil, nil, nil))
		assert.Assert(t, time.Since(began) >= time.Second, "it came back after %s", time.Since(began))
	})
}

// limiter is a NetBox that does not take its first requests.
type limiter struct {
	*httptest.Server
	count atomic.Int64
}

func limited(t *testing.T, status int, after string, times int) *limiter {
	t.Helper()
	l := &limiter{}
	l.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("API-Version", "4.7")
		if l.count.Add(1) > int64(times) {
			return
		}
		if after != "" {
			w.Header().Set("Retry-After", after)
		}
		w.WriteHeader(status)
	}))
	t.Cleanup(l.Close)
	return l
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
