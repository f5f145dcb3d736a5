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
func (c *Conn) keepAlive(l *link, hop int) {
	interval := time.Duration(c.interval.Load())
	tick := time.NewTicker(max(interval/4, time.Millisecond))
	defer tick.Stop()
	answered := make(chan struct{}, 1)
	w := watch{interval: interval, patience: time.Duration(hop) * interval / 8}
	for {
		select {
		case <-c.ended:
			return
		case <-answered:
			w.asked = time.Time{}
			continue
		case <-tick.C:
		}
		if now := time.Duration(c.interval.Load()); now != w.interval {
			w.interval, w.patience = now, time.Duration(hop)*now/8
			tick.Reset(max(now/4, time.Millisecond))
		}
		silent := l.transport.silence()
		ask, gone := w.look(time.Now(), silent)
		if ask {
			go func() {
				// Blocks while the link is down; ends with the connection.
				_, _, _ = l.client.SendRequest(keepAliveRequest, true, nil)
				answered <- struct{}{}
			}()
		}
		if gone {
			c.shut(lost("reach", l.where, fmt.Errorf("no sign of life for %s", round(silent))))
			return
		}
	}
}

// watch judges the silence of a hop.
type watch struct {
	interval, patience time.Duration
	asked              time.Time // zero when no question is open
	looked             time.Time // last; zero before the first time
}

// look tells whether a hop that was silent for so long is to be asked, or is gone.
// It is called four times an interval; when it was not for a whole one, this host
// itself stood still, an answer may lie unread, and the hop gets its time anew.
func (w *watch) look(now time.Time, silent time.Duration) (ask, gone bool) {
	stood := !w.looked.IsZero() && now.Sub(w.looked) > w.interval
	w.looked = now
	limit := 2*w.interval + w.patience
	switch {
	case w.asked.IsZero():
		if ask = silent >= w.interval; ask {
			w.asked = now
		}
	case stood:
		w.asked = now
	default:
		gone = now.Sub(w.asked) >= limit && silent >= limit
	}
	return ask, gone
}
