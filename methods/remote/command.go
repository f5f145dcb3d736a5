package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"

	"fediversity.eu/slipway/internal/bounded"
)

// DefaultGrace is how long a command may take to stop when it was asked to.
const DefaultGrace = 10 * time.Second

// scriptMax bounds script and arguments together; data belongs into the input.
const scriptMax = 1 << 20

// Command describes one run of a script on a machine.
type Command struct {
	// Script is text for the machine's sh, whatever the login shell is. It is in
	// no process list there, and neither are the Args; but beware of its own
	// commands' arguments.
	Script string
	Args   []string // the script's $1, $2, …

	Stdin  io.Reader // nil means no input; one that fails stops the command
	Stdout io.Writer // nil means discarded; gets the bytes as they are
	Stderr io.Writer // nil means kept for the error only

	Root  bool          // run as root, through sudo where the login is another
	Grace time.Duration // how long it may take to stop; 0 means DefaultGrace
}

// Run runs a command to its end. The error is nil when it exited 0, an
// *ExitError when it ended otherwise, an ErrLost when nobody knows how it ended,
// and another *Error when it was never started. A process that the command
// leaves behind with its output open keeps Run waiting, as it does with ssh.
//
// When ctx ends, the command is asked to stop (TERM to its process group),
// killed when its grace is over, and the error wraps the context's cause. The
// same happens on the machine when contact is lost, as soon as its sshd knows.
func (c *Conn) Run(ctx context.Context, cmd Command) error {
	if err := cmd.check(); err != nil {
		return fmt.Errorf("run on %s: %w", c, err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	session, err := c.session(ctx)
	if err != nil {
		return err
	}
	defer c.sessions.release()
	defer func() { _ = session.Close() }()

	r := &running{conn: c, cmd: cmd, session: session, ended: make(chan error, 1)}
	if err := r.start(cancel); err != nil {
		return err
	}
	defer r.feed.stop()
	select {
	case err = <-r.ended:
	case <-ctx.Done():
		return r.cancelled(ctx)
	}
	if ctx.Err() != nil { // a stream failed, and the command ended with it
		return fmt.Errorf("run on %s: %w", c, context.Cause(ctx))
	}
	return r.result(err)
}

// OutputLimit is how much of a command's output is kept where it is read whole: far
// above what any script of ours has a machine print. A command that writes more is
// ended.
const OutputLimit = 64 << 20

// Output runs a script and returns what it wrote to its standard output, also
// together with an error.
func (c *Conn) Output(ctx context.Context, script string, args ...string) ([]byte, error) {
	out := bounded.Buffer{Limit: OutputLimit}
	err := c.Run(ctx, Command{Script: script, Args: args, Stdout: &out})
	return out.Bytes(), err
}

func (cmd Command) check() error {
	size := 0
	for _, text := range append([]string{cmd.Script}, cmd.Args...) {
		size += len(text)
		if strings.ContainsRune(text, 0) {
			return errors.New("a script and its arguments hold no NUL: hand such bytes over as input")
		}
	}
	if size > scriptMax {
		return fmt.Errorf("script and arguments of %d bytes are above the %d allowed: hand data over as input", size, scriptMax)
	}
	return nil
}

func (cmd Command) grace() time.Duration {
	if cmd.Grace > 0 {
		return cmd.Grace
	}
	return DefaultGrace
}

// running is a command in its session.
type running struct {
	conn    *Conn
	cmd     Command
	session *ssh.Session
	feed    *feed
	out     *output
	err     *output
	ended   chan error
}

func (r *running) start(cancel context.CancelCauseFunc) error {
	tokens := []string{newToken()}
	frames := []string{wrapper(r.cmd.Script, r.cmd.Args, r.cmd.grace(), r.cmd.Stdin != nil)}
	if r.cmd.Root {
		tokens = append(tokens, newToken())
		frames = append([]string{elevate(tokens[1])}, frames...)
	}
	r.out = &output{writing: new(sync.Mutex), to: r.cmd.Stdout, cut: cutter{tokens: tokens}}
	r.err = &output{writing: new(sync.Mutex), to: r.cmd.Stderr, cut: cutter{tokens: tokens}}
	if sameWriter(r.cmd.Stdout, r.cmd.Stderr) {
		r.err.writing = r.out.writing
	}
	r.out.failed = func(err error) { cancel(fmt.Errorf("write output: %w", err)) }
	r.err.failed = r.out.failed
	r.session.Stdout, r.session.Stderr = r.out, r.err
	input, err := r.session.StdinPipe()
	if err != nil {
		return fmt.Errorf("run on %s: %w", r.conn, err)
	}
	if err := r.session.Start(commandLine(tokens[0])); err != nil {
		if errors.Is(err, io.EOF) {
			return r.conn.contact("run on", err)
		}
		// The library's text repeats our line, which says nothing to anybody.
		return &Error{
			Class: ShellRefused, Op: "run on", Host: r.conn.String(),
			Err: errors.New("the server does not let this login run commands"),
		}
	}
	r.feed = newFeed(input, frames, r.cmd.Stdin, func(err error) { cancel(err) })
	go func() { r.ended <- r.session.Wait() }()
	return nil
}

// result is the error for a session that ended by itself.
func (r *running) result(err error) error {
	var exit *ssh.ExitError
	if err != nil && !errors.As(err, &exit) {
		return r.conn.contact("run on", err)
	}
	if missing, _ := r.out.state(); missing > 0 {
		return r.neverStarted(missing, exit)
	}
	if exit == nil {
		return nil
	}
	failure := &ExitError{Host: r.conn.String(), Status: exit.ExitStatus(), Signal: exit.Signal(), Stderr: r.err.lastWords()}
	if failure.Signal != "" {
		failure.Status = -1
	}
	return failure
}

// neverStarted explains a session that ended before the command began.
func (r *running) neverStarted(missing int, exit *ssh.ExitError) error {
	how := "exit status 0"
	if exit != nil {
		how = fmt.Sprintf("exit status %d", exit.ExitStatus())
		if exit.Signal() != "" {
			how = "signal " + exit.Signal()
		}
	}
	said := strings.TrimSpace(r.out.noise() + "\n" + r.err.noise())
	if said == "" {
		said = "nothing"
	} else {
		said = strconv.Quote(said)
	}
	user := r.conn.last().user
	e := &Error{Op: "run on", Host: r.conn.String()}
	if r.cmd.Root && missing == 1 {
		e.Class = SudoRefused
		e.Err = fmt.Errorf("sudo refuses %s: it said %s and ended with %s", user, said, how)
		e.Hint = fmt.Sprintf("log in as root, or let %s use sudo without a password: %s ALL=(root) NOPASSWD: ALL", user, user)
		return e
	}
	e.Class = ShellRefused
	e.Err = fmt.Errorf("the login shell of %s refuses commands: it said %s and ended with %s", user, said, how)
	e.Hint = "give " + user + " a login shell that runs commands, or log in as another user"
	return e
}

// sameWriter tells whether two writers are one, as for a common buffer.
func sameWriter(a, b io.Writer) bool {
	defer func() { _ = recover() }() // of types that can't be compared
	return a != nil && a == b
}
