package verdict

import (
	"context"
	"errors"
	"io"
	"net"
)

// Host is the machine that is judged, as root there sees it. An error that wraps
// ErrContact says that the machine could not be asked; any other one is the
// machine's answer.
type Host interface {
	// Output runs a script for sh and gives what it wrote to standard output.
	Output(ctx context.Context, script string, args ...string) ([]byte, error)
	// Attach runs a script with input and output connected, to its end.
	Attach(ctx context.Context, script string, in io.Reader, out io.Writer) error
	// DialContext connects from the machine to an address that it can reach.
	DialContext(ctx context.Context, network, address string) (net.Conn, error)
}

// ErrContact is the kind of error that says nothing about the machine: contact
// was lost, or the way to it refuses.
var ErrContact = errors.New("the machine could not be asked")
