package tofu

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"fediversity.eu/slipway/methods/tofu/ledger"
	"fediversity.eu/slipway/methods/tofu/state"
	"fediversity.eu/slipway/targets/report"
)

var (
	errGone   = errors.New("the run was killed")
	errKilled = errors.New("OpenTofu was killed")
)

// applier is an OpenTofu with its supervisor: it asks the broker for the state, makes
// and removes things, says so, and writes the state.
type applier struct {
	w       *walk
	r       *walker
	from    *state.State // what it was given, or has written
	objects []state.Object
	open    string // the address of what it is making
	dirty   bool   // the state has not been taken since it changed
}

func (a *applier) work(ctx context.Context, r *run) error {
	a.r.run = r
	if r.id.Verb == Destroy && r.newest.Empty() && len(r.orphans) == 0 {
		return nil
	}
	a.r.applier = a
	defer func() { a.r.applier = nil }()
	if err := a.load(); err != nil {
		return err
	}
	for _, o := range r.orphans {
		if err := a.takeIn(ctx, o); err != nil {
			return err
		}
	}
	return r.watched(ctx, func(ctx context.Context) (bool, error) {
		err := a.apply(ctx)
		if errors.Is(err, errKilled) || errors.Is(err, errGone) {
			return false, err
		}
		if errors.Is(err, errNotTaken) {
			a.keep(a.r.place.path)
		}
		a.say(a.r.place.path, ledger.End())
		return true, err
	})
}

// apply makes what is not there, or removes what is, and now and then the other way
// round.
func (a *applier) apply(ctx context.Context) error {
	for _, address := range []string{"thing.a", "thing.b", "thing.c"}[:1+a.w.choose(3)] {
		if ctx.Err() != nil {
			break
		}
		i := slices.IndexFunc(a.objects, func(o state.Object) bool { return o.Address == address })
		var err error
		switch {
		case i < 0 && a.r.verb == Apply:
			err = a.create(address)
		case i >= 0 && (a.r.verb == Destroy || a.w.choose(6) == 5):
			err = a.remove(a.objects[i])
		}
		if err == nil && a.w.choose(3) == 1 {
			err = a.write(ctx)
		}
		if errors.Is(err, errNotTaken) {
			break
		}
		if err != nil {
			return err
		}
	}
	if a.r.verb == Destroy {
		for _, o := range slices.Clone(a.objects) {
			if ctx.Err() != nil {
				break
			}
			if err := a.remove(o); err != nil {
				return err
			}
		}
	}
	if a.r.run.lock == nil {
		a.w.down = false // what was made is the backend
	}
	a.dirty = a.dirty || a.r.verb == Apply // an output tells of the run
	return a.write(ctx)
}

// step is a moment at which either process may be killed.
func (a *applier) step(what string) error {
	if d := a.w.pass(a.r, &point{what: what}); a.r.dead {
		return errGone
	} else if d == killTofu {
		return errKilled
	}
	return nil
}

func (a *applier) create(address string) error {
	a.say(a.r.place.path, hook("apply_start", "create", address, ""))
	a.open = address
	if err := a.step("about to make " + address); err != nil {
		return err
	}
	a.finish(a.r.place.path, a.w.choose(8) == 7)
	return a.step("has made " + address)
}

// finish makes what is begun. It may not be heard of.
func (a *applier) finish(path string, unheard bool) {
	id := a.w.world.create(a.r, a.open)
	a.w.tell("%s: %s is made, as %s", a.r.name, a.open, id)
	if !unheard {
		a.say(path, hook("apply_complete", "create", a.open, id))
	}
	a.objects, a.dirty, a.open = append(a.objects, state.Object{Address: a.open, ID: id}), true, ""
}

func (a *applier) remove(o state.Object) error {
	a.say(a.r.place.path, hook("apply_start", "delete", o.Address, o.ID))
	if err := a.step("about to remove " + o.Address); err != nil {
		return err
	}
	delete(a.w.world.objects, o.ID)
	a.objects, a.dirty = slices.DeleteFunc(a.objects, func(other state.Object) bool { return other == o }), true
	a.say(a.r.place.path, hook("apply_complete", "delete", o.Address, ""))
	return a.step("has removed " + o.Address)
}

