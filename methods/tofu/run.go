package tofu

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"syscall"
	"time"

	"fediversity.eu/slipway/methods/tofu/backend"
	"fediversity.eu/slipway/methods/tofu/broker"
	"fediversity.eu/slipway/methods/tofu/ledger"
	"fediversity.eu/slipway/methods/tofu/lock"
	"fediversity.eu/slipway/methods/tofu/rundir"
	"fediversity.eu/slipway/methods/tofu/state"
	"fediversity.eu/slipway/targets/report"
)

// run is one run of a verb that may change the state.
type run struct {
	engine *Engine
	d      Deployment
	id     lock.ID
	log    *report.Log
	dir    *rundir.Dir
	client *backend.Client
	lock   *lock.Lock    // nil while the backend is not there
	marker *state.Marker // of the bootstrap that this run is part of
	shop   *workshop
	broker *broker.Broker

	remote  *state.State    // what the backend is known to have; nil is none
	newest  *state.State    // what the journal has, which OpenTofu goes on from
	orphans []ledger.Object // made by killed runs, to be taken in
	missing []ledger.Object // made by killed runs, left for a later run
	letGo   undeclared

	attached error // why the backend still has a state of which all is destroyed

	behind error  // why the backend does not have the newest
	path   string // of the file that has it; empty is none
	begun  bool   // the record of events is
	lost   bool   // an OpenTofu did not end by itself
	cancel context.CancelCauseFunc
}

// closing bounds what is done after a signal: the state is written, the lock is
// given back.
const closing = 2 * time.Minute

// change is the way of every verb that may change the state: work is done under
// the lock, over a state that was judged, and what it leaves is settled whatever
// becomes of it. A run that came as far as that has a result, also with an error.
func (e *Engine) change(ctx context.Context, d Deployment, verb string, work func(context.Context, *run) error) (result *Result, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r, err := e.begin(ctx, d, verb)
	if err != nil {
		return nil, full(err)
	}
	r.cancel = cancel
	defer func() { err = errors.Join(err, r.end()) }()

	if err := r.takeLock(ctx); err != nil {
		return nil, err
	}
	if err := r.prepare(ctx, verb); err != nil {
		if r.behind != nil {
			return nil, err // the lock stays: nobody may work on the older state
		}
		return nil, errors.Join(full(err), r.giveBack(ctx))
	}
	err = work(ctx, r)
	settled := r.settle(ctx)
	if settled == nil {
		settled = errors.Join(r.attached, r.giveBack(ctx))
	}
	return r.result(), errors.Join(settled, err) // the first says how the run ends
}

// full adds what to do about a disk that is.
func full(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return report.Fail("use the run directory", err, "make room, or name another folder by STATE_DIR; nothing was made")
	}
	return err
}

// begin takes the run directory.
func (e *Engine) begin(ctx context.Context, d Deployment, verb string) (*run, error) {
	place, err := e.place()
	if err != nil {
		return nil, err
	}
	owner := d.Name
	if e.Keys.Owner != "" {
		owner = e.Keys.Owner
	}
	e.note()
	r := &run{engine: e, d: d, log: e.Log}
	if r.id, err = lock.New(owner, verb, place); err != nil {
		return nil, err
	}
	if r.client, err = e.client(); err != nil {
		return nil, err
	}
	path, _, err := e.dir()
	if err != nil {
		return nil, err
	}
	if r.dir, err = rundir.Open(ctx, path, r.id.Nonce, e.Log); err != nil {
		return nil, err
	}
	return r, nil
}

func (e *Engine) place() (lock.Place, error) {
	if e.Place != (lock.Place{}) {
		return e.Place, nil
	}
	return lock.Here()
}

func (e *Engine) client() (*backend.Client, error) {
	pace := e.pace
	if pace.Try == 0 {
		pace = backend.Patient
	}
	client, err := backend.New(e.Backend, pace, e.Log.In("backend").Infof)
	if err != nil {
		return nil, &report.Fault{Code: report.Usage, What: "read the coordinates", Why: err}
	}
	return client, nil
}

