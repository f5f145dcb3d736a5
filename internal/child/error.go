package child

import (
	"errors"
	"fmt"
	"os/exec"
	"time"
)

// Error is the failure of a child.
type Error struct {
	Argv     []string
	Dir      string
	ExitCode int // -1 when it did not start or was ended by a signal
	Duration time.Duration
	Stderr   string // its last lines
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
