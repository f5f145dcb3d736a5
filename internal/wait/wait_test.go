package wait

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
)

// The tests run in bubbles whose clock moves when everybody waits, so that
// durations are exact and cost nothing.

var errClosed = errors.New("connection refused")

func TestUntilEndsAtTheFirstSuccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		started, tries := time.Now(), 0
		err := For{What: "the port", Limit: time.Minute, Interval: time.Second}.Until(t.Context(), func(context.Context) error {
			if tries++; tries < 4 {
				return errClosed
			}
			return nil
		})
		assert.NilError(t, err)
		assert.Equal(t, tries, 4)
		assert.Equal(t, time.Since(started), 3*time.Second)
	})
}

func TestUntilPausesForTheDefaultInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		started, tries := time.Now(), 0
		err := For{What: "the port", Limit: time.Minute}.Until(t.Context(), func(context.Context) error {
			if tries++; tries < 2 {
				return errClosed
			}
			return nil
		})
		assert.NilError(t, err)
		assert.Equal(t, time.Since(started), DefaultInterval)
	})
}

func TestTimeoutTellsTheLastRealError(t *testing.T) {
	for _, c := range []struct {
		name    string
		attempt func(ctx context.Context, try int) error
		want    error
		text    string
	}{
		{
			"the last of several",
			func(_ context.Context, try int) error { return fmt.Errorf("try %d: %w", try, errClosed) },
			errClosed, "waited 9s for the port: try 10: connection refused",
		},
		{
			"an attempt that our deadline cut short knows less",
			func(ctx context.Context, try int) error {
				if try == 1 {
					return errClosed
				}
				<-ctx.Done()
				return fmt.Errorf("dial: %w", ctx.Err())
			},
			errClosed, "waited 10s for the port: connection refused",
		},
		{
			"no attempt ever came back by itself",
			func(ctx context.Context, _ int) error {
				<-ctx.Done()
				return fmt.Errorf("dial: %w", ctx.Err())
			},
			context.DeadlineExceeded, "waited 10s for the port: dial: context deadline exceeded",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				started, try := time.Now(), 0
				err := For{What: "the port", Limit: 10 * time.Second, Interval: time.Second}.Until(t.Context(), func(ctx context.Context) error {
					try++
					return c.attempt(ctx, try)
				})
				var timeout *TimeoutError
				assert.Assert(t, errors.As(err, &timeout))
				assert.ErrorIs(t, err, c.want)
				assert.Error(t, err, c.text)
				assert.Equal(t, timeout.What, "the port")
				assert.Equal(t, timeout.Waited, time.Since(started))
				assert.Assert(t, timeout.Waited <= 10*time.Second)
			})
		})
	}
}

func TestTryLimitsOneAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		started, tries := time.Now(), 0
		w := For{What: "the port", Limit: time.Minute, Try: 2 * time.Second, Interval: time.Second}
		err := w.Until(t.Context(), func(ctx context.Context) error {
			if tries++; tries == 3 {
				return nil
			}
			<-ctx.Done()
			return ctx.Err()
		})
		assert.NilError(t, err)
		assert.Equal(t, time.Since(started), 6*time.Second, "two tries of two seconds, each with its pause")
	})
}

func TestTryNeverOutlivesTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		started := time.Now()
		w := For{What: "the port", Limit: 5 * time.Second, Try: time.Hour}
		err := w.Until(t.Context(), func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		})
		assert.ErrorType(t, err, (*TimeoutError)(nil))
		assert.Equal(t, time.Since(started), 5*time.Second)
	})
}

func TestStopEndsTheWait(t *testing.T) {
	for _, c := range []struct {
		name string
		wrap func(error) error
	}{
		{"by itself", Stop},
		{"wrapped", func(err error) error { return fmt.Errorf("look: %w", Stop(err)) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				started, tries := time.Now(), 0
				err := For{What: "the unit", Limit: time.Minute}.Until(t.Context(), func(context.Context) error {
					tries++
					return c.wrap(errClosed)
				})
				assert.Equal(t, err, errClosed)
				assert.Equal(t, tries, 1)
				assert.Equal(t, time.Since(started), time.Duration(0))
			})
		})
	}
}

func TestCauseOfTheContextIsReturned(t *testing.T) {
	cause := errors.New("stopped by interrupt")
	for _, c := range []struct {
		name    string
		attempt func(context.Context) error
	}{
		{"in a pause", func(context.Context) error { return errClosed }},
		{"in an attempt", func(ctx context.Context) error { <-ctx.Done(); return errClosed }},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				started := time.Now()
				time.AfterFunc(1500*time.Millisecond, func() { cancel(cause) })
				err := For{What: "the port", Limit: time.Minute, Interval: time.Second}.Until(ctx, c.attempt)
				assert.Equal(t, err, cause)
				assert.Equal(t, time.Since(started), 1500*time.Millisecond)
			})
		})
	}
}

func TestNoTimeAtAllIsOneAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		err := For{What: "the port"}.Until(t.Context(), func(context.Context) error { tries++; return errClosed })
		assert.Error(t, err, "waited 0s for the port: connection refused")
		assert.Equal(t, tries, 1)
		assert.NilError(t, For{What: "the port"}.Until(t.Context(), func(context.Context) error { return nil }))
	})
}
