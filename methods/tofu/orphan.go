package tofu

import (
	"fmt"
	"slices"

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
		if o.Run == r.engine.Keys.Abandon {
			r.log.Warnf("forgetting %s: STATE_ABANDON says that it is gone", o)
			return true
		}
		if r.d.Adopts != nil && r.d.Adopts(o) {
			r.log.Infof("%s was made by a killed run and is in no state: its provider finds it by its name", o)
			return true
		}
		return false
	})
	if len(missing) == 0 {
		return nil
	}
	return r.orphans(missing)
}

// orphans refuses objects that are in no state.
func (r *run) orphans(missing []ledger.Object) error {
	return report.Refuse("use the state", fmt.Errorf("a killed run made objects that are in no state: %s", named(missing)),
		"nothing was changed, they would be made twice. Remove them and say STATE_ABANDON="+missing[0].Run+
			", or, where their ids are known, STATE_ORPHANS=import or STATE_ORPHANS=replace")
}
