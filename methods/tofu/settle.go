package tofu

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"

	"fediversity.eu/slipway/methods/tofu/lock"
	"fediversity.eu/slipway/methods/tofu/state"
	"fediversity.eu/slipway/targets/report"
)

// settle brings what OpenTofu wrote into the backend, also after a signal or a
// failure. If that can't be done the lock is kept, so that nobody works on the
// older state, and the error says where the newer one is.
func (r *run) settle(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), closing, errors.New("the state backend took too long"))
	defer cancel()
	r.broker.Close()
	late := r.late()
	if err := r.engine.unseal(ctx, r.d, r.newest); err != nil {
		r.log.Warnf("%v", err) // what it holds is not known, and it is stored all the same
	}
	if err := r.store(ctx); err != nil {
		return errors.Join(report.Fail("bring the state into the backend", explained(err), r.whereabouts()), late)
	}
	if late != nil {
		return report.Fail("read what OpenTofu could not write", late, "the backend has the version before it, serial "+
			strconv.FormatUint(r.newest.Serial, 10)+"; look at "+r.errored())
	}
	if r.destroyed() {
		if r.attached = r.detach(ctx); r.attached != nil {
			r.attached = errors.Join(r.attached, r.release(ctx))
		}
		return r.dir.Clear(r.keepsEvents())
	}
	if r.marker != nil && r.newest.Encrypted {
		return nil
	}
	return r.dir.Clear(r.keepsEvents())
}

// whereabouts says where a state is that the backend does not have.
func (r *run) whereabouts() string {
	path, err := r.dir.Keep(r.newest, r.marker)
	if err != nil && r.path != "" {
		path, err = r.path, nil
	}
	if err != nil {
		return fmt.Sprintf("the state is NOWHERE: %v. The lines above and %s tell what was made, as far as that could be written", err, r.dir.Path)
	}
	return fmt.Sprintf("the state is NOT in the backend; it is in %s (serial %d). The next run from here with the same STATE_PHASE brings it there", path, r.newest.Serial)
}

// late takes in what OpenTofu could not hand over, be it that the broker was
// asked too late.
func (r *run) late() error {
	raw, err := os.ReadFile(r.errored())
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	s, err := state.Parse(raw)
	if err != nil || s.Lineage != r.newest.Lineage || s.Serial <= r.newest.Serial {
		return err
	}
	path, err := r.dir.Keep(s, r.marker)
	if err != nil {
		path = r.errored()
	}
	r.newest, r.path, r.behind = s, path, errors.New("OpenTofu could not write it")
	return nil
}

// store makes the backend have the newest version, without a marker where the
// bootstrap has come to something.
func (r *run) store(ctx context.Context) error {
	if r.lock == nil {
		if err := r.arrive(ctx); err != nil {
			return err
		}
	}
	if r.marker == nil {
		if r.remote != nil && r.remote.Serial == r.newest.Serial && r.behind == nil {
			return r.dir.Stored()
		}
		return r.forward(ctx, r.newest)
	}
	// Backends that take each serial once have this one with the marker.
	final := r.newest
	if r.remote != nil && r.remote.Serial >= final.Serial {
		var err error
		if final, err = final.WithSerial(r.remote.Serial + 1); err != nil {
			return err
		}
	}
	if r.unfinished() {
		if r.newest.Encrypted {
			if r.destroyed() {
				return nil // what the backend has is removed next
			}
			r.log.Warnf("the bootstrap has not ended: it goes on from here, with STATE_PHASE=cold")
			return nil // the marker stays in the first version, and this one in the journal
		}
		r.marker.Settled = r.newest.Empty() && !r.lost
		r.newest = final
		return r.keepAndForward(ctx, r.marker)
	}
	if r.remote != nil && r.remote.Marker == nil && state.Equal(r.remote.Raw, r.newest.Raw) {
		r.marker = nil // encrypted, and brought there when it was recovered
		return r.dir.Stored()
	}
	r.newest = final
	return r.keepAndForward(ctx, nil)
}

// unfinished tells whether a bootstrap goes on: an OpenTofu that did not end by
// itself may have made what no state tells of, and a state that holds nothing
// would be taken for a lost one.
func (r *run) unfinished() bool { return r.lost || r.newest.Empty() }

// destroyed tells whether this run was to leave nothing, and did.
func (r *run) destroyed() bool { return r.id.Verb == Destroy && r.newest.Empty() && !r.lost }

// keepAndForward needs one of both, as take does: where the journal can't be written
// the backend may still have it. The journal keeps the marker until the backend has
// the state, with the marker or without: a later run must know that it goes on with a
// bootstrap, whose backend may have nothing yet.
func (r *run) keepAndForward(ctx context.Context, marker *state.Marker) error {
	_, unkept := r.dir.Keep(r.newest, r.marker)
	begun := r.marker
	r.marker = marker
	if err := r.forward(ctx, r.newest); err != nil {
		r.marker = begun
		return errors.Join(err, unkept)
	}
	if unkept != nil {
		r.log.Warnf("the state is in the backend alone: %v", unkept)
	}
	return r.dir.Stored()
}

// arrive takes the lock of a backend that this deployment brought up, which must
// be empty or know this very state.
func (r *run) arrive(ctx context.Context) error {
	l, err := lock.Take(ctx, r.client, lock.Asked{ID: r.id, Takeover: r.engine.Keys.Takeover, Version: r.engine.Tofu.Version}, r.log)
	if err != nil {
		return err
	}
	r.lock = l
	f, err := r.engine.look(ctx, r.d, r.client)
	switch {
	case err != nil:
		return err
	case f.kind == state.Absent:
		return nil
	case f.kind == state.Garbage:
		return fmt.Errorf("the backend has something that is no state: %w", f.why)
	case f.state.Lineage != r.newest.Lineage:
		return fmt.Errorf("the backend has a state of another lineage, %s", f.state.Lineage)
	}
	known, err := r.dir.Known(f.state)
	if err == nil && !known && !same(f.state, r.newest) {
		err = fmt.Errorf("the backend has serial %d of this lineage, which no run from here wrote", f.state.Serial)
	}
	r.remote = f.state
	return err
}
