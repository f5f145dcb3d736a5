package tofu

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"fediversity.eu/slipway/methods/tofu/backend"
	"fediversity.eu/slipway/methods/tofu/state"
	"fediversity.eu/slipway/targets/report"
)

// found is what the backend answered when it was asked for the state.
type found struct {
	kind  state.Kind
	state *state.State
	why   error // with garbage
}

// look reads the state and says what it is. GET is the only request.
func (e *Engine) look(ctx context.Context, d Deployment, client *backend.Client) (found, error) {
	body, present, err := client.Get(ctx)
	if err != nil {
		return found{}, explained(fmt.Errorf("read the state: %w", err))
	}
	var f found
	f.kind, f.state, f.why = state.Judge(present, body)
	if f.state != nil && f.state.Sealed {
		if err := e.unseal(ctx, d, f.state); err != nil {
			return found{}, err
		}
		f.kind = f.state.Kind()
	}
	return f, nil
}

// refused is the one line of a state that no run may go on from: which of the
// reasons it was, and how to go on.
func refused(reason string, hint string) error {
	return report.Refuse("use the state", errors.New(reason), hint)
}

const goOn = "nothing was made or written. Restore the state in the backend from its last good version, or look up why it gives this one"

// check refuses a state that is not the one expected.
func (k Keys) check(f found, verb string) error {
	switch f.kind {
	case state.Absent:
		return refused("absent: the backend has no state", goOn+"; if this deployment was never made or was destroyed, say STATE_PHASE=cold")
	case state.Garbage:
		return refused(fmt.Sprintf("garbage: what the backend gave is no state: %v", f.why), goOn)
	case state.Begun:
		if f.state.Marker.Settled {
			return refused("empty: the state holds no objects, and says that none are left", goOn+"; if there are none, start again with STATE_PHASE=cold")
		}
		return refused("a bootstrap that has not ended: "+f.state.Marker.String(), "go on with it there with STATE_PHASE=cold; if that place is lost, look for what it made, remove it, and say STATE_PHASE=cold STATE_ABANDON="+f.state.Marker.Run)
	case state.Empty:
		if verb != Destroy {
			return refused("empty: the state holds no objects", goOn+"; if all was destroyed, run destroy, which detaches the empty state, and start anew with STATE_PHASE=cold")
		}
	case state.Sound:
	}
	if k.Lineage != "" && f.state.Lineage != k.Lineage {
		return refused(fmt.Sprintf("other lineage: the state has %s, STATE_LINEAGE is %s", f.state.Lineage, k.Lineage), goOn+"; if it is the right one, change STATE_LINEAGE")
	}
	if k.Serial > 0 && f.state.Serial < uint64(k.Serial) { //nolint:gosec // a count is above zero
		return refused(fmt.Sprintf("older serial: the state has %d, STATE_SERIAL is %d", f.state.Serial, k.Serial), goOn+"; if nothing newer exists, change STATE_SERIAL")
	}
	return nil
}

// read looks at the backend's state, under the lock.
func (r *run) read(ctx context.Context) error {
	if r.lock == nil {
		return nil
	}
	f, err := r.engine.look(ctx, r.d, r.client)
	if err != nil {
		return err
	}
	if f.kind == state.Garbage {
		return r.engine.Keys.check(f, r.id.Verb)
	}
	r.remote = f.state
	if f.kind == state.Begun {
		r.marker = f.state.Marker
	}
	return nil
}

// guard lets the run go on from a state that is the right one, and makes the
// first one where there is none and the caller says so.
func (r *run) guard(ctx context.Context, verb string) error {
	k := r.engine.Keys
	if k.steady() {
		f := found{kind: state.Absent, state: r.remote}
		if r.remote != nil {
			f.kind = r.remote.Kind()
		}
		if err := k.check(f, verb); err != nil {
			return err
		}
		r.newest, r.marker = r.remote, nil
		return nil
	}
	if verb != Apply && verb != Destroy && verb != Import {
		return report.Refuse(verb, errors.New("STATE_PHASE="+k.Phase+" is for apply, plan, import and destroy"), "leave STATE_PHASE unset")
	}
	switch {
	case r.newest != nil: // recovered
		return nil
	case r.remote == nil && verb == Destroy:
		return k.check(found{kind: state.Absent}, verb)
	case r.remote == nil:
		return r.seed(ctx)
	case r.remote.Marker != nil:
		m := r.remote.Marker
		if !m.Settled && !r.dir.Knows(m.Run) && k.Abandon != m.Run {
			return k.check(found{kind: state.Begun, state: r.remote}, verb)
		}
		return r.resume()
	case r.remote.Empty() && verb != Destroy:
		return k.check(found{kind: state.Empty, state: r.remote}, verb)
	default:
		r.log.Infof("the state is there already: going on from it, as in STATE_PHASE=steady")
		r.newest = r.remote
		return k.check(found{kind: state.Sound, state: r.remote}, verb)
	}
}

// resume goes on with a bootstrap from what the backend has of it.
func (r *run) resume() error {
	var err error
	if r.newest, err = unmarked(r.remote); err != nil {
		return err
	}
	r.log.Infof("going on with the bootstrap of %s", r.remote.Marker)
	if objects := r.newest.Objects(); r.abandoned(r.remote.Marker) && len(objects) > 0 {
		r.log.Infof("its state tells of %s", listed(objects))
	}
	r.marker = r.mark()
	return nil
}

// unmarked is a state without its marker. Of an encrypted one OpenTofu drops it by
// itself, as an output that no configuration has.
func unmarked(s *state.State) (*state.State, error) {
	if s.Encrypted {
		return s, nil
	}
	raw, err := state.Unmarked(s.Raw)
	if err != nil {
		return nil, err
	}
	return state.Parse(raw)
}

func (r *run) mark() *state.Marker {
	return &state.Marker{Run: r.id.Nonce, Host: r.id.Host, Dir: r.dir.Path, At: time.Now().UTC().Truncate(time.Second)}
}

// seed makes the first state, before the first object: from now on every other
// run finds that there is something, and where.
func (r *run) seed(ctx context.Context) error {
	r.marker = r.mark()
	raw, err := state.Seed(uuid.NewString(), r.engine.Tofu.Version, r.marker)
	if err != nil {
		return err
	}
	if r.engine.Keys.Encryption.IsSet() {
		r.newest, err = r.engine.seal(ctx, r.d, raw)
	} else if raw, err = state.Unmarked(raw); err == nil {
		r.newest, err = state.Parse(raw)
	}
	if err != nil {
		return err
	}
	if _, err := r.dir.Keep(r.newest, r.marker); err != nil {
		return err
	}
	if r.lock == nil {
		return nil
	}
	if err := r.forward(ctx, r.newest); err != nil {
		failed := report.Fail("write the first state", err, "nothing was made")
		if _, answered := errors.AsType[*backend.StatusError](err); answered && !backend.Unreached(err) {
			return errors.Join(failed, r.dir.Stored()) // it is not there, and will not be
		}
		return failed
	}
	return nil
}
