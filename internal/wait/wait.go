// Package wait waits for things that happen elsewhere. Every wait says what it
// waits for, how long a try may take, how long to pause, and when to give up;
// what it returns on giving up is the last real error, not "timeout".
package wait

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// For describes a wait.
type For struct {
	What     string        // what is waited for, as in "waiting for WHAT"
	Limit    time.Duration // when to give up
	Try      time.Duration // how long one attempt may take; 0 means until Limit
	Interval time.Duration // pause between attempts; 0 means DefaultInterval
}

// DefaultInterval is the pause between attempts.
const DefaultInterval = 200 * time.Millisecond

// Stop wraps an error that no further attempt can mend: the wait ends at once
// and returns it.
func Stop(err error) error { return &stop{err} }

type stop struct{ err error }

func (s *stop) Error() string { return s.err.Error() }
func (s *stop) Unwrap() error { return s.err }

// TimeoutError is a wait that was given up.
type TimeoutError struct {
	What   string
	Waited time.Duration
	Last   error // of the last attempt
}

// Error says what was waited for, how long, and what the last attempt found.
func (e *TimeoutError) Error() string {
	text := fmt.Sprintf("waited %s for %s", e.Waited.Round(100*time.Millisecond), e.What)
	if e.Last != nil {
		text += ": " + e.Last.Error()
	}
	return text
}

// Unwrap gives the last attempt's error.
func (e *TimeoutError) Unwrap() error { return e.Last }

// Until repeats attempt until it returns nil. It returns what attempt wrapped
// in Stop, a *TimeoutError, or the cause of ctx when that ends first.
func (f For) Until(ctx context.Context, attempt func(context.Context) error) error {
	started := time.Now()
	deadline := started.Add(f.Limit)
	interval := f.Interval
	if interval == 0 {
		interval = DefaultInterval
	}
	var last error
	for {
		until := deadline
		if f.Try > 0 && time.Now().Add(f.Try).Before(deadline) {
			until = time.Now().Add(f.Try)
		}
		try, cancel := context.WithDeadline(ctx, until)
		err := attempt(try)
		cancel()
		if err == nil {
			return nil
		}
		if final, ok := errors.AsType[*stop](err); ok {
			return final.err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		// An attempt that our own deadline cut short knows less than the one
		// before it.
		if last == nil || !errors.Is(err, context.DeadlineExceeded) {
			last = err
		}
		if !time.Now().Add(interval).Before(deadline) {
			return &TimeoutError{What: f.What, Waited: time.Since(started), Last: last}
		}
		pause := time.NewTimer(interval)
		select {
		case <-ctx.Done():
			pause.Stop()
			return context.Cause(ctx)
		case <-pause.C:
		}
	}
}
