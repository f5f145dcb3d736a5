package remote

import (
	"fmt"
	"time"
)

// keepAliveRequest is OpenSSH's name for a question that every server answers,
// with "unknown" at least.
const keepAliveRequest = "keepalive@openssh.com"

// keepAlive asks a hop for a sign of life whenever it was silent for the
// interval, and ends the connection when nothing at all came back for two more.
// Whatever arrives counts, since an answer may queue behind gigabytes of output.
// A hop that is gone is thus noticed within three and a half intervals.
func (c *Conn) keepAlive(l *link, interval, patience time.Duration) {
	tick := time.NewTicker(max(interval/4, time.Millisecond))
	defer tick.Stop()
	answered := make(chan struct{}, 1)
	var asked time.Time // zero when no question is open
	for {
		select {
		case <-c.ended:
			return
		case <-answered:
			asked = time.Time{}
			continue
		case <-tick.C:
		}
		silent := l.transport.silence()
		switch {
		case asked.IsZero() && silent >= interval:
			asked = time.Now()
			go func() {
				// Blocks while the link is down; ends with the connection.
				_, _, _ = l.client.SendRequest(keepAliveRequest, true, nil)
				answered <- struct{}{}
			}()
		case asked.IsZero():
		case time.Since(asked) >= 2*interval+patience && silent >= 2*interval+patience:
			c.shut(lost("reach", l.where, fmt.Errorf("no sign of life for %s", round(silent))))
			return
		}
	}
}
