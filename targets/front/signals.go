package front

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"fediversity.eu/slipway/targets/report"
)

// outlive makes a write that nobody takes an error of that write: by default a
// reader that goes away, and a limit on the size of files, end the process in the
// middle of what it does, with its locks held. Ignoring the signals would be handed
// down to children; this is not.
func outlive() {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE, syscall.SIGXFSZ)
}

// withSignals gives a context that SIGINT and SIGTERM end, each with its own
// exit code, and SIGHUP, of a terminal that went away, unless it was to be ignored.
// A second signal ends the process at once: whoever sends it has waited long enough;
// last is called before.
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
