package report

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"

	"fediversity.eu/slipway/internal/plaintext"
)

// Code is the exit code of a run, the same from mage, from the binary and from
// a link of a program's name.
type Code int

// The exit codes.
const (
	Healthy      Code = 0   // healthy, or done
	Failed       Code = 1   // failed
	Usage        Code = 2   // unknown program or bad coordinates; nothing was started
	Unhealthy    Code = 3   // deployed, but unhealthy
	Refused      Code = 4   // refused; nothing was changed
	Unknown      Code = 5   // unknown: contact was lost
	RebootNeeded Code = 6   // the new system needs a reboot
	Busy         Code = 75  // somebody else is at it; try later
	Interrupted  Code = 130 // ended by SIGINT
	Terminated   Code = 143 // ended by SIGTERM or SIGHUP
)

var meanings = map[Code]string{
	Healthy: "healthy", Failed: "failed", Usage: "not started", Unhealthy: "unhealthy",
	Refused: "refused", Unknown: "unknown", RebootNeeded: "reboot needed", Busy: "busy",
	Interrupted: "interrupted", Terminated: "terminated",
}

// String says the code in a word or two.
func (c Code) String() string {
	if text, ok := meanings[c]; ok {
		return text
	}
	return fmt.Sprintf("exit %d", int(c))
}

// severity orders the codes for aggregates, worst first. An interruption
// stands before all: whatever else was found, the run is not complete.
var severity = []Code{
	Terminated, Interrupted, Failed, Usage, Unhealthy, Unknown, Refused, Busy, RebootNeeded, Healthy,
}

// Worst gives the code of an aggregate: the worst of its members' codes, in the
// order failed, unhealthy, unknown, refused, busy, reboot needed, healthy.
func Worst(codes ...Code) Code {
	worst := Healthy
	rank := func(c Code) int {
		if i := slices.Index(severity, c); i >= 0 {
			return i
		}
		return slices.Index(severity, Failed)
	}
	for _, c := range codes {
		if rank(c) < rank(worst) {
			worst = c
		}
	}
	return worst
}

// CodeOf decides the exit code of an error: that of the first Fault in it, that
// of an interruption, and otherwise Failed. It is the only place where error
// kinds become exit codes.
func CodeOf(err error) Code {
	if err == nil {
		return Healthy
	}
	if stop, ok := errors.AsType[*Interruption](err); ok {
		return stop.Code()
	}
	if exit, ok := errors.AsType[*Exit](err); ok {
		return exit.Code
	}
	if fault, ok := errors.AsType[*Fault](err); ok {
		return fault.Code
	}
	if errors.Is(err, context.Canceled) {
		return Interrupted
	}
	return Failed
}

// Exit is the error that a target returns. It says its own exit code, because
// Mage asks only the outermost error for one.
type Exit struct { //nolint:errname // it is an exit code first
	Code Code
	Err  error
	Told bool // the events of the run say it already
}

// Wrap makes the error of a target from the error of a run; nil stays nil.
func Wrap(err error) error {
	if err == nil {
		return nil
	}
	if exit, ok := err.(*Exit); ok { //nolint:errorlint // the outermost
		return exit
	}
	return &Exit{Code: CodeOf(err), Err: err}
}

// Told tells whether the events of the run say the error already.
func Told(err error) bool {
	exit, ok := errors.AsType[*Exit](err)
	return ok && exit.Told
}

// Error is the text of the error within, fit to be shown: Mage prints it as it is.
func (e *Exit) Error() string { return plaintext.ShownLines(e.Err.Error()) }

// Unwrap gives the error within.
func (e *Exit) Unwrap() error { return e.Err }

// ExitStatus is what Mage asks for.
func (e *Exit) ExitStatus() int { return int(e.Code) }

// Interruption is the cause of a context that a signal ended.
type Interruption struct{ Signal os.Signal } //nolint:errname // it reads as what it is

// Error names the signal.
func (i *Interruption) Error() string {
	switch i.Signal {
	case syscall.SIGTERM:
		return "stopped by SIGTERM"
	case syscall.SIGHUP:
		return "stopped by SIGHUP"
	}
	return "stopped by SIGINT"
}

// Code is 128 and the signal's number; that of SIGTERM for SIGHUP.
func (i *Interruption) Code() Code {
	if i.Signal == syscall.SIGTERM || i.Signal == syscall.SIGHUP {
		return Terminated
	}
	return Interrupted
}
