package tofu

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-exec/tfexec"

	"fediversity.eu/slipway/methods/tofu/ledger"
	"fediversity.eu/slipway/methods/tofu/state"
	"fediversity.eu/slipway/targets/report"
)

// abandoned tells whether the caller has cleaned up after the run of a marker.
func (r *run) abandoned(m *state.Marker) bool {
	return m != nil && r.engine.Keys.Abandon == m.Run
}

// count compares what killed runs made with the state, before anything is
// planned: what is in no state would be made a second time.
func (r *run) count() error {
	l, err := ledger.Read(r.dir.Path)
	if err != nil {
		return report.Refuse("compare what killed runs made with the state", err, "nothing was changed")
	}
	missing := slices.DeleteFunc(l.Missing(r.newest), func(o ledger.Object) bool {
		if r.d.Adopts != nil && r.d.Adopts(o) {
			r.log.Infof("%s was made by a killed run and is in no state: its provider finds it by its name", o)
			return true
		}
		return false
	})
	if r.id.Verb == Import {
		// It makes nothing, and takes in one of them at a time.
		r.missing = missing
		return nil
	}
	if r.id.Verb == Refresh && r.engine.Keys.Orphans == replaceOrphans && len(missing) > 0 {
		return report.Refuse("refresh the state", fmt.Errorf("a killed run made what is in no state: %s, and a refresh replaces nothing", named(missing)),
			"nothing was changed: apply with STATE_ORPHANS=replace first, or take in what is sound by STATE_ORPHANS=import")
	}
	unknown := slices.DeleteFunc(slices.Clone(missing), func(o ledger.Object) bool { return o.ID != "" })
	if len(missing) == 0 || r.engine.Keys.takesIn() && len(unknown) == 0 {
		r.orphans = missing
		return nil
	}
	hint := "nothing was changed: they would be made twice. Remove what is there of them and say " + abandoning(missing) +
		", or take in those with an id by STATE_ORPHANS=import or replace"
	if len(unknown) > 0 {
		hint += ", after removing those of unknown fate, and with " + abandoning(unknown)
	}
	if slices.ContainsFunc(missing, func(o ledger.Object) bool { return o.Doubted }) {
		hint += "; somebody else has written the state since, and what it holds under such an address may be another object"
	}
	return report.Refuse("use the state", fmt.Errorf("a killed run made what is in no state: %s", named(missing)), hint)
}

// abandoning is what to say when objects are gone, run after run: one at a time.
func abandoning(objects []ledger.Object) string {
	var said []string
	for _, o := range objects {
		if one := "STATE_ABANDON=" + o.Run; !slices.Contains(said, one) {
			said = append(said, one)
		}
	}
	return strings.Join(said, ", then ")
}

// heed brings the record of what killed runs made up to date, before this run can be
// refused: with what the caller says of them, who can name one run at a time, and with
// what somebody else has written since.
func (r *run) heed() error {
	known := r.newest
	if known == nil {
		known = r.remote
	}
	l, err := ledger.Read(r.dir.Path)
	if err == nil {
		err = r.doubt(l, known)
	}
	if err == nil {
		err = r.forget(l, known)
	}
	if err != nil {
		return report.Refuse("compare what killed runs made with the state", err, "nothing was changed")
	}
	return nil
}

// doubt notes whether somebody else has written the state.
func (r *run) doubt(l *ledger.Ledger, known *state.State) error {
	if r.remote == nil {
		return nil
	}
	ours, err := r.dir.Known(r.remote)
	if err != nil || ours {
		return err
	}
	return l.Doubt(known)
}

// forget lets go of what the caller says is gone. Where objects are taken in, it is only
// those of unknown fate that the caller speaks of.
func (r *run) forget(l *ledger.Ledger, known *state.State) error {
	run, all := r.engine.Keys.Abandon, !r.engine.Keys.takesIn()
	forgets := false
	for _, o := range l.Missing(known) {
		if o.Run == run && (all || o.ID == "") {
			r.log.Warnf("forgetting %s: STATE_ABANDON says that it is gone", o)
			forgets = true
		}
	}
	if !forgets {
		return nil
	}
	return l.Forget(run, all)
}

// keepsEvents tells whether the next run must compare again: this one did not end
// by itself, or did not take in what an earlier one made.
func (r *run) keepsEvents() bool {
	if r.lost || len(r.orphans)+len(r.missing) == 0 {
		return r.lost
	}
	l, err := ledger.Read(r.dir.Path)
	if err != nil {
		return true
	}
	still := l.Missing(r.newest)
	return slices.ContainsFunc(slices.Concat(r.orphans, r.missing), func(o ledger.Object) bool { return slices.Contains(still, o) })
}

// What STATE_ORPHANS may say, beside refuse.
const (
	importOrphans  = "import"
	replaceOrphans = "replace"
)

func (k Keys) takesIn() bool { return k.Orphans == importOrphans || k.Orphans == replaceOrphans }

// ready prepares the folder, and takes in the objects that killed runs made and
// that are in no state.
func (r *run) ready(ctx context.Context) error {
	if err := r.shop.init(ctx, true); err != nil {
		return err
	}
	var tainted []ledger.Object
	for _, o := range r.orphans {
		r.log.Infof("taking in %s, which a killed run made", o)
		err := r.shop.take(ctx, o.Address, o.ID)
		switch {
		case err == nil:
		case ctx.Err() != nil:
			return err
		case r.engine.Keys.Orphans == replaceOrphans:
			r.log.Infof("it can't be imported, and is removed by its id alone: %v", err)
			tainted = append(tainted, o)
		default:
			return report.Fail("take in "+o.String(), err, "where it can't be imported, say STATE_ORPHANS=replace, or remove it and say STATE_ABANDON="+o.Run)
		}
	}
	if len(tainted) == 0 {
		return nil
	}
	if err := r.taint(ctx, tainted); err != nil {
		return report.Fail("take in "+named(tainted), err, "remove what is there and say STATE_ABANDON="+tainted[0].Run)
	}
	return nil
}

// replaced are the plan's options for objects that are to be made again.
func (r *run) replaced() []tfexec.PlanOption {
	var opts []tfexec.PlanOption
	if r.engine.Keys.Orphans == replaceOrphans {
		for _, o := range r.orphans {
			opts = append(opts, tfexec.Replace(o.Address))
		}
	}
	return opts
}

// named lists objects, all of them: only by their names can they be taken in or removed.
func named(objects []ledger.Object) string {
	names := make([]string, len(objects))
	for i, o := range objects {
		names[i] = o.String()
	}
	return strings.Join(names, ", ")
}

// listed is the start of a list, and how many more there are.
func listed(names []string) string {
	const most = 10
	text := strings.Join(names[:min(len(names), most)], ", ")
	if len(names) > most {
		text += fmt.Sprintf(" and %d more", len(names)-most)
	}
	return text
}
