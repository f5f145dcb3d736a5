package backend

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/targets/env"
)

// TestAnAnswerThatIsTooLargeIsNoOutage gives more than is read, with its length said
// before or not: that is said at once, and the backend counts as reached.
func TestAnAnswerThatIsTooLargeIsNoOutage(t *testing.T) {
	const most = 1000
	for name, c := range map[string]struct {
		length  int
		flushed bool
		large   bool
	}{
		"as much as may be": {most, false, false}, "a byte more": {most + 1, false, true},
		"a byte more, of unknown length": {most + 1, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				asked++
				if c.flushed {
					_ = http.NewResponseController(w).Flush()
				}
				_, _ = w.Write(bytes.Repeat([]byte("x"), c.length))
			}))
			defer server.Close()
			client, err := New(Keys{Address: env.URL(server.URL)}, Pace{Try: time.Minute, Pauses: []time.Duration{0, 0}}, nil)
			assert.NilError(t, err)
			defer client.Close()
			client.most = most
			body, _, err := client.Get(t.Context())
			assert.Equal(t, asked, 1, "it is not asked again")
			if !c.large {
				assert.NilError(t, err)
				assert.Equal(t, len(body), c.length)
				return
			}
			assert.Assert(t, is[*TooLargeError](err), "%v", err)
			assert.Assert(t, !Unreached(err))
		})
	}
}
