package tf

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"fediversity.eu/slipway/internal/toolchain"
	"fediversity.eu/slipway/methods/deploy"
	"fediversity.eu/slipway/methods/made"
	"fediversity.eu/slipway/methods/nixos"
	"fediversity.eu/slipway/methods/tofu"
	"fediversity.eu/slipway/methods/tofu/backend"
	"fediversity.eu/slipway/methods/tofu/binary"
	"fediversity.eu/slipway/methods/tofu/inherent"
	"fediversity.eu/slipway/methods/tofu/state"
	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/report"
	"fediversity.eu/slipway/targets/task"
)

// The keys that are arguments of verbs.
type (
	addressKey struct {
		Address string `env:"ADDRESS,required" scope:"machine" desc:"address of an object, as state-list prints it"`
	}
	idKey struct {
		ID string `env:"ID,required" scope:"machine" desc:"what to import: the machine's name, or where it is"`
	}
	lockKey struct {
		ID string `env:"LOCK_ID,required" scope:"machine" desc:"id of the lock to give back, as the refused run named it"`
	}
)

// verbTask is one run of a verb of OpenTofu.
type verbTask struct {
	verb      string
	reach     deploy.Reach
	booted    *deploy.Booted // nil for a machine that is there, or is made
	made      made.Machine   // nil for a machine that is there, or is booted
	blueprint *nixos.Blueprint
	inherent  *inherent.State

	change  deploy.ChangeKeys
	backend backend.Keys
	keys    tofu.Keys
	found   binary.Keys
	tools   toolchain.Keys
	cache   env.Cache
	address addressKey
	id      idKey
	lock    lockKey
}

// builds tells whether the verb needs the system.
func (v *verbTask) builds() bool { return v.verb == tofu.Apply || v.verb == tofu.PlanVerb }

// looks tells whether it needs the machine.
func (v *verbTask) looks() bool {
	return v.builds() || v.verb == tofu.Refresh || v.verb == tofu.Import
}

// speaks tells whether it needs the servers that keep inherent state.
func (v *verbTask) speaks() bool { return v.looks() || v.verb == tofu.Destroy }

// unmakes tells whether it removes the machine together with what it is made of.
func (v *verbTask) unmakes() bool { return v.made != nil && v.verb == tofu.Destroy }

// stateful tells whether it needs the state.
func (v *verbTask) stateful() bool { return v.verb != tofu.Validate }

func (v *verbTask) Coordinates() []any {
	all := []any{&v.cache, &v.found, &v.tools}
	if v.stateful() {
		all = append(all, &v.keys)
		if v.booted == nil {
			all = append(all, &v.backend)
		}
	}
	if v.looks() || v.booted != nil || v.unmakes() {
		all = append(all, v.reach.Way.Coordinates()...)
	}
	all = append(all, v.inherent.Coordinates(v.speaks())...)
	if v.made != nil {
		all = append(all, v.made.Keys(v.verb)...)
	}
	if v.builds() {
		all = append(append(all, v.blueprint.Coordinates()...), v.change.Coordinates()...)
	}
	switch v.verb {
	case tofu.StateShow:
		all = append(all, &v.address)
	case tofu.Import:
		all = append(all, &v.address, &v.id)
	case tofu.ForceUnlock:
		all = append(all, &v.lock)
	}
	return all
}

// Check looks at the coordinates before anything starts.
func (v *verbTask) Check(environment env.Environment) error {
	var faults []error
	if _, err := environment.CacheDir(); err != nil {
		faults = append(faults, &report.Fault{Code: report.Usage, What: "read the coordinates", Why: err})
	}
	if v.looks() || v.unmakes() {
		faults = append(faults, v.reach.Way.Check())
	}
	if err := v.backend.Check(); err != nil {
		faults = append(faults, &report.Fault{Code: report.Usage, What: "read the coordinates", Why: err})
	}
	faults = append(faults, v.inherent.Check(v.speaks()))
	switch v.verb {
	case tofu.StateShow:
		faults = append(faults, tofu.Operand("ADDRESS", v.address.Address))
	case tofu.Import:
		faults = append(faults, tofu.Operand("ADDRESS", v.address.Address), tofu.Operand("ID", v.id.ID))
	case tofu.ForceUnlock:
		faults = append(faults, tofu.Operand("LOCK_ID", v.lock.ID))
	}
	if v.made != nil {
		faults = append(faults, v.made.CheckKeys(v.verb))
	}
	if v.builds() {
		faults = append(faults, v.blueprint.Check(environment), v.change.Check())
	}
	return errors.Join(faults...)
}

