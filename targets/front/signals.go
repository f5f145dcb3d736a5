package front

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"fediversity.eu/slipway/targets/report"
)

// withSignals gives a context that SIGINT and SIGTERM end, each with its own
// exit code. A second signal ends the process at once: whoever sends it has
// waited long enough; last is called before.
func withSignals(parent context.Context, last func()) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	received := make(chan os.Signal, 2)
	signal.Notify(received, syscall.SIGINT, syscall.SIGTERM)
	done := make(chan struct{})
	go func() {
		select {
		case s := <-received:
			cancel(&report.Interruption{Signal: s})
		case <-done:
			return
		}
		select {
		case s := <-received:
			last()
			os.Exit(int((&report.Interruption{Signal: s}).Code())) //nolint:forbidigo // the second signal forces
		case <-done:
		}
	}()
	return ctx, func() {
		signal.Stop(received)
		close(done)
		cancel(nil)
	}
}
