// Package lock takes the lock of a state for the whole of a run, and knows a
// stale one by its id.
//
// OpenTofu's own locks die with it and tell nothing of their holder. Ours are
// taken by the program, and of what a backend gives back only the id can be
// trusted: some answer a conflict with the asker's own words. So the id says who,
// where and which process:
//
//	slipway1.<owner>.<verb>.<host>.<boot>.<pid namespace>.<pid>.<start>.<nonce>
package lock

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"fediversity.eu/slipway/methods/tofu/backend"
	"fediversity.eu/slipway/targets/report"
)

// Own is the takeover that vouches for every lock of this deployment.
const Own = "own"

// Lock is a lock that this run holds.
type Lock struct {
	ID     ID
	client *backend.Client
	info   backend.LockInfo
}

// Asked says how a lock is to be taken.
type Asked struct {
	ID       ID
	Takeover string // an id, or Own: the caller vouches that its run is over
	Version  string // of OpenTofu, which backends demand to be told
}

// Take takes the lock, and takes back a stale one. The error is a fault with exit
// code 75 where the lock is somebody else's.
func Take(ctx context.Context, client *backend.Client, a Asked, log *report.Log) (*Lock, error) {
	l := &Lock{ID: a.ID, client: client, info: info(a.ID, a.Version)}
	err := l.ask(ctx)
	if held, ok := backend.Held(err); ok {
		holder, err := l.stale(held, a.Takeover, log)
		if err != nil {
			return nil, err
		}
		if err = l.takeBack(ctx, holder); err == nil {
			return l.checked(ctx)
		}
		if held, ok := backend.Held(err); ok {
			return nil, l.busy(held, errors.New("another run took it first"))
		}
		return nil, errors.Join(fmt.Errorf("take the lock: %w", err), l.unsure(ctx))
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("take the lock: %w", err), l.unsure(ctx))
	}
	return l.checked(ctx)
}

// checked is the lock, once it is known that it binds others.
func (l *Lock) checked(ctx context.Context) (*Lock, error) {
	if err := l.Probe(ctx); err != nil {
		if _, busy := errors.AsType[*report.Fault](err); !busy {
			err = errors.Join(err, l.Release(context.WithoutCancel(ctx)))
		}
		return nil, err
	}
	return l, nil
}

// ask asks for the lock. One that the backend says we have already is ours if it says
// so as well when it is asked with other words: only then it does not repeat ours.
func (l *Lock) ask(ctx context.Context) error {
	err := l.client.Lock(ctx, l.info)
	if held, ok := backend.Held(err); ok && held.Asker && l.ours(ctx) {
		return nil
	}
	return err
}

// ours reports whether the backend names us as the holder to somebody else.
func (l *Lock) ours(ctx context.Context) bool {
	probe := l.probe()
	err := l.client.TryLock(ctx, probe)
	if err == nil { // nobody had it
		_ = l.open(ctx, probe)
		return false
	}
	held, ok := backend.Held(err)
	return ok && held.Holder != nil && held.Holder.ID == l.info.ID
}

// takeBack takes the lock that was held by a run that is over.
func (l *Lock) takeBack(ctx context.Context, stale *backend.LockInfo) error {
	// Asked once more: a run that was ending gave its lock back before it was gone, and
	// who has it since could be robbed of it where locks bind nobody.
	err := l.ask(ctx)
	held, ok := backend.Held(err)
	if !ok || held.Holder != nil && held.Holder.ID != stale.ID {
		return err
	}
	// By the holder's own words, so that a strict backend refuses when the lock is no
	// longer that one; whose it is then, the backend says.
	err = l.open(ctx, *stale)
	status, ok := errors.AsType[*backend.StatusError](err)
	anothers := ok && (status.Status == http.StatusConflict || status.Status == http.StatusLocked)
	if err != nil && !anothers {
		return fmt.Errorf("take back the lock %s: %w", stale.ID, err)
	}
	return l.ask(ctx)
}

