package wait

import (
	"net/http"
	"testing"
	"time"

	"gotest.tools/v3/assert"
)

func TestAfter(t *testing.T) {
	now := time.Date(2026, 7, 30, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Duration{
		"":                                 0,
		"0":                                0,
		"17":                               17 * time.Second,
		"-3":                               0,
		"soon":                             0,
		"1.5":                              0,
		"9999999999999999":                 longest,
		"Thu, 30 Jul 2026 12:01:00 GMT":    time.Minute,
		"Thu, 30 Jul 2026 11:00:00 GMT":    0,
		"Fri, 31 Dec 9999 23:59:59 GMT":    longest,
		"99999999999999999999999999999999": longest,
	} {
		assert.Equal(t, After(http.Header{"Retry-After": {text}}, now), want, text)
	}
}
