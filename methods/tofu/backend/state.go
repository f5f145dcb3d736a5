package backend

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"fediversity.eu/slipway/methods/tofu/state"
)

// Get reads the state. present is false where the backend says that it has none,
// which is all that it says: whether there ought to be one is the caller's to
// judge.
func (c *Client) Get(ctx context.Context) (body []byte, present bool, err error) {
	got, err := c.do(ctx, request{method: http.MethodGet, address: c.keys.Address})
	if err != nil {
		return nil, false, err
	}
	switch got.status {
	case http.StatusOK:
		return got.body, true, nil
	case http.StatusNotFound, http.StatusNoContent:
		return nil, false, nil
	default:
		return nil, false, got.failed(http.MethodGet)
	}
}

// Put writes the state and reads it back. What is read decides: equal means
// stored, whatever the write was answered with (a lost answer, a refusal of what
// is there already), and unequal means not stored, whatever it was answered with
// (a redirect, a proxy that says yes to everything). The end of ctx does not cut
// it short, or nobody would know.
func (c *Client) Put(ctx context.Context, lock string, body []byte) error {
	ctx = context.WithoutCancel(ctx)
	got, sent := c.do(ctx, request{method: c.keys.UpdateMethod, address: c.keys.Address, lock: lock, body: body})
	if sent == nil && !slices.Contains([]int{http.StatusOK, http.StatusCreated, http.StatusNoContent}, got.status) {
		sent = got.failed(c.keys.UpdateMethod)
	}
	var read error
	for i, pause := range append([]time.Duration{0}, c.pace.Lag...) {
		if i > 0 && sent != nil {
			break // it said no, and what is there says so too
		}
		if err := sleep(ctx, pause); err != nil {
			return err
		}
		there, present, err := c.Get(ctx)
		if err == nil && present && state.Equal(there, body) {
			return nil
		}
		read = err
	}
	switch {
	case read != nil:
		return fmt.Errorf("write the state: %w", errors.Join(sent, fmt.Errorf("read it back: %w", read)))
	case sent != nil:
		return fmt.Errorf("write the state: %w", sent)
	default:
		return errors.New("write the state: the backend said that it took it, and does not have it")
	}
}

// sleep pauses without a test or a signal having to wait for it.
func sleep(ctx context.Context, d time.Duration) error {
	pause := time.NewTimer(d)
	defer pause.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-pause.C:
		return nil
	}
}

// Delete asks the backend to have no state any more. Whether it did so is for a
// Get to find out: some answer well and do nothing while the state is locked. Without a
// lock it is asked once: what a second request removed could be somebody else's.
func (c *Client) Delete(ctx context.Context, lock string) error {
	got, err := c.do(ctx, request{method: http.MethodDelete, address: c.keys.Address, lock: lock, once: lock == ""})
	if err != nil {
		return err
	}
	if got.status == http.StatusNotFound || got.status >= 200 && got.status < 300 {
		return nil
	}
	return got.failed(http.MethodDelete)
}
