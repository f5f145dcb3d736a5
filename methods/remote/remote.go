// Package remote is a machine reached over ssh: dialled, over jump hosts where
// there are any, checked by its declared host keys, and then used for as many
// commands as needed over the one connection. It knows nothing of what the
// commands are for.
//
// Host keys come from the Target and from nowhere else, and are always checked.
// What goes wrong is an *Error whose Class tells the network from the host key,
// the login, the shell and the loss of contact, and which names the hop at
// which it happened; a command that ran and failed is an *ExitError. No wait is
// without a limit, and nothing ever prompts.
package remote

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/crypto/ssh"
)

// Limits that hold where a Target names none.
const (
	DefaultConnectTimeout = 15 * time.Second
	DefaultKeepAlive      = 15 * time.Second
)

// Target says which machine to reach, and how. Everything in it is a plain
// value: nothing is read from the environment or from files of the system.
type Target struct {
	Host     string   // name or address, see ParseHop for the forms
	Port     int      // 0 means 22
	User     string   // empty means root
	HostKeys []string // as in Hop

	Jumps []Hop // hosts on the way, the one that we dial first; Users default to the target's

	Keys        []ssh.Signer // private keys, offered in this order on every hop
	AgentSocket string       // path of an ssh-agent whose keys are offered after Keys
	// AgentKey is the one of the agent's keys that is offered before its others: that
	// of a private key that is declared and has a passphrase. nil means none.
	AgentKey ssh.PublicKey

	ConnectTimeout time.Duration // for each hop: name, connection, handshake and login together
	KeepAlive      time.Duration // silence after which the other side is asked for a sign of life
}

// Conn is a connection to a machine. It is safe for concurrent use, and every
// Run on it is a session of its own.
type Conn struct {
	target Target
	links  []*link // one a hop, the machine's own last
	notes  []string

	sessions slots
	interval atomic.Int64  // of the signs of life that are asked for
	ended    chan struct{} // closed when the connection is no more
	once     sync.Once
	cause    error // why it is no more; set before ended is closed
}

// Dial connects to a machine, hop by hop. Faults in the target itself are
// returned all at once; every other failure is an *Error, or wraps the cause of
// ctx when that ended first.
func Dial(ctx context.Context, t Target) (*Conn, error) {
	route, err := t.route()
	if err != nil {
		return nil, fmt.Errorf("target %s: %w", t.Host, err)
	}
	t = t.withDefaults()
	login, err := t.login(ctx)
	if err != nil {
		return nil, err
	}
	defer login.close()

	c := &Conn{target: t, notes: login.notes, ended: make(chan struct{})}
	for _, stop := range route {
		d := dialer{stop: stop, via: c.links, login: login, timeout: t.ConnectTimeout}
		l, err := d.dial(ctx)
		if err != nil {
			c.shut(err)
			return nil, err
		}
		c.links = append(c.links, l)
	}
	c.interval.Store(int64(t.KeepAlive))
	for i, l := range c.links {
		// The far hops are given a little longer, so that a hop that went
		// silent is blamed before those behind it.
		go c.keepAlive(l, i)
		go func() { c.shut(lost("reach", l.where, l.client.Wait())) }()
	}
	return c, nil
}

// String names the machine as errors do: user@host:port.
func (c *Conn) String() string { return c.last().where }

// Notes are remarks on how the connection came about that are no errors, such
// as an ssh-agent that did not answer while other keys were at hand.
func (c *Conn) Notes() []string { return append([]string(nil), c.notes...) }

// Done is closed when the connection is no more, by Close or by loss of contact.
func (c *Conn) Done() <-chan struct{} { return c.ended }

// Reconnect makes a new connection to the same target, over the same route and
// with the same keys. The old one stays as it is.
func (c *Conn) Reconnect(ctx context.Context) (*Conn, error) {
	again, err := Dial(ctx, c.target)
	if err == nil {
		again.interval.Store(c.interval.Load())
	}
	return again, err
}

// DialContext connects from the machine to an address that it can reach. The
// network is "tcp" or "unix".
func (c *Conn) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := c.last().client.DialContext(ctx, network, address)
	switch {
	case err == nil:
		return conn, nil
	case ctx.Err() != nil:
		return nil, fmt.Errorf("connect to %s through %s: %w", address, c, context.Cause(ctx))
	}
	var refused *ssh.OpenChannelError
	if !errors.As(err, &refused) {
		return nil, c.contact("connect to "+address+" through", err)
	}
	return nil, forwardError("connect to "+address+" through", c.String(), refused)
}

// Hasten makes loss of contact be noticed sooner from now on, also by the connections
// that follow this one, until Relax: sshd's answers must not queue behind much output
// then.
func (c *Conn) Hasten(interval time.Duration) {
	if interval < c.target.KeepAlive {
		c.interval.Store(int64(max(interval, time.Second)))
	}
}

// Relax takes back Hasten.
func (c *Conn) Relax() { c.interval.Store(int64(c.target.KeepAlive)) }

// Close ends the connection and all that runs over it. Commands that still run
// on the machine are told to stop, as when contact is lost.
func (c *Conn) Close() error {
	c.shut(fmt.Errorf("connection to %s: %w", c, net.ErrClosed))
	return nil
}

func (c *Conn) last() *link { return c.links[len(c.links)-1] }

// shut ends the connection for the reason given; the first reason stays.
func (c *Conn) shut(why error) {
	c.once.Do(func() {
		c.cause = why
		close(c.ended)
		// From the outside in: closing the first transport unblocks whatever
		// hangs in those that run through it.
		for _, l := range c.links {
			_ = l.transport.Close()
		}
	})
}

// contact explains a failure of the connection itself: the reason it ended for
// where it did end, and the failure as it is where it goes on.
func (c *Conn) contact(op string, err error) error {
	// A dead connection fails at once here, a live one answers.
	if _, _, dead := c.last().client.SendRequest(keepAliveRequest, true, nil); dead != nil {
		<-c.ended
		if known, ok := errors.AsType[*Error](c.cause); ok {
			return &Error{Class: known.Class, Op: op, Host: known.Host, Hint: known.Hint, Err: known.Err}
		}
		return c.cause
	}
	return lost(op, c.String(), err)
}