// Run builds first where a system is needed, so that the plan shows it, and then
// lets OpenTofu do the rest, by way of the provider.
func (v *verbTask) Run(ctx context.Context, run *task.Run) (err error) {
	w := &work{run: run, reach: v.reach, booted: v.booted, made: v.made != nil, keys: v.change, verb: v.verb, within: joined(ctx)}
	if v.builds() {
		if w.built, err = v.blueprint.Build(ctx, run); err != nil {
			return err
		}
	}
	engine := &tofu.Engine{Environment: run.Environment, Log: run.Log, Backend: v.backend, Keys: v.keys}
	if engine.Tofu, err = binary.Find(ctx, run.Environment, v.found, v.tools, run.Log); err != nil {
		return err
	}
	if v.booted != nil && v.stateful() {
		own, failed := embed(ctx, run, w.id())
		if failed != nil {
			return failed
		}
		defer func() { err = errors.Join(err, own.close()) }()
		if v.verb == tofu.Destroy && own.kind() == state.Absent {
			return w.down(ctx) // what is left of a first run that came to nothing
		}
		own.furnish(engine)
	}
	d, stop, err := v.deployment(ctx, run, w)
	if err != nil {
		return err
	}
	defer stop()
	switch v.verb {
	case tofu.Apply, tofu.Destroy, tofu.PlanVerb, tofu.Refresh, tofu.Import:
		return v.result(ctx, w, engine, d)
	}
	engine.Found = func(lineage string, serial uint64) {
		run.Record.State = &report.State{Lineage: lineage, Serial: serial}
		sayState(run, lineage, serial)
	}
	return w.prefer(v.read(ctx, run, engine, d))
}

// result runs a verb that ends with a plan, a state, or both.
func (v *verbTask) result(ctx context.Context, w *work, engine *tofu.Engine, d tofu.Deployment) error {
	var r *tofu.Result
	var err error
	switch v.verb {
	case tofu.Apply:
		r, err = engine.Apply(ctx, d)
	case tofu.Destroy:
		r, err = engine.Destroy(ctx, d)
		if err == nil && v.made != nil {
			err = v.made.Gone(ctx, w.run)
		}
		if err == nil && v.booted != nil {
			err = w.down(ctx) // also one that a killed run booted, and no state tells of
		}
	case tofu.PlanVerb:
		r, err = engine.Plan(ctx, d)
	case tofu.Refresh:
		r, err = engine.Refresh(ctx, d)
	case tofu.Import:
		r, err = engine.Import(ctx, d, v.address.Address, v.id.ID)
	}
	err = w.prefer(err)
	if w.run.Record.Reverted != nil && v.verb == tofu.Apply && ctx.Err() == nil {
		r, err = v.back(ctx, w, engine, d, r, err)
	}
	v.tell(w.run, r, err)
	if err != nil {
		return err
	}
	switch v.verb {
	case tofu.Apply:
		return w.finish(ctx)
	case tofu.PlanVerb:
		return v.planned(ctx, w, r.Plan)
	}
	return nil
}

// back tells the state of a machine that it went back: an apply can only write down
// what it had planned.
func (v *verbTask) back(ctx context.Context, w *work, engine *tofu.Engine, d tofu.Deployment, applied *tofu.Result, why error) (*tofu.Result, error) {
	w.run.Log.Infof("bringing the state up to date with the machine, which went back")
	r, err := engine.Refresh(ctx, d)
	if err != nil {
		return applied, errors.Join(why, fmt.Errorf("the state still tells of the system that the machine left: %w", err))
	}
	if applied != nil {
		r.Plan = applied.Plan
	}
	return r, why
}

// tell says what the next run of the deployment may be told.
func (v *verbTask) tell(run *task.Run, r *tofu.Result, err error) {
	if r == nil || report.CodeOf(err) == report.Refused {
		return // it may be the state of another
	}
	run.Record.State = &report.State{}
	if len(r.Objects) > 0 || err == nil && v.verb == tofu.Destroy {
		run.Record.State.Lineage, run.Record.State.Serial = r.Lineage, r.Serial
	}
	if v.verb != tofu.Import {
		p := r.Plan
		run.Record.State.Plan = &report.Counts{Changes: p.Changed, Add: p.Add, Change: p.Change, Remove: p.Remove, Import: p.Import}
	}
	if v.verb == tofu.Destroy && err == nil {
		run.Log.Infof("the state is detached")
		if own := v.inherent.Addresses(); len(own) > 0 {
			run.Log.Infof("what was kept elsewhere stays: %s", strings.Join(own, ", "))
		}
		return
	}
	if len(r.Objects) == 0 {
		return // of a first run that has come to nothing, or is only planned
	}
	sayState(run, r.Lineage, r.Serial)
}

// sayState says where the state is, in the variables of the next run.
func sayState(run *task.Run, lineage string, serial uint64) {
	run.Log.Infof("state: STATE_LINEAGE=%s STATE_SERIAL=%d", lineage, serial)
}

// planned prints a plan: OpenTofu's, which tells what the machine's state would
// become, and under it what that means for the machine.
func (v *verbTask) planned(ctx context.Context, w *work, p tofu.Plan) error {
	if _, err := fmt.Fprint(w.run.Out, p.Text); err != nil {
		return err
	}
	if p.Changed {
		if err := w.preview(ctx); err != nil {
			return err
		}
	}
	if v.keys.PlanExit == "detailed" && p.Changed {
		return &report.Fault{Code: report.RebootNeeded, Words: "changes", What: "plan", Why: errors.New(p.String())}
	}
	w.run.Log.Infof("plan: %s", p)
	return nil
}
