package remote

import (
	"testing"
	"time"

	"gotest.tools/v3/assert"
)

// TestSilence looks at a hop that says nothing from second 0 on, with an interval of 4
// seconds, and one of patience.
func TestSilence(t *testing.T) {
	every := func(from, to int) (seconds []int) {
		for s := from; s <= to; s++ {
			seconds = append(seconds, s)
		}
		return seconds
	}
	for _, c := range []struct {
		name        string
		looks       []int // at which second
		asked, gone int   // 0 is never
	}{
		{"it is gone", every(1, 20), 4, 13},
		{"it has not had its time yet", every(1, 12), 4, 0},
		{"we stood still with a question open", append(every(1, 5), every(60, 68)...), 4, 0},
		{"we stood still, and it is gone", append(every(1, 5), every(60, 80)...), 4, 69},
		{"we stood still before the question", append(every(1, 3), every(60, 68)...), 60, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := watch{interval: 4 * time.Second, patience: time.Second}
			var asked, lost int
			for _, second := range c.looks {
				silent := time.Duration(second) * time.Second
				ask, gone := w.look(time.Unix(0, 0).Add(silent), silent)
				if ask {
					asked = second
				}
				if gone && lost == 0 {
					lost = second
				}
			}
			assert.Equal(t, asked, c.asked)
			assert.Equal(t, lost, c.gone)
		})
	}
}

// TestHastenLastsOverReconnects is of a connection that was lost while it was watched
// closely: those that follow are too, until that is taken back.
func TestHastenLastsOverReconnects(t *testing.T) {
	t.Parallel()
	host, _ := userKey(t)
	s := startOddServer(t, nil, host)
	target := s.target(host.PublicKey())
	target.KeepAlive = 15 * time.Second
	c, err := Dial(t.Context(), target)
	assert.NilError(t, err)
	again := func(c *Conn) *Conn {
		t.Helper()
		next, err := c.Reconnect(t.Context())
		assert.NilError(t, err)
		assert.NilError(t, c.Close())
		return next
	}
	every := func(c *Conn) time.Duration { return time.Duration(c.interval.Load()) }
	c.Hasten(20 * time.Second)
	assert.Equal(t, every(c), 15*time.Second, "never slower")
	c.Hasten(5 * time.Second)
	c = again(c)
	assert.Equal(t, every(c), 5*time.Second)
	c.Relax()
	c = again(c)
	assert.Equal(t, every(c), 15*time.Second)
	assert.NilError(t, c.Close())
}