// unsure gives back a lock that was asked for when a signal came, or that was
// taken by a request whose answer never arrived. Asking again tells: an UNLOCK
// alone could break the lock of another where locks bind nobody.
func (l *Lock) unsure(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), 10*time.Second, errors.New("the state backend took too long"))
	defer cancel()
	err := l.client.TryLock(ctx, l.info)
	if held, ok := backend.Held(err); err != nil && (!ok || !held.Asker || !l.ours(ctx)) {
		return nil // it is another's, or nobody can be asked
	}
	return l.Release(ctx)
}

func info(id ID, version string) backend.LockInfo {
	return backend.LockInfo{
		ID: id.String(), Operation: "slipway " + id.Verb, Info: "slipway run " + id.Nonce,
		Who: "slipway@" + id.Host, Version: version, Created: time.Now().UTC(), Path: id.Owner,
	}
}

// Probe makes sure that the lock binds others, and is still ours: a lock with a
// throw-away id must be refused with our id.
func (l *Lock) Probe(ctx context.Context) error {
	probe := l.probe()
	err := l.client.TryLock(ctx, probe)
	held, ok := backend.Held(err)
	switch {
	case err == nil:
		err = errors.Join(errors.New("the backend gave it to two at once"), l.open(ctx, probe))
		return report.Refuse("hold the lock", err, "nothing is changed over a backend that does not lock; look whether somebody broke the lock, and whether TF_HTTP_LOCK_ADDRESS is right")
	case !ok:
		return fmt.Errorf("probe the lock: %w", err)
	case held.Holder == nil:
		return nil // it says no, if not on whose behalf
	case held.Holder.ID != l.info.ID:
		return l.busy(held, errors.New("somebody broke our lock and has it now"))
	}
	return nil
}

// open gives back a lock that was just seen to be held.
func (l *Lock) open(ctx context.Context, held backend.LockInfo) error {
	return l.client.Unlock(ctx, held, l.probe())
}

// probe is a lock that nobody is to get while we hold ours.
func (l *Lock) probe() backend.LockInfo {
	other := l.ID
	other.Nonce, other.Verb = nonce(), "probe"
	return info(other, l.info.Version)
}

// Release gives the lock back, if it is still ours: some backends would give back
// whoever's it is. A lock that nobody has any more is given back.
func (l *Lock) Release(ctx context.Context) error {
	probe := l.probe()
	err := l.client.TryLock(ctx, probe)
	if held, ok := backend.Held(err); ok && held.Holder != nil && held.Holder.ID != l.info.ID {
		return l.busy(held, errors.New("somebody broke our lock and has it now"))
	}
	last := l.info
	if err == nil {
		last = probe
	}
	if err := l.open(ctx, last); err != nil {
		return fmt.Errorf("give back the lock %s: %w", l.info.ID, err)
	}
	return nil
}

// stale gives the holder of a lock that may be taken back.
func (l *Lock) stale(held *backend.HeldError, takeover string, log *report.Log) (*backend.LockInfo, error) {
	holder := held.Holder
	if holder == nil {
		return l.unnamed(held, takeover, log)
	}
	id, ours := Parse(holder.ID)
	vouched := takeover == holder.ID
	if ours && id.Owner == l.ID.Owner {
		vouched = vouched || takeover == Own
	}
	switch life := l.ID.Life(id, ours); {
	case life == Alive:
		return nil, l.busy(held, errors.New("its process lives"))
	case life == Dead && id.Owner == l.ID.Owner:
		log.Infof("taking back the lock of process %d, which is gone (%s)", id.PID, since(holder))
		return holder, nil
	case vouched:
		log.Warnf("taking over the lock %s (%s), whose run is said to be over", holder.ID, since(holder))
		return holder, nil
	case !ours:
		return nil, l.busy(held, nil)
	case id.Owner != l.ID.Owner:
		return nil, l.busy(held, errors.New("it is another deployment's"))
	default:
		return nil, l.busy(held, errors.New("whether its process lives can't be asked from here"))
	}
}

