package remote

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"golang.org/x/crypto/ssh"
)

// slots keeps count of the sessions of a connection. How many a server allows
// (MaxSessions) only its refusals tell: whoever is refused while sessions of
// ours are open waits until one of them ends.
type slots struct {
	mu    sync.Mutex
	taken int
	freed chan struct{} // closed, and made anew, when a slot is given back
}

func (s *slots) take() (freed <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.freed == nil {
		s.freed = make(chan struct{})
	}
	s.taken++
	return s.freed
}

// release gives the slot of a session back and wakes whoever waits for one.
func (s *slots) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken--
	s.wake()
}

// refuse gives a slot back that came to nothing, and tells how many others are
// taken. Others that wait are woken only when there is nothing left to wait for.
func (s *slots) refuse() (others int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken--
	if s.taken == 0 {
		s.wake()
	}
	return s.taken
}

func (s *slots) wake() {
	close(s.freed)
	s.freed = make(chan struct{})
}

// session opens a session. Whoever gets one gives its slot back with
// c.sessions.release.
func (c *Conn) session(ctx context.Context) (*ssh.Session, error) {
	for {
		freed := c.sessions.take()
		session, err := c.newSession(ctx)
		if err == nil {
			return session, nil
		}
		others := c.sessions.refuse()
		var refused *ssh.OpenChannelError
		switch {
		case ctx.Err() != nil:
			return nil, fmt.Errorf("open session on %s: %w", c, context.Cause(ctx))
		case !errors.As(err, &refused):
			return nil, c.contact("open session on", err)
		case others == 0:
			return nil, &Error{
				Class: SessionRefused, Op: "open session on", Host: c.String(),
				Err:  fmt.Errorf("session refused: %w", err),
				Hint: "the server allows none at all over this connection: see MaxSessions in its sshd_config",
			}
		}
		select {
		case <-freed:
		case <-ctx.Done():
			return nil, fmt.Errorf("open session on %s: the server allows no more than the %d now open (MaxSessions): %w",
				c, others, context.Cause(ctx))
		case <-c.ended:
		}
	}
}

// newSession is the library's, but ends with the context.
func (c *Conn) newSession(ctx context.Context) (*ssh.Session, error) {
	type result struct {
		session *ssh.Session
		err     error
	}
	opened := make(chan result, 1)
	go func() {
		s, err := c.last().client.NewSession()
		opened <- result{s, err}
	}()
	select {
	case r := <-opened:
		return r.session, r.err
	case <-ctx.Done():
		go func() {
			if r := <-opened; r.err == nil {
				_ = r.session.Close()
			}
		}()
		return nil, ctx.Err()
	}
}