// end closes everything. What a later run needs stays and is named.
func (r *run) end() error {
	var faults []error
	if r.shop != nil {
		faults = append(faults, r.shop.Close())
	}
	if r.broker != nil {
		r.broker.Close()
	}
	r.client.Close()
	_, private, err := r.engine.dir()
	faults = append(faults, err)
	if kept := r.dir.Kept(); kept != "" {
		r.log.Warnf("%s is kept: it holds %s", r.dir.Path, kept)
	}
	return errors.Join(append(faults, r.dir.Close(private))...)
}

// takeLock takes the lock, unless the backend is yet to be made.
func (r *run) takeLock(ctx context.Context) error {
	l, err := lock.Take(ctx, r.client, lock.Asked{
		ID: r.id, Takeover: r.engine.Keys.Takeover, Version: r.engine.Tofu.Version,
	}, r.log)
	if err == nil {
		r.lock = l
		return nil
	}
	if r.engine.Keys.Phase == bootstrap && backend.Unreached(err) && !r.client.Reached() && ctx.Err() == nil {
		r.log.Infof("the state backend is not there yet: the state stays in %s until it is", r.dir.Path)
		return nil
	}
	return explained(err)
}

// explained adds what a backend's answer usually means.
func explained(err error) error {
	if status, ok := errors.AsType[*backend.StatusError](err); ok && status.Status == http.StatusUnprocessableEntity && status.Method != http.MethodPost {
		return &report.Fault{
			Code: report.Busy, What: "use the state backend", Why: err,
			Hint: "some backends answer so while they still remove a state that was destroyed: try again in a minute; nothing was changed",
		}
	}
	if status, ok := errors.AsType[*backend.StatusError](err); ok {
		return report.Fail("use the state backend", err, status.Hint())
	}
	if insecure, ok := errors.AsType[*backend.InsecureError](err); ok {
		return report.Fail("use the state backend", err, insecure.Hint())
	}
	if backend.Unreached(err) {
		return report.Fail("use the state backend", err, "nothing was changed; where this very deployment brings the backend up, say STATE_PHASE=bootstrap")
	}
	return err
}

// giveBack gives the lock back, also after a signal.
func (r *run) giveBack(ctx context.Context) error {
	if r.lock == nil {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), closing, errors.New("the state backend took too long"))
	defer cancel()
	err := r.lock.Release(ctx)
	r.lock = nil
	if err != nil {
		return report.Fail("end the run", err, "what was done is in the state; the next run of this deployment on this host takes the lock back")
	}
	return nil
}

// prepare brings the state into order, judges it, and serves it to OpenTofu.
func (r *run) prepare(ctx context.Context, verb string) error {
	if err := r.read(ctx); err != nil {
		return err
	}
	if err := r.recover(ctx); err != nil {
		return err
	}
	if r.newest != nil {
		if err := r.engine.unseal(ctx, r.d, r.newest); err != nil {
			return err
		}
	}
	if err := r.heed(); err != nil {
		return err
	}
	if err := r.guard(ctx, verb); err != nil {
		return err
	}
	if err := r.count(); err != nil {
		return err
	}
	if r.remote != nil {
		r.know(r.remote)
	}
	var err error
	if r.letGo, err = r.engine.undeclared(r.d, r.newest, verb); err != nil {
		return err
	}
	if r.d, err = r.letGo.with(r.d); err != nil {
		return err
	}
	if r.broker, err = broker.Open(r.newest, r.take, r.log.In("backend").Infof); err != nil {
		return err
	}
	r.shop, err = r.engine.open(ctx, r.d, r.dir.Work(), place{r.dir.SupervisorLock(), r.dir.TofuProcess(), r.dir.Events()}, r.broker)
	return err
}