// unnamed gives the holder of a lock of which the backend does not say whose it is,
// where the caller vouches for its id: a backend that compares gives back no other.
func (l *Lock) unnamed(held *backend.HeldError, takeover string, log *report.Log) (*backend.LockInfo, error) {
	if takeover == "" || takeover == Own {
		return nil, l.busy(held, nil)
	}
	if id, ours := Parse(takeover); l.ID.Life(id, ours) == Alive {
		return nil, l.busy(held, fmt.Errorf("the process of %s lives", takeover))
	}
	log.Warnf("taking over the lock %s, whose run is said to be over; the backend does not say whose it is", takeover)
	return l.named(takeover), nil
}

// named is a lock of which only the id is known.
func (l *Lock) named(id string) *backend.LockInfo {
	other := l.info
	other.ID = id
	return &other
}

// busy is the fault of a lock that is not ours to take.
func (l *Lock) busy(held *backend.HeldError, why error) error {
	f := &report.Fault{Code: report.Busy, What: "take the lock of the state"}
	if held.Holder == nil {
		f.Why = errors.New("it is held, and the backend does not say by whom; operation and age are unknown")
		f.Hint = "ask whoever uses this state; where its id is known, STATE_LOCK_TAKEOVER=ID takes it over. Nothing was changed"
		if held.Retried {
			f.Why = fmt.Errorf("%w, and the answer to our first request was lost: the lock may be our own, %s", f.Why, l.info.ID)
			f.Hint = "if nobody else has it, STATE_LOCK_TAKEOVER=" + l.info.ID + " takes it over. Nothing was changed"
		}
		if why != nil {
			f.Why = fmt.Errorf("%w (%w)", f.Why, why)
		}
		return f
	}
	f.Why = errors.New(l.says(held.Holder))
	if why != nil {
		f.Why = fmt.Errorf("%w (%w)", f.Why, why)
	}
	f.Hint = "try again when it is free; if its holder is certainly gone, STATE_LOCK_TAKEOVER=" + held.Holder.ID + " takes it over. Nothing was changed"
	return f
}

// says names holder, operation and age.
func (l *Lock) says(holder *backend.LockInfo) string {
	if id, ours := Parse(holder.ID); ours {
		return fmt.Sprintf("held by a run of %s (%s), process %d on %s, %s", id.Owner, id.Verb, id.PID, id.Host, since(holder))
	}
	who, operation := holder.Who, holder.Operation
	if who == "" {
		who = "somebody"
	}
	if operation == "" || operation == l.info.Operation {
		operation = "operation unknown" // the backend gave back what we asked with
	}
	return fmt.Sprintf("held by %s (%s), id %s, %s", who, operation, holder.ID, since(holder))
}

func since(holder *backend.LockInfo) string {
	if holder.Created.IsZero() {
		return "since an unknown time"
	}
	age := max(time.Since(holder.Created), 0)
	return fmt.Sprintf("for %s, since %s", age.Round(time.Second), holder.Created.UTC().Format("2006-01-02 15:04:05 UTC"))
}

// Break gives back the lock that is held under wanted, whoever took it, unless it
// is provable that its run lives.
func Break(ctx context.Context, client *backend.Client, own ID, wanted, version string) error {
	l := &Lock{ID: own, client: client, info: info(own, version)}
	err := client.TryLock(ctx, l.info)
	if err == nil {
		return errors.Join(report.Refuse("give back the lock "+wanted, errors.New("nobody holds the lock"), "there is nothing to do"), l.Release(ctx))
	}
	held, ok := backend.Held(err)
	if !ok {
		return fmt.Errorf("look who holds the lock: %w", err)
	}
	holder := held.Holder
	if holder == nil { // the caller says whose it is
		holder = l.named(wanted)
	}
	if holder.ID != wanted {
		return report.Refuse("give back the lock "+wanted, errors.New("it is another: "+l.says(holder)), "the id that is held is "+holder.ID)
	}
	if id, ours := Parse(holder.ID); own.Life(id, ours) == Alive {
		return l.busy(held, errors.New("its process lives"))
	}
	if err := l.open(ctx, *holder); err != nil {
		return fmt.Errorf("give back the lock %s: %w", wanted, err)
	}
	return nil
}
