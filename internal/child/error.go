package child

import (
	"errors"
	"fmt"
	"os/exec"
	"syscall"
	"time"
)

// Error is the failure of a child.
type Error struct {
	Argv     []string
	Dir      string
	ExitCode int // -1 when it did not start or was ended by a signal
	Duration time.Duration
	Stderr   string // its last lines, and those before them that name an error
	Said     string // all of its errors that was kept, which is more than is shown
	Stopped  error  // why we asked it to stop, nil when we did not
	Err      error
}

// Error names the program and why it ended; its last words follow on lines of
// their own.
func (e *Error) Error() string {
	text := fmt.Sprintf("run %s: %v", e.Argv[0], e.Err)
	if e.Stopped != nil && !errors.Is(e.Err, e.Stopped) {
		text += fmt.Sprintf(" (stopped: %v)", e.Stopped)
	}
	if e.Stderr != "" {
		text += "\n" + e.Stderr
	}
	return text
}

// Unwrap gives the cause, and the reason of our own stop beside it.
func (e *Error) Unwrap() []error {
	if e.Stopped == nil {
		return []error{e.Err}
	}
	return []error{e.Err, e.Stopped}
}

// NotFound tells whether the program itself is missing.
func (e *Error) NotFound() bool { return errors.Is(e.Err, exec.ErrNotFound) }

// Killed tells whether somebody else than we killed the child (SIGKILL). On Linux
// that is how the kernel ends a process when memory runs out. A shell, or another
// program that stands for the child, gives 137 then.
func (e *Error) Killed() bool {
	if e.Stopped != nil {
		return false
	}
	const byProxy = 128 + int(syscall.SIGKILL)
	if exit, ok := errors.AsType[*exec.ExitError](e.Err); ok {
		status, ok := exit.Sys().(syscall.WaitStatus)
		return ok && status.Signaled() && status.Signal() == syscall.SIGKILL || e.ExitCode == byProxy
	}
	return e.ExitCode == byProxy
}

// Killed finds a child that was killed in an error.
func Killed(err error) bool {
	failure, ok := errors.AsType[*Error](err)
	return ok && failure.Killed()
}
