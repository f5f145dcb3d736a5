//go:build checks

package checks

import (
	"net/http"
	"os"
	"path"
	"path/filepath"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"fediversity.eu/slipway/checks/incusd"
	"fediversity.eu/slipway/targets/report"
)

// onServer is an instance or a profile as the server has it.
type onServer struct {
	Config   map[string]string
	Devices  map[string]map[string]string
	Profiles []string
}

func (w *incusWorld) get(path string) onServer {
	w.t.Helper()
	var o onServer
	status, fault := w.ask(w.admin, http.MethodGet, path, nil, &o)
	assert.Equal(w.t, status, http.StatusOK, fault)
	return o
}

// volumes are the data disks on the server.
func (w *incusWorld) volumes() []string {
	w.t.Helper()
	all := w.list("/1.0/storage-pools/" + incusd.Pool + "/volumes/custom")
	for i := range all {
		all[i] = path.Base(all[i])
	}
	return all
}

// TestIncusHostsSurroundings makes a profile and a data disk with a machine, and
// takes their declarations away while they are there.
func TestIncusHostsSurroundings(t *testing.T) {
	w := newIncusWorld(t)
	w.images()
	w.stateful("web")
	const program, own = "operator-tf-incus-web", "/1.0/profiles/operator-web"
	assert.Equal(t, w.slipway(baked, "operator-image-publish").code, report.Healthy)
	status, fault := w.ask(w.admin, http.MethodPost, "/1.0/profiles", map[string]any{"name": "shared", "config": map[string]string{"user.shared": "yes"}}, nil)
	assert.Equal(t, status, http.StatusCreated, fault)
	profiles := func() []string { return w.list("/1.0/profiles") }

	w.env["INCUS_MAKES"], w.env["INCUS_PROFILES"] = "profile", "shared"
	missing := w.slipway(map[string]string{"STATE_PHASE": "cold", "INCUS_PROFILES": "shared,absent"}, program)
	assert.Equal(t, missing.code, report.Refused)
	assert.Assert(t, cmp.Contains(missing.stderr, "has no absent"))
	first := w.slipway(cold, program)
	assert.Equal(t, first.code, report.Healthy)
	assert.Equal(t, *first.record.State.Plan, report.Counts{Changes: true, Add: 3})
	assert.DeepEqual(t, w.get("/1.0/instances/operator-web").Profiles, []string{"shared", "operator-web"})
	assert.Assert(t, cmp.Len(w.get("/1.0/instances/operator-web").Devices, 0))
	assert.Assert(t, cmp.Len(w.get(own).Devices, 2))
	assert.Assert(t, !w.slipway(nil, program+"-plan").record.State.Plan.Changes)

	// Somebody changes it: that is drift, and is repaired.
	status, fault = w.ask(w.admin, http.MethodPatch, own, map[string]any{"config": map[string]string{"limits.memory": "1GiB"}}, nil)
	assert.Equal(t, status, http.StatusOK, fault)
	assert.Equal(t, w.slipway(nil, program+"-plan").record.State.Plan.Change, 1)
	assert.Equal(t, w.slipway(nil, program).code, report.Healthy)
	assert.Equal(t, w.get(own).Config["limits.memory"], "")
	w.env["INCUS_CONFIG"] = `{"limits.cpu":"2"}`
	more := w.slipway(nil, program)
	assert.Equal(t, more.code, report.Healthy)
	assert.Equal(t, *more.record.State.Plan, report.Counts{Changes: true, Change: 1})
	assert.Equal(t, w.get(own).Config["limits.cpu"], "2")

	declare := func(keep bool) {
		w.write("module.json", w.module(func(group map[string]any) {
			group["resources"].(map[string]any)["web"].(map[string]any)["incus"] = map[string]any{
				"volumes": []any{map[string]any{"name": "data", "path": "/var/data", "keep": keep}},
			}
		}))
		o := w.slipway(nil, program)
		assert.Equal(t, o.code, report.Healthy)
		assert.DeepEqual(t, w.volumes(), []string{"operator-web-data"})
		w.inside(w.addressOf("operator-web"), "echo kept >/var/data/witness")
		assert.NilError(t, os.Remove(filepath.Join(w.source, "module.json")))
	}
	refused := func(address string) {
		for _, verb := range []string{"-plan", "", "-destroy"} {
			o := w.slipway(nil, program+verb)
			assert.Equal(t, o.code, report.Refused)
			assert.Assert(t, cmp.Contains(o.stderr, "STATE_FORGET="+address))
			assert.Assert(t, cmp.Contains(o.stderr, "STATE_REMOVE="+address))
		}
	}
	const disk = "incus_storage_volume.web-data"
	for _, keep := range []bool{true, false} {
		declare(keep)
		refused(disk)
		assert.Equal(t, w.inside(w.addressOf("operator-web"), "cat /var/data/witness"), "kept")
		o := w.slipway(map[string]string{"STATE_REMOVE": disk}, program)
		assert.Equal(t, o.code, report.Healthy)
		assert.Assert(t, cmp.Len(w.volumes(), 0))
	}
	declare(false)
	forgotten := w.slipway(map[string]string{"STATE_FORGET": disk}, program)
	assert.Equal(t, forgotten.code, report.Healthy)
	assert.DeepEqual(t, w.volumes(), []string{"operator-web-data"})
	assert.Assert(t, !w.slipway(nil, program+"-plan").record.State.Plan.Changes)

	// Its settings become the machine's own, and a profile's again.
	w.env["INCUS_MAKES"] = ""
	refused("incus_profile.web")
	given := w.slipway(map[string]string{"STATE_REMOVE": "incus_profile.web"}, program)
	assert.Equal(t, given.code, report.Healthy)
	assert.DeepEqual(t, profiles(), []string{"/1.0/profiles/default", "/1.0/profiles/shared"})
	assert.Equal(t, w.get("/1.0/instances/operator-web").Config["limits.cpu"], "2")
	w.env["INCUS_MAKES"] = "profile"
	assert.Equal(t, w.slipway(nil, program).code, report.Healthy)
	assert.Assert(t, cmp.Len(profiles(), 3))

	gone := w.slipway(nil, program+"-destroy")
	assert.Equal(t, gone.code, report.Healthy)
	assert.Assert(t, cmp.Len(w.list("/1.0/instances"), 0))
	assert.DeepEqual(t, profiles(), []string{"/1.0/profiles/default", "/1.0/profiles/shared"})
	assert.DeepEqual(t, w.volumes(), []string{"operator-web-data"})
}
