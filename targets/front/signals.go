package front

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"fediversity.eu/slipway/targets/report"
)

// withSignals gives a context that SIGINT and SIGTERM end, each with its own
// exit code, and SIGHUP, of a terminal that went away, unless it was to be ignored. A second signal ends the process at once: whoever sends it has
// waited long enough; last is called before.
func withSignals(parent context.Context, last func()) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	received := make(chan os.Signal, 2)
	signals := []os.Signal{syscall.SIGINT, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	signal.Notify(received, signals...)
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
