package report

import (
	"fmt"
	"time"
)

// Duration writes how long something took: "12 ms", "0.4 s", "44.0 s",
// "3m07s", "1h02m".
func Duration(d time.Duration) string {
	if d < 100*time.Millisecond {
		return fmt.Sprintf("%d ms", max(0, d.Round(time.Millisecond)).Milliseconds())
	}
	if tenths := d.Round(100 * time.Millisecond); tenths < time.Minute {
		return fmt.Sprintf("%.1f s", tenths.Seconds())
	}
	return span(d.Round(time.Second))
}
