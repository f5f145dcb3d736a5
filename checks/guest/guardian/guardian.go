// Package guardian ties what a test starts to the life of its process.
//
// A guardian is a shell that starts something and reads its own standard input, a
// pipe whose other end only we hold. The kernel closes that end when we are gone,
// in whatever way, and the guardian then ends what it started.
package guardian

import (
	"context"
	"errors"
	"fmt"
	"os"

	"fediversity.eu/slipway/internal/child"
)

// Process is a guardian with what it guards.
type Process struct {
	hold *os.File      // our end of the pipe
	done chan struct{} // closed when both are gone
	err  error         // how the guardian ended; to be read after done
}

// Start starts a guardian in dir, whose program and first arguments are given by
// argv, with environment as all that it is told.
func Start(ctx context.Context, dir string, environment []string, argv ...string) (*Process, error) {
	input, hold, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	p := &Process{hold: hold, done: make(chan struct{})}
	command := child.Command{Path: argv[0], Args: argv[1:], Dir: dir, Env: environment, Stdin: input}
	go func() {
		// What is guarded outlives the context that it was started under.
		p.err = command.Run(context.WithoutCancel(ctx))
		_ = input.Close()
		close(p.done)
	}()
	return p, nil
}

// Alive is nil while the guardian runs.
func (p *Process) Alive() error {
	select {
	case <-p.done:
		if p.err == nil {
			return errors.New("the machine has ended")
		}
		return fmt.Errorf("the machine has ended: %w", p.err)
	default:
		return nil
	}
}

// End lets the guardian end what it guards, and waits for that.
func (p *Process) End(ctx context.Context) error {
	_ = p.hold.Close()
	select {
	case <-p.done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
