package remote

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"
)

// slots keeps count of the sessions of a connection. How many a server allows
// (MaxSessions) only its refusals tell: whoever is refused while sessions of
// ours are open waits until one of them ends.
type slots struct {
	mu    sync.Mutex
	taken int
	used  bool          // there was a session before
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
	s.used = true
	s.wake()
}

// refuse gives a slot back that came to nothing. It tells how many others are
// taken, and whether any was given back before. Others that wait are woken only when there is
// nothing left to wait for.
func (s *slots) refuse() (others int, used bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken--
	if s.taken == 0 {
		s.wake()
	}
	return s.taken, s.used
}

func (s *slots) wake() {
	close(s.freed)
	s.freed = make(chan struct{})
}

// sshd gives the place of an ended session free some time after we know of the
// end, and refuses a new one until then.
const (
	lingers     = 20 * time.Millisecond
	lingersMost = 25 // times
)

// session opens a session. Whoever gets one gives its slot back with
// c.sessions.release.
func (c *Conn) session(ctx context.Context) (*ssh.Session, error) {
	refusals := 0
	for {
		var again <-chan time.Time
		freed := c.sessions.take()
		session, err := c.newSession(ctx)
		if err == nil {
			return session, nil
		}
		others, used := c.sessions.refuse()
		var refused *ssh.OpenChannelError
		switch {
		case ctx.Err() != nil:
			return nil, fmt.Errorf("open session on %s: %w", c, context.Cause(ctx))
		case !errors.As(err, &refused):
			return nil, c.contact("open session on", err)
		case others == 0 && used && refusals < lingersMost:
			refusals++
			freed, again = nil, time.After(lingers)
		case others == 0:
			return nil, &Error{
				Class: SessionRefused, Op: "open session on", Host: c.String(),
				Err:  fmt.Errorf("session refused: %w", err),
				Hint: "the server allows none at all over this connection: see MaxSessions in its sshd_config",
			}
		}
		select {
		case <-freed:
		case <-again:
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
