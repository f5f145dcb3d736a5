package remote

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"golang.org/x/crypto/ssh"
)

const (
	stuckAfter = time.Second     // without an end, the lease may not have been read
	killDelay  = 3 * time.Second // for a killed command to be reported, and for the sleeps on the other side
)

// cancelled ends a command whose context has ended, and says so if it can't.
func (r *running) cancelled(ctx context.Context) error {
	cause := context.Cause(ctx)
	if r.stop(context.WithoutCancel(ctx)) {
		return fmt.Errorf("run on %s: %w", r.conn, cause)
	}
	r.letGo()
	select {
	case <-r.conn.ended:
		return fmt.Errorf("run on %s: %w (and contact was lost before it had stopped)", r.conn, cause)
	default:
		return fmt.Errorf("run on %s: %w (told to stop, but it may still run there)", r.conn, cause)
	}
}

// stop tells whether the command is known to have ended.
func (r *running) stop(ctx context.Context) bool {
	r.feed.stop() // the end of the lease
	patience := r.cmd.grace() + killDelay
	if r.leased() {
		return r.wait(patience)
	}
	if r.wait(stuckAfter) {
		return true
	}
	if r.leased() { // it had not quite begun
		return r.wait(patience)
	}
	// Either the login shell hangs, and nothing reads the lease; or the command
	// does not read its input, and the end of the lease is stuck behind that. The
	// signal is heard where sshd passes signals on; the way that always works is
	// another session.
	_ = r.session.Signal(ssh.SIGTERM)
	if _, group := r.out.state(); group != "" && group != "0" {
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		seconds := int(max(time.Second, r.cmd.grace()) / time.Second)
		go func() {
			_ = r.conn.Run(ctx, Command{
				Script: killer, Args: []string{group, strconv.Itoa(seconds)}, Root: r.cmd.Root, Grace: time.Second,
			})
		}()
	}
	return r.wait(patience)
}

// letGo parts from a command that did not end: its output reaches the caller's
// writers no more, unless one of them is what hangs.
func (r *running) letGo() {
	closed := make(chan struct{})
	go func() {
		r.out.close()
		r.err.close()
		close(closed)
	}()
	select {
	case <-closed:
	case <-time.After(stuckAfter):
	}
}

// leased tells whether the end of the lease is sure to be noticed.
func (r *running) leased() bool {
	missing, _ := r.out.state()
	return missing == 0 && r.cmd.Stdin == nil
}

func (r *running) wait(limit time.Duration) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-r.ended: //nolint:errcheck // that it ended is all that matters
		return true
	case <-timer.C:
		return false
	}
}