// take is given every version that OpenTofu writes. Once it is in the journal or in
// the backend it is safe, and OpenTofu is told so; where it is not in both, the run
// is ended in good order, if it can't go to the backend only at the end anyway.
func (r *run) take(ctx context.Context, s *state.State) error {
	path, unkept := r.dir.Keep(s, r.marker)
	r.newest, r.path, r.behind = s, path, nil
	if r.lock == nil || r.marker != nil && s.Encrypted {
		if unkept != nil {
			r.cancel(unkept)
		}
		return unkept
	}
	r.behind = r.forward(ctx, s)
	switch {
	case r.behind == nil && unkept == nil:
		return nil
	case r.behind == nil:
		r.log.Warnf("the state is in the backend alone: %v", unkept)
		return nil
	case unkept == nil:
		r.log.Troublef("the backend does not take the state, which is in %s: %v", path, r.behind)
		r.cancel(r.behind)
		return nil
	default:
		err := errors.Join(r.behind, unkept)
		r.cancel(err)
		return err // OpenTofu keeps it too, if it can
	}
}

// forward puts a version into the backend: within a bootstrap with the marker.
func (r *run) forward(ctx context.Context, s *state.State) error {
	if r.marker != nil && !s.Encrypted {
		var err error
		if s, err = s.WithMarker(r.marker); err != nil {
			return err
		}
	}
	if err := r.undisturbed(ctx, s); err != nil {
		return err
	}
	r.know(s)
	if err := r.client.Put(ctx, r.id.String(), s.Raw); err != nil {
		return err
	}
	r.remote = s
	if r.marker != nil {
		return nil
	}
	return r.dir.Stored()
}

// know notes what the backend has, or may soon have, so that what this run leaves if it
// is killed is known to follow it. Where that can't be noted, a later run refuses.
func (r *run) know(s *state.State) {
	if err := r.dir.Know(s); err != nil {
		r.log.Warnf("%v", err)
	}
}

// undisturbed is nil when the backend has what this run knows of, so that writing
// s loses nothing: where a lock binds nobody, somebody may have written meanwhile.
// A backend that gives the version before, or none, is behind and loses nothing.
func (r *run) undisturbed(ctx context.Context, s *state.State) error {
	body, present, err := r.client.Get(context.WithoutCancel(ctx))
	if err != nil {
		return fmt.Errorf("read the state before it is written: %w", err)
	}
	if present && (bytes.Equal(body, s.Raw) || r.remote != nil && bytes.Equal(body, r.remote.Raw)) {
		return nil // as ever, and a large state takes long to read
	}
	kind, there, _ := state.Judge(present, body)
	switch {
	case kind == state.Absent, kind == state.Garbage, state.Equal(body, s.Raw):
		return nil
	case r.remote != nil && there.Lineage == r.remote.Lineage &&
		(there.Serial < r.remote.Serial || state.Equal(body, r.remote.Raw)):
		return nil
	}
	return fmt.Errorf("somebody wrote the state while this run had its lock: the backend has serial %d of lineage %s", there.Serial, there.Lineage)
}

// apply does the saved plan, if it has anything to do, under a lock that is still
// ours, with its events written down.
func (r *run) apply(ctx context.Context, p Plan) error {
	if !p.Changed {
		return nil
	}
	return r.watched(ctx, func(ctx context.Context) (byItself bool, err error) {
		err = r.shop.apply(ctx)
		return r.shop.control.Last().ByItself, err
	})
}

// watched lets an OpenTofu make things, which says how it ended.
func (r *run) watched(ctx context.Context, work func(context.Context) (byItself bool, err error)) error {
	if r.lock != nil {
		if err := r.lock.Probe(ctx); err != nil {
			return explained(err)
		}
	}
	if !r.begun {
		if err := ledger.Start(r.dir.Events(), r.id.Nonce); err != nil {
			return err
		}
		r.begun = true
	}
	byItself, err := work(ctx)
	r.lost = !byItself
	return err
}

func (r *run) result() *Result {
	s := r.newest
	return &Result{Lineage: s.Lineage, Serial: s.Serial, Outputs: s.Outputs, Objects: s.Objects()}
}

// errored is where OpenTofu writes what it could not hand over.
func (r *run) errored() string { return filepath.Join(r.shop.tf.WorkingDir(), "errored.tfstate") }
