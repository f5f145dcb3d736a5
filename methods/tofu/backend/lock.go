package backend

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// LockInfo is what OpenTofu sends to take a lock. Some backends demand every
// field, and give back only ID and Created unchanged.
type LockInfo struct {
	ID        string
	Operation string
	Info      string
	Who       string
	Version   string
	Created   time.Time
	Path      string
}

// HeldError is a lock that somebody has. Holder is nil where the backend did not
// say who.
type HeldError struct {
	Status int
	Holder *LockInfo
	// Asker says that the backend named the very lock that was asked for: either an
	// earlier try took it and its answer was lost, or the backend repeats what it is
	// asked with. Holder is nil then.
	Asker bool
	// Retried says that an earlier try was not answered, and may have taken it.
	Retried bool
}

// Error says whose it is, as far as the backend told.
func (e *HeldError) Error() string {
	if e.Holder == nil {
		return "the lock is held, and the backend does not say by whom"
	}
	return "the lock is held: " + e.Holder.ID
}

// Lock takes the lock. It is ours where this returns nil: the backend said so.
func (c *Client) Lock(ctx context.Context, info LockInfo) error {
	return c.lock(ctx, info, false)
}

// TryLock asks once, for a lock that is expected to be held.
func (c *Client) TryLock(ctx context.Context, info LockInfo) error {
	return c.lock(ctx, info, true)
}

func (c *Client) lock(ctx context.Context, info LockInfo, once bool) error {
	body, err := json.Marshal(info)
	if err != nil {
		return err
	}
	got, err := c.do(ctx, request{method: c.keys.LockMethod, address: c.keys.Lock, body: body, once: once})
	if err != nil {
		return err
	}
	switch got.status {
	case http.StatusOK:
		return nil
	case http.StatusConflict, http.StatusLocked:
		held := &HeldError{Status: got.status, Retried: got.tries > 1}
		var holder LockInfo
		if json.Unmarshal(got.body, &holder) == nil && holder.ID != "" {
			held.Holder = &holder
		}
		if held.Holder != nil && held.Holder.ID == info.ID {
			held.Holder, held.Asker = nil, true
		}
		return held
	default:
		return got.failed(c.keys.LockMethod)
	}
}

// Unlock gives back the lock of info, which was just seen to be held. A try whose answer
// was lost may have given it back, and where locks bind nobody the next one would take
// it from whoever has it since: so before each further try the backend is asked whose it
// is, with the throw-away words of probe.
func (c *Client) Unlock(ctx context.Context, info, probe LockInfo) error {
	body, err := json.Marshal(info)
	if err != nil {
		return err
	}
	asked := request{method: c.keys.UnlockMethod, address: c.keys.Unlock, body: body}
	asked.again = func(ctx context.Context) ([]byte, error) {
		err := c.TryLock(ctx, probe)
		held, ok := Held(err)
		switch {
		case err == nil: // nobody had it, and now the probe has
			return json.Marshal(probe)
		case !ok:
			return nil, fmt.Errorf("ask whose the lock is: %w", err)
		case held.Holder != nil && held.Holder.ID != info.ID:
			return nil, errDone
		}
		return body, nil
	}
	got, err := c.do(ctx, asked)
	switch {
	case errors.Is(err, errDone):
		return nil
	case err != nil:
		return err
	case got.status >= 200 && got.status < 300 || got.status == http.StatusNotFound:
		return nil
	}
	return got.failed(c.keys.UnlockMethod)
}

// Held tells whether an error is a held lock, and whose.
func Held(err error) (*HeldError, bool) {
	var held *HeldError
	ok := errors.As(err, &held)
	return held, ok
}
