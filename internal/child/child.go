// Package child runs the programs of others: built from scratch, stopped as a
// group, waited for within bounds.
//
// A Command says everything about a child, and inherits nothing: environment,
// directory and streams are what the Command names. Every child leads a process
// group of its own. When the context ends, the group is asked to stop, has
// Grace to do so, and is then killed; what it leaves behind in its group, and
// who descended from it when it was asked, is killed as soon as it is gone.
package child

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"

	"fediversity.eu/slipway/internal/bounded"
	"fediversity.eu/slipway/internal/tail"
)

// Command describes one run of another program.
type Command struct {
	Path   string        // the program: absolute, or looked up on the PATH of Env
	Args   []string      // its arguments, without its name; never a secret
	Env    []string      // its whole environment, "KEY=value"
	Dir    string        // its directory; empty means the root, which depends on nobody
	Stdin  io.Reader     // nil means no input
	Stdout io.Writer     // nil means discarded; a write that fails ends nothing
	Stderr io.Writer     // nil means kept for the error only; the same as Stdout is written to by one at a time
	Signal os.Signal     // what asks it to stop; nil means SIGTERM
	Grace  time.Duration // how long it may take to stop; 0 means DefaultGrace
	Again  time.Duration // how often it is asked until it stops; 0 means once, for those whom a second request forces
	Drain  time.Duration // how long Stdout may take what it wrote before its end; 0 means Grace

	// Signals are handed on to the child alone, one by one, for as long as it
	// runs. SIGKILL goes to its whole group.
	Signals <-chan syscall.Signal
	// Started is told the number of the process as soon as there is one.
	Started func(pid int)
	// Orphan is what the child gets when this process dies before it. 0 means
	// nothing: it lives on. Linux alone can do it.
	Orphan syscall.Signal
}

// DefaultGrace is how long a child may take to stop when it was asked to.
const DefaultGrace = 10 * time.Second

// Run runs the child to its end. The error is nil when it exited 0 by itself,
// and an *Error otherwise; a child that exits 0 after it was asked to stop is
// an *Error with ExitCode 0 and the context's cause.
func (c Command) Run(ctx context.Context) error {
	started := time.Now()
	var words tail.Tail
	var left family
	ended, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	cmd, err := c.build(ctx, ended, &words, &left)
	if err != nil {
		return c.failed(started, &words, -1, err, nil)
	}
	if c.Orphan != 0 {
		// The kernel sends it when the thread that started the child ends.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
	}
	if err = cmd.Start(); err == nil {
		if c.Started != nil {
			c.Started(cmd.Process.Pid)
		}
		go c.handOn(ended, cmd.Process.Pid)
		forget := remember(cmd.Process.Pid, &left)
		err = cmd.Wait()
		forget()
		end()
	}
	if cmd.Process != nil {
		// Whatever is left in the group holds our files and knows nobody to
		// report to any more.
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
	left.end()
	var stopped error
	if ctx.Err() != nil {
		stopped = context.Cause(ctx)
	}
	if err == nil && stopped == nil {
		return nil
	}
	code := -1
	if cmd.ProcessState != nil {
		code = cmd.ProcessState.ExitCode()
	}
	if err == nil && code == 0 {
		err = stopped
	}
	return c.failed(started, &words, code, err, stopped)
}

// outputLimit is far above what any program that we read writes: a closure, a state.
const outputLimit = 256 << 20

// Output runs the child and returns what it wrote to its standard output. One that
// writes without end is stopped. What
// was written before a failure is returned together with the error.
func (c Command) Output(ctx context.Context) ([]byte, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	out := bounded.Buffer{Limit: outputLimit, Full: cancel}
	c.Stdout = &out
	err := c.Run(ctx)
	return out.Bytes(), err
}

func (c Command) build(ctx, ended context.Context, words *tail.Tail, left *family) (*exec.Cmd, error) {
	path, err := Find(c.Path, c.Env)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, path, c.Args...)
	cmd.Env = append([]string{}, c.Env...) // never nil: nil would inherit ours
	cmd.Dir = c.Dir
	if cmd.Dir == "" {
		cmd.Dir = "/"
	}
	cmd.Stdin = c.Stdin
	cmd.Stdout, cmd.Stderr = c.sinks(words)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if c.Orphan != 0 {
		orphaned(cmd.SysProcAttr, c.Orphan)
	}
	stop, ok := c.Signal.(syscall.Signal)
	if !ok {
		stop = syscall.SIGTERM
	}
	grace := c.Grace
	if grace == 0 {
		grace = DefaultGrace
	}
	cmd.Cancel = func() error {
		// Told when it does not listen. The group may be gone by then, and its
		// number is not given anew while a member of it is not waited for.
		kill := time.AfterFunc(grace, func() { _ = cmd.Process.Kill() })
		context.AfterFunc(ended, func() { kill.Stop() })
		left.note(cmd.Process.Pid)
		if c.Again > 0 {
			go c.ask(ended, cmd.Process.Pid, stop, left)
		}
		err := syscall.Kill(-cmd.Process.Pid, stop)
		if errors.Is(err, syscall.ESRCH) {
			return os.ErrProcessDone
		}
		return err
	}
	cmd.WaitDelay = max(grace, c.Drain)
	return cmd, nil
}

// ask repeats a request to stop until the child has ended: one that comes in the
// moment before a child begins to wait for something else may go unheard.
func (c Command) ask(ended context.Context, group int, stop syscall.Signal, left *family) {
	again := time.NewTicker(c.Again)
	defer again.Stop()
	for {
		select {
		case <-ended.Done():
			return
		case <-again.C:
			left.note(group)
			_ = syscall.Kill(-group, stop) // the group is there until the child is waited for
		}
	}
}

// handOn gives the child its signals.
func (c Command) handOn(ended context.Context, pid int) {
	for {
		select {
		case <-ended.Done():
			return
		case s, ok := <-c.Signals:
			if !ok {
				return
			}
			whom := pid
			if s == syscall.SIGKILL {
				whom = -pid
			}
			_ = syscall.Kill(whom, s)
		}
	}
}

func (c Command) failed(started time.Time, words *tail.Tail, code int, err, stopped error) *Error {
	return &Error{
		Argv: append([]string{c.Path}, c.Args...), Dir: c.Dir, ExitCode: code,
		Duration: time.Since(started), Stderr: words.String(), Said: words.All(), Stopped: stopped, Err: err,
	}
}

// sinks are what takes the child's output and what takes its errors.
func (c Command) sinks(words *tail.Tail) (out, errs *sink) {
	out = &sink{mu: new(sync.Mutex), to: c.Stdout}
	errs = &sink{mu: new(sync.Mutex), to: c.Stderr, also: words}
	if sameWriter(c.Stdout, c.Stderr) {
		errs.mu = out.mu
	}
	return out, errs
}

// sameWriter tells whether two writers are one, as for a common buffer.
func sameWriter(a, b io.Writer) bool {
	defer func() { _ = recover() }() // of types that can't be compared
	return a != nil && a == b
}

// sink hands bytes on and never fails: a reader that went away must not block
// or kill the child that writes.
type sink struct {
	mu     *sync.Mutex
	to     io.Writer
	also   *tail.Tail
	broken bool
}

func (s *sink) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.also != nil {
		_, _ = s.also.Write(p)
	}
	if s.to != nil && !s.broken {
		_, err := s.to.Write(p)
		s.broken = err != nil
	}
	return len(p), nil
}