// takeIn is an import.
func (a *applier) takeIn(ctx context.Context, o ledger.Object) error {
	if err := a.step("about to take in " + o.Address); err != nil {
		return err
	}
	if a.w.world.objects[o.ID] != o.Address {
		return report.Fail("take in "+o.String(), errors.New("it does not exist"), "STATE_ABANDON="+o.Run)
	}
	if slices.ContainsFunc(a.objects, func(other state.Object) bool { return other.Address == o.Address }) {
		return report.Fail("take in "+o.String(), errors.New("its address has another"), "STATE_ABANDON="+o.Run)
	}
	a.objects, a.dirty = append(a.objects, state.Object{Address: o.Address, ID: o.ID}), true
	return a.write(ctx)
}

// survive is what an OpenTofu does whose program was killed, unless it was too.
func (a *applier) survive() {
	if a.w.choose(2) == 1 {
		return
	}
	path := a.r.place.path
	if a.open != "" && a.w.choose(2) == 1 {
		a.finish(path, false)
	}
	if a.dirty {
		a.keep(path)
	}
	if a.r.run.begun && a.w.choose(2) == 0 { // else the program served the provider, and what became of it is unknown
		a.say(path, ledger.End())
	}
}

// keep writes the state where OpenTofu does if nobody takes it.
func (a *applier) keep(path string) {
	file := filepath.Join(path, "run-"+a.r.run.id.Nonce, "configuration", "errored.tfstate")
	if err := os.WriteFile(file, a.next(), 0o600); err != nil {
		a.w.t.Error(err)
	}
	a.w.tell("%s: errored.tfstate is written", a.r.name)
}

// say writes a line of the events.
func (a *applier) say(path string, line []byte) {
	file, err := os.OpenFile(filepath.Join(path, "events-"+a.r.run.id.Nonce+".jsonl"), os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = file.Write(line)
		err = errors.Join(err, file.Close())
	}
	if err != nil {
		a.w.t.Error(err)
	}
}

func hook(kind, action, address, id string) []byte {
	var e ledger.Event
	e.Type, e.Hook.Action, e.Hook.ID, e.Hook.Key = kind, action, id, "id"
	e.Hook.Resource.Address, e.Hook.Resource.Type = address, "thing"
	line, _ := json.Marshal(e) // of words alone
	return append(line, '\n')
}

// ask sends a request to the broker.
func (a *applier) ask(ctx context.Context, method string, text []byte) (int, []byte) {
	environment := a.r.run.broker.Environment()
	asked := httptest.NewRequestWithContext(ctx, method, environment["TF_HTTP_ADDRESS"], bytes.NewReader(text))
	asked.SetBasicAuth(environment["TF_HTTP_USERNAME"], environment["TF_HTTP_PASSWORD"])
	answer := httptest.NewRecorder()
	a.r.run.broker.ServeHTTP(answer, asked)
	return answer.Code, answer.Body.Bytes()
}

func (a *applier) load() error {
	status, text := a.ask(context.Background(), http.MethodGet, nil)
	s, err := state.Parse(text)
	if err != nil {
		return fmt.Errorf("read the state: %d: %w", status, err)
	}
	a.from, a.objects = s, s.Made()
	return nil
}

var errNotTaken = errors.New("the broker does not take the state")

// write gives the state to the broker, where it has changed.
func (a *applier) write(ctx context.Context) error {
	if !a.dirty {
		return nil
	}
	next := a.next()
	status, text := a.ask(ctx, http.MethodPost, next)
	if status == http.StatusOK && a.w.choose(8) == 7 { // its answer was lost
		status, text = a.ask(ctx, http.MethodPost, next)
	}
	if a.r.dead {
		return errGone
	}
	if status != http.StatusOK {
		return fmt.Errorf("%w: %d: %s", errNotTaken, status, text)
	}
	s, err := state.Parse(next)
	a.from, a.dirty = s, false
	return err
}

// next is the state as it is now.
func (a *applier) next() []byte { return a.w.world.render(a.from, a.objects) }

// render is a version that follows another.
func (o *world) render(from *state.State, objects []state.Object) []byte {
	o.written++
	name := strconv.Itoa(o.written)
	o.parents[strconv.Quote(name)] = version(from)
	var resources []string
	for _, x := range objects {
		_, label, _ := strings.Cut(x.Address, ".")
		resources = append(resources, fmt.Sprintf(`{"mode":"managed","type":"thing","name":%q,"instances":[{"attributes":{"id":%q}}]}`, label, x.ID))
	}
	return fmt.Appendf(nil, `{"version":4,"terraform_version":"1.12.6","serial":%d,"lineage":%q,"outputs":{"version":{"value":%q,"type":"string"}},"resources":[%s]}`,
		from.Serial+1, from.Lineage, name, strings.Join(resources, ","))
}
