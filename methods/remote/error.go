package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"time"

	"golang.org/x/crypto/ssh"
)

// ErrLost tells that contact with a machine was lost after it had been made,
// so that nobody knows what became of the command: errors.Is(err, ErrLost).
var ErrLost = errors.New("contact lost")

// Class is the kind of a failure to reach a machine or to start a command on it.
type Class int

// The classes.
const (
	Unresolved        Class = iota + 1 // the name has no address
	ConnectionRefused                  // the host answers, the port does not
	Unreachable                        // no way there, or no answer in time
	HandshakeFailed                    // connected, but no ssh came of it
	HostKeyUnknown                     // no host key is declared
	HostKeyChanged                     // another key of a declared type
	HostKeyWrongType                   // keys of other types than declared
	HostKeyRevoked                     // a key declared as revoked
	Unauthenticated                    // the login was refused
	SessionRefused                     // logged in, but no (further) session
	ForwardRefused                     // a jump host does not pass connections on
	ShellRefused                       // the login shell runs no commands
	SudoRefused                        // no root for this user without a password
	Lost                               // contact lost, see ErrLost
)

// String is the class in words.
func (c Class) String() string {
	names := [...]string{
		"no contact", "name not resolved", "connection refused", "unreachable", "handshake failed",
		"host key unknown", "host key changed", "host key of another type", "host key revoked",
		"login refused", "session refused", "forwarding refused", "login shell refuses", "sudo refuses",
		"contact lost",
	}
	if c < 0 || int(c) >= len(names) {
		return fmt.Sprintf("class %d", int(c))
	}
	return names[c]
}

// Error is a failure to reach a machine or to start a command on it.
type Error struct {
	Class Class
	Op    string // what was tried
	Host  string // the hop at which it failed, user@host:port
	Hint  string // what to do, where we know
	Err   error
}

// Error says what was tried, where, and why it failed.
func (e *Error) Error() string { return fmt.Sprintf("%s %s: %v", e.Op, e.Host, e.Err) }

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is makes an error of class Lost an ErrLost.
func (e *Error) Is(target error) bool { return target == ErrLost && e.Class == Lost }

// ExitError is a command that ran on a machine and did not end well.
type ExitError struct {
	Host   string
	Status int    // exit status; -1 when a signal ended it
	Signal string // name without SIG, empty when it exited
	Stderr string // its last lines
}

// Error gives the status; the command's last words follow on lines of their own.
func (e *ExitError) Error() string {
	text := fmt.Sprintf("run on %s: exit status %d", e.Host, e.Status)
	if e.Signal != "" {
		text = fmt.Sprintf("run on %s: ended by signal %s", e.Host, e.Signal)
	}
	if e.Stderr != "" {
		text += "\n" + e.Stderr
	}
	return text
}

func lost(op, host string, err error) *Error {
	switch {
	case err == nil, errors.Is(err, io.EOF):
		err = errors.New("contact lost: the other side closed the connection")
	case errors.As(err, new(*ssh.ExitMissingError)):
		err = errors.New("contact lost: the session ended without an exit status")
	default:
		err = fmt.Errorf("contact lost: %w", err)
	}
	return &Error{Class: Lost, Op: op, Host: host, Err: err}
}

// networkError classes a failure to get a connection to a hop.
func networkError(where string, waited time.Duration, err error) *Error {
	e := &Error{Class: Unreachable, Op: "reach", Host: where, Err: err}
	var name *net.DNSError
	var late *lateError
	var refused *ssh.OpenChannelError
	switch {
	case errors.As(err, &late):
		// It has said everything.
	case errors.As(err, &refused):
		return forwardError("reach", where, refused)
	case errors.As(err, &name):
		e.Class, e.Err = Unresolved, fmt.Errorf("name not resolved: %w", err)
	case errors.Is(err, syscall.ECONNREFUSED):
		e.Class, e.Err = ConnectionRefused, &refusedError{err}
		e.Hint = "the host is there, but nothing listens on this port: is sshd running, is the port right?"
	default:
		e.Err = fmt.Errorf("unreachable after %s: %w", round(waited), err)
	}
	return e
}

// strangerAt is a port at which something else than an SSH server speaks.
func strangerAt(where string, err error) *Error {
	e := &Error{
		Class: HandshakeFailed, Op: "reach", Host: where, Err: err,
		Hint: "another service listens there: is the port right?",
	}
	if _, ok := errors.AsType[*turnedAwayError](err); ok {
		e.Hint = "it does so with too many logins under way (MaxStartups), or after several that failed (PerSourcePenalties): try again in a while"
	}
	return e
}

// refusedError is a port at which nothing listens. The system's own text would say
// again that the connection was refused.
type refusedError struct{ err error }

func (e *refusedError) Error() string {
	if op, ok := errors.AsType[*net.OpError](e.err); ok && op.Addr != nil {
		return "connection refused: nothing listens at " + op.Addr.String()
	}
	return "connection refused: nothing listens there"
}

func (e *refusedError) Unwrap() error { return e.err }

// forwardError classes what a server said when it was to connect further. The
// protocol has two reasons for it; which of the network's troubles it was, only
// the text can tell (that of OpenSSH is the resolver's or the system's).
func forwardError(op, where string, err *ssh.OpenChannelError) *Error {
	said := strings.ToLower(err.Message)
	e := &Error{Op: op, Host: where, Err: fmt.Errorf("from the hop before: %w", err)}
	switch {
	case err.Reason == ssh.Prohibited:
		e.Class = ForwardRefused
		e.Hint = "allow TCP forwarding on the hop before (AllowTcpForwarding, PermitOpen)"
	case strings.Contains(said, "refused"):
		e.Class = ConnectionRefused
	case strings.Contains(said, "not known"), strings.Contains(said, "resolution"),
		strings.Contains(said, "unknown host"), strings.Contains(said, "no address"):
		e.Class = Unresolved
	default:
		e.Class = Unreachable
	}
	return e
}

// lateError is a wait for a hop that went past its limit.
type lateError struct {
	limit time.Duration
	doing string
}

func (e *lateError) Error() string {
	return fmt.Sprintf("no answer after %s, while %s", round(e.limit), e.doing)
}

// Unwrap makes it a deadline for whoever asks.
func (e *lateError) Unwrap() error { return context.DeadlineExceeded }

func round(d time.Duration) time.Duration {
	if d < time.Second {
		return d.Round(time.Millisecond)
	}
	return d.Round(100 * time.Millisecond)
}
