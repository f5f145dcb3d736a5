package wait

import (
	"errors"
	"net/http"
	"strconv"
	"time"
)

// longest bounds what a server may ask for: what is longer is never waited for, and
// must not overflow.
const longest = 365 * 24 * time.Hour

// After reads how long the server of an answer wants to be left alone, from its
// header Retry-After: seconds, or a time (RFC 9110, 10.2.3). It is 0 where it does
// not say.
func After(header http.Header, now time.Time) time.Duration {
	text := header.Get("Retry-After")
	if seconds, err := strconv.ParseUint(text, 10, 63); err == nil || errors.Is(err, strconv.ErrRange) {
		return time.Duration(min(seconds, uint64(longest/time.Second))) * time.Second //nolint:gosec // It is bounded.
	}
	if at, err := http.ParseTime(text); err == nil {
		return min(max(0, at.Sub(now)), longest)
	}
	return 0
}
