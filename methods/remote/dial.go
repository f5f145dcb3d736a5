package remote

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/crypto/ssh"
)

// link is the connection to one hop.
type link struct {
	user      string
	where     string
	transport *heard
	client    *ssh.Client
}

// heard is a connection that knows when the other side was last heard of.
type heard struct {
	net.Conn
	made time.Time
	last atomic.Int64 // since made
}

func (h *heard) Read(p []byte) (int, error) {
	n, err := h.Conn.Read(p)
	if n > 0 {
		h.last.Store(int64(time.Since(h.made)))
	}
	return n, err
}

// silence is how long the other side has said nothing.
func (h *heard) silence() time.Duration { return time.Since(h.made) - time.Duration(h.last.Load()) }

// dialer makes the connection to one hop.
type dialer struct {
	stop    stop
	via     []*link // the hops before it
	login   *login
	timeout time.Duration
}

// What a hop is busy with, for the message when it takes too long.
const (
	connecting     = "connecting"
	shakingHands   = "waiting for the ssh handshake (the port is open)"
	authenticating = "logging in"
)

func (d dialer) dial(ctx context.Context) (*link, error) {
	l, err := d.attempt(ctx, d.stop.keys.algorithms(), d.stop.keys.check)
	var mismatch *ssh.AlgorithmNegotiationError
	if errors.As(err, &mismatch) && strings.Contains(mismatch.What, "host key") {
		// It has no key of the declared types. A second look, at whatever it
		// shows, ends at the key check and is only there to say what it has.
		_, second := d.attempt(ctx, everyAlgorithm(), d.stop.keys.check)
		if second != nil {
			err = second
		}
	}
	if err != nil {
		return nil, err
	}
	return l, nil
}

// attempt connects, checks the host key and logs in, within the limit.
func (d dialer) attempt(parent context.Context, algorithms []string, check ssh.HostKeyCallback) (*link, error) {
	var doing atomic.Value
	doing.Store(connecting)
	ctx, cancel := context.WithTimeout(parent, d.timeout)
	defer cancel()
	started, heardOf := time.Now(), &greeting{}
	fail := func(classed func(error) error, err error) error {
		switch {
		case parent.Err() != nil:
			return &Error{Op: "reach", Host: d.stop.where, Err: context.Cause(parent)}
		case heardOf.stranger() != nil:
			return strangerAt(d.stop.where, heardOf.stranger())
		case ctx.Err() != nil:
			late := networkError(d.stop.where, d.timeout, &lateError{limit: d.timeout, doing: doing.Load().(string)})
			if doing.Load() == shakingHands && heardOf.silent() {
				late.Hint = "something accepts the connection and says nothing: is this the port of sshd? A machine that is too busy to answer does the same"
			}
			return late
		}
		return classed(err)
	}

	conn, err := d.connect(ctx)
	if err != nil {
		return nil, fail(func(err error) error { return networkError(d.stop.where, time.Since(started), err) }, err)
	}
	transport := &heard{Conn: greeted{conn, heardOf}, made: time.Now()}
	doing.Store(shakingHands)
	// Neither the handshake nor an agent's signature knows a context.
	release := context.AfterFunc(ctx, func() {
		_ = transport.Close()
		d.login.close()
	})
	defer release()
	if len(algorithms) == 0 {
		algorithms = everyAlgorithm() // nothing is declared: the check will say so
	}
	config := &ssh.ClientConfig{
		User: d.stop.User,
		Auth: []ssh.AuthMethod{ssh.PublicKeys(d.login.signers...)},
		HostKeyCallback: func(host string, addr net.Addr, key ssh.PublicKey) error {
			err := check(host, addr, key)
			if err == nil {
				doing.Store(authenticating)
			}
			return err
		},
		HostKeyAlgorithms: algorithms,
	}
	c, channels, requests, err := ssh.NewClientConn(transport, d.stop.Address(), config)
	if err == nil && !release() {
		err = ctx.Err() // the limit struck between the login and here
	}
	if err != nil {
		_ = transport.Close()
		return nil, fail(func(err error) error { return d.handshakeError(doing.Load().(string), heardOf.silent(), err) }, err)
	}
	return &link{user: d.stop.User, where: d.stop.where, transport: transport, client: ssh.NewClient(c, channels, requests)}, nil
}

func (d dialer) connect(ctx context.Context) (net.Conn, error) {
	if len(d.via) > 0 {
		return d.via[len(d.via)-1].client.DialContext(ctx, "tcp", d.stop.Address())
	}
	var direct net.Dialer
	return direct.DialContext(ctx, "tcp", d.stop.Address())
}

// handshakeError classes what went wrong once there was a connection.
func (d dialer) handshakeError(doing string, silent bool, err error) error {
	if known, ok := errors.AsType[*Error](err); ok { // from the host key check
		known.Host = d.stop.where
		return known
	}
	e := &Error{Class: HandshakeFailed, Op: "reach", Host: d.stop.where, Err: err}
	text := err.Error()
	// The library has no type for a refused login, and the protocol's
	// "too many failures" is an ordinary disconnect.
	tooMany := strings.Contains(text, "disconnect, reason 2") || strings.Contains(text, "disconnect, reason 14")
	if doing == authenticating && (tooMany || strings.Contains(text, "unable to authenticate")) {
		e.Class, e.Err, e.Hint = Unauthenticated, d.login.refused(d.stop.User, err), d.login.hint(d.stop.User, tooMany)
	}
	if silent {
		e.Err = fmt.Errorf("it closed the connection before it said anything: %w", err)
		e.Hint = "an sshd with too many logins under way (MaxStartups), or that lets nobody in from here, does so; is the port right?"
	}
	return e
}
