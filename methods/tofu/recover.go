package tofu

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"fediversity.eu/slipway/methods/tofu/rundir"
	"fediversity.eu/slipway/methods/tofu/state"
	"fediversity.eu/slipway/targets/report"
)

// recover puts into the backend what an earlier run left in the directory, if the
// backend still has what that run began from: whatever else it has is somebody's, and
// nothing is written over it.
func (r *run) recover(ctx context.Context) error {
	left, marker, err := r.dir.Leftovers()
	if err != nil {
		return report.Refuse("recover what an earlier run left", err, "nothing was changed; look at "+r.dir.Path)
	}
	if len(left) == 0 {
		return nil
	}
	if r.abandoned(marker) {
		return r.shelve(left)
	}
	why, err := r.apart(left, marker)
	if err != nil {
		return report.Refuse("recover what an earlier run left", err, "nothing was changed; look at "+r.dir.Path)
	}
	if why != "" {
		return r.conflict(left, why)
	}
	newest := left[0]
	if marker != nil {
		r.marker = marker
	}
	if there := r.remote; r.lock != nil && there != nil && there.Serial == newest.State.Serial {
		r.newest = newest.State
		if there.Marker == nil {
			r.marker = nil
			return r.dir.Stored()
		}
		return nil
	}
	r.log.Infof("an earlier run was cut off: recovering its state, serial %d, from %s", newest.State.Serial, newest.Path)
	if _, err := r.dir.Keep(newest.State, r.marker); err != nil {
		return err
	}
	r.newest = newest.State
	if r.lock == nil || r.marker != nil && newest.State.Encrypted && r.remote != nil {
		return nil
	}
	if err := r.forward(ctx, newest.State); err != nil {
		r.behind = err
		return report.Fail("recover what an earlier run left", explained(err), "the state is NOT in the backend; it is in "+newest.Path+", and the next run tries again")
	}
	return nil
}

// shelve puts aside what was left of a bootstrap that the caller abandons: a run that
// went on with it may have made more than the caller looked for.
func (r *run) shelve(left []rundir.Version) error {
	if !slices.ContainsFunc(left, func(v rundir.Version) bool { return !v.State.Empty() }) {
		return nil
	}
	folder, err := r.dir.Aside(left)
	if err != nil {
		return report.Fail("put aside what an earlier run left", err, "look at "+r.dir.Path)
	}
	r.log.Warnf("STATE_ABANDON: what the earlier run left is in %s from now on, and in no backend", folder)
	return nil
}

// apart says why what was left can't follow what the backend has; empty is that it
// does.
func (r *run) apart(left []rundir.Version, marker *state.Marker) (string, error) {
	newest := left[0].State
	if slices.ContainsFunc(left, func(v rundir.Version) bool { return v.State.Lineage != newest.Lineage }) {
		return "the directory holds versions of two lineages", nil
	}
	switch there := r.remote; {
	case r.lock == nil:
		return "", nil
	case there == nil && (r.engine.Keys.steady() || marker == nil):
		return "absent: the backend has no state", nil
	case there == nil:
		return "", nil
	case there.Lineage != newest.Lineage:
		return "other lineage: the backend has " + there.Lineage, nil
	case there.Serial > newest.Serial:
		return fmt.Sprintf("the backend has gone on to serial %d", there.Serial), nil
	case there.Serial == newest.Serial && there.Marker == nil && !state.Equal(there.Raw, newest.Raw):
		return "the backend has another version of the same serial", nil
	case slices.ContainsFunc(left, func(v rundir.Version) bool { return same(there, v.State) }):
		return "", nil
	}
	known, err := r.dir.Known(r.remote)
	if err != nil || known {
		return "", err
	}
	return fmt.Sprintf("the backend has serial %d, which the earlier run neither began from nor wrote: somebody else has worked since", r.remote.Serial), nil
}

// same tells whether a version is one of the backend's, where it may have a marker.
func same(there, s *state.State) bool {
	if there.Marker == nil || there.Encrypted {
		return state.Equal(there.Raw, s.Raw)
	}
	raw, err := state.Unmarked(there.Raw)
	return err == nil && (state.Equal(raw, s.Raw) || state.Equal(there.Raw, s.Raw))
}

// conflict refuses what was left, unless the caller has it put aside. The hint names
// both, and what only one of them knows.
func (r *run) conflict(left []rundir.Version, why string) error {
	v := left[0]
	name := fmt.Sprintf("%d-%.12s", v.State.Serial, state.Digest(v.State.Raw))
	if r.engine.Keys.Aside == name {
		folder, err := r.dir.Aside(left)
		if err != nil {
			return report.Fail("put aside what an earlier run left", err, "look at "+r.dir.Path)
		}
		r.log.Warnf("%s: what the earlier run left is in %s from now on, and in no backend", why, folder)
		return nil
	}
	hint := fmt.Sprintf("nothing was changed. %s holds serial %d of lineage %s, which is in no backend", v.Path, v.State.Serial, v.State.Lineage)
	if only := r.onlyLeft(v.State); len(only) > 0 {
		hint += "; it alone tells of " + strings.Join(only, ", ") + ": take in what is still there of it by import, or remove it"
	}
	return report.Refuse("recover what an earlier run left", errors.New(why),
		hint+"; STATE_ASIDE="+name+" keeps it beside and goes on from the backend's. If it is the right one, put it into the backend yourself")
}

// onlyLeft lists the objects that are in a version, and not in the backend's.
func (r *run) onlyLeft(s *state.State) []string {
	if s.Sealed || r.remote != nil && r.remote.Sealed {
		return nil
	}
	holds := func(string, string) bool { return false }
	if r.remote != nil {
		holds = r.remote.Held()
	}
	var only []string
	for _, o := range s.Made() {
		if !holds(o.Address, o.ID) {
			only = append(only, o.String())
		}
	}
	return only
}
