package guest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	_ "embed"

	"fediversity.eu/slipway/internal/child"
)

// A guardian is a shell that starts a guest and reads its own standard input, a
// pipe whose other end only we hold. The kernel closes that end when we are
// gone, in whatever way, and the guardian then ends the guest.
var (
	//go:embed guardian-vm.sh
	guardVM string
	//go:embed guardian-container.sh
	guardContainer string
)

// process is a guardian with its guest.
type process struct {
	hold *os.File      // our end of the pipe
	done chan struct{} // closed when guardian and guest are gone
	err  error         // how the guardian ended; to be read after done
}

// guard starts a guardian in dir, whose program and first arguments are given
// by argv.
func guard(ctx context.Context, dir string, argv ...string) (*process, error) {
	input, hold, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	p := &process{hold: hold, done: make(chan struct{})}
	command := child.Command{Path: argv[0], Args: argv[1:], Dir: dir, Env: environment(), Stdin: input}
	go func() {
		// A guest outlives the context that it was booted under.
		p.err = command.Run(context.WithoutCancel(ctx))
		_ = input.Close()
		close(p.done)
	}()
	return p, nil
}

// alive is nil while the guardian runs.
func (p *process) alive() error {
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

// end lets the guardian end the guest, and waits for that.
func (p *process) end(ctx context.Context) error {
	_ = p.hold.Close()
	select {
	case <-p.done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// environment is all that a guest's tools are told.
func environment() []string {
	return []string{
		"HOME=/", "LC_ALL=C.UTF-8", "SYSTEMD_NSPAWN_UNIFIED_HIERARCHY=1",
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
	}
}

// say writes a line for a person; nobody to read it is no error.
func say(log io.Writer, format string, args ...any) {
	_, _ = fmt.Fprintf(log, format+"\n", args...)
}

// took tells how long a step took.
func took(log io.Writer, what string, started time.Time) {
	say(log, "%s in %.1f s", what, time.Since(started).Seconds())
}

// withConsole adds to an error what the machine in dir said.
func withConsole(err error, dir string) error {
	if text := console(dir); text != "" {
		return fmt.Errorf("%w\n%s", err, text)
	}
	return err
}
