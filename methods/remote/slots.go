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

// linger notes that sessions have ended whose places the server may not have freed.
func (s *slots) linger() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used = true
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
			return nil, c.sessionsRefused(fmt.Errorf("session refused: %w", err), "none at all")
		case used && refusals < lingersMost:
			refusals++
			again = time.After(lingers)
		}
		select {
		case <-freed:
		case <-again:
		case <-time.After(placeLimit):
			return nil, c.sessionsRefused(
				fmt.Errorf("session refused: none of the %d now open ended for %s: %w", others, placeLimit, err), fmt.Sprintf("no more than %d", others))
		case <-ctx.Done():
			return nil, fmt.Errorf("open session on %s: the server allows no more than the %d now open (MaxSessions): %w",
				c, others, context.Cause(ctx))
		case <-c.ended:
		}
	}
}

// placeLimit is how long a session waits for a place while no other one ends. What
// takes longer than that keeps its place for good.
const placeLimit = 2 * time.Minute

// sessionsRefused is a server that allows too few sessions.
func (c *Conn) sessionsRefused(err error, allowed string) *Error {
	return &Error{
		Class: SessionRefused, Op: "open session on", Host: c.String(), Err: err,
		Hint: "the server allows " + allowed + " over one connection: see MaxSessions in its sshd_config",
	}
}

// Need makes sure that the server lets so many sessions be open at once, by opening
// them: it is far better to know before anything is changed than to wait for a place
// in the middle of it. No other session of ours may be open meanwhile.
func (c *Conn) Need(ctx context.Context, sessions int) error {
	opened, err := c.openSessions(ctx, sessions)
	for _, session := range opened {
		_ = session.Close()
	}
	c.sessions.linger()
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("open %d sessions on %s: %w", sessions, c, context.Cause(ctx))
	case !errors.As(err, new(*ssh.OpenChannelError)):
		return c.contact("open session on", err)
	}
	return &Error{
		Class: SessionRefused, Op: "open sessions on", Host: c.String(),
		Err: fmt.Errorf("session refused: the server allows %d at once over one connection, and %d are needed", len(opened), sessions),
		Hint: fmt.Sprintf("set MaxSessions to %d or more in its sshd_config (services.openssh.settings.MaxSessions on NixOS; OpenSSH's default is 10)",
			sessions),
	}
}

// openSessions opens so many sessions, and gives those that the server allowed.
func (c *Conn) openSessions(ctx context.Context, count int) (opened []*ssh.Session, refused error) {
	type result struct {
		session *ssh.Session
		err     error
	}
	results := make(chan result, count)
	for range count { // side by side: on a slow link, each costs a round trip
		go func() {
			session, err := c.newSession(ctx)
			results <- result{session, err}
		}()
	}
	for range count {
		r := <-results
		if r.err != nil {
			refused = r.err
			continue
		}
		opened = append(opened, r.session)
	}
	return opened, refused
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
