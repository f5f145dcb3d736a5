//go:build checks

package checks

import (
	"bytes"
	"maps"
	"mime/multipart"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"fediversity.eu/slipway/checks/incusd"
	"fediversity.eu/slipway/targets/report"
)

// baked are the modules that the program carries.
var baked = map[string]string{"SELF_MODULE_SOURCE": ""}

// failing is trivial with a service that fails.
var failing = strings.ReplaceAll(trivial, "sleep 1000000", "sh -c 'exit 7'")

func TestIncusHosts(t *testing.T) {
	w := newIncusWorld(t)
	w.images()
	w.stateful("web")
	address := func() string { return w.addressOf("operator-web") }

	early := w.slipway(cold, "operator-tf-incus-web-apply")
	assert.Equal(t, early.code, report.Refused, "there is no image to make it from")
	assert.Assert(t, cmp.Contains(early.stderr, "operator/base"))

	runs := w.asTheReadmeSays()
	published, first, again := runs[0], runs[1], runs[2]
	assert.Equal(t, published.code, report.Healthy)
	t.Logf("image: %v", published.record.Timings)

	assert.Equal(t, first.code, report.Healthy)
	t.Logf("first deployment: %v", first.record.Timings)
	assert.Equal(t, *first.record.State.Plan, report.Counts{Changes: true, Add: 2})
	assert.Equal(t, w.inside(address(), "readlink -f /run/current-system"), first.record.Toplevel)
	made := w.inside(address(), "cat /proc/sys/kernel/random/boot_id /etc/machine-id; stat -c %i /")

	assert.Equal(t, again.code, report.Healthy)
	assert.Assert(t, !again.record.Changed)
	assert.Assert(t, !again.record.State.Plan.Changes)
	assert.Equal(t, again.record.State.Serial, first.record.State.Serial)

	for verb, want := range map[string]string{
		"validate": "", "refresh": "", "state-list": "incus_instance.web\nslipway_machine.web\n", "output": `"value": "healthy"`, "generations": "default running",
	} {
		o := w.slipway(nil, "operator-tf-incus-web-"+verb)
		assert.Equal(t, o.code, report.Healthy, verb)
		assert.Check(t, cmp.Contains(o.stdout, want))
	}

	w.write("operator/web.nix", strings.ReplaceAll(trivial, "first", "second"))
	changed := w.slipway(nil, "operator-tf-incus-web-apply")
	assert.Equal(t, changed.code, report.Healthy)
	assert.Equal(t, *changed.record.State.Plan, report.Counts{Changes: true, Change: 1})
	assert.Equal(t, w.inside(address(), "cat /etc/motd-of-check"), "second")
	assert.Equal(t, w.inside(address(), "cat /proc/sys/kernel/random/boot_id /etc/machine-id; stat -c %i /"), made, "the machine is the same one")

	newer := w.slipway(map[string]string{"INCUS_IMAGE": w.smallImage()}, "operator-tf-incus-web-plan")
	assert.Equal(t, newer.code, report.Healthy)
	assert.Assert(t, !newer.record.State.Plan.Changes, "a newer image is no reason to make it again")

	w.write("operator/web.nix", failing)
	sick := w.slipway(nil, "operator-tf-incus-web-apply")
	assert.Equal(t, sick.code, report.Unhealthy)
	assert.Assert(t, cmp.Contains(sick.stderr, "trivial.service: failed"))
	assert.Equal(t, w.slipway(nil, "operator-tf-incus-web-verify").code, report.Unhealthy)

	// Somebody stops it, and gives it more memory than it was to have.
	w.stop("operator-web")
	w.write("operator/web.nix", trivial)
	started := w.slipway(map[string]string{"INCUS_CONFIG": `{"limits.cpu":"2"}`}, "operator-tf-incus-web-apply")
	assert.Equal(t, started.code, report.Healthy)
	assert.Equal(t, *started.record.State.Plan, report.Counts{Changes: true, Change: 2})
	assert.Equal(t, w.setting("operator-web", "limits.cpu"), "2")

	gone := w.slipway(nil, "operator-tf-incus-web-destroy")
	assert.Equal(t, gone.code, report.Healthy)
	assert.Assert(t, cmp.Len(w.list("/1.0/instances"), 0))
	assert.Equal(t, w.slipway(nil, "operator-tf-incus-web-apply").code, report.Refused, "steady, and there is no state")
	imagined := w.slipway(cold, "operator-tf-incus-web-plan")
	assert.Equal(t, imagined.code, report.Healthy)
	assert.Assert(t, cmp.Contains(imagined.stdout, "incus_instance.web will be created"))
	assert.Assert(t, cmp.Len(w.list("/1.0/instances"), 0), "a plan makes nothing")

	// What is another's is left alone.
	w.foreign("operator-web")
	taken := w.slipway(cold, "operator-tf-incus-web-apply")
	assert.Equal(t, taken.code, report.Refused)
	assert.Assert(t, cmp.Contains(taken.stderr, "none of this deployment's"))
	assert.DeepEqual(t, w.list("/1.0/instances"), []string{"/1.0/instances/operator-web"})

	// Its surroundings are made with it, and go with it.
	before := slices.Concat(w.list("/1.0/projects"), w.list("/1.0/networks"))
	w.env["INCUS_MAKES"], w.env["INCUS_PROJECT"], w.env["INCUS_NETWORK"] = "project,network", "own", "own0"
	w.env["INCUS_NETWORK_CONFIG"] = `{"ipv4.address":"10.97.0.1/24","ipv4.nat":"false"}`
	w.env["INCUS_IPV4"] = "10.97.0.7"
	nowhere := w.slipway(baked, "operator-image-publish")
	assert.Equal(t, nowhere.code, report.Refused, "its project is made with the machine, and has no images of its own")
	assert.Assert(t, cmp.Contains(nowhere.stderr, "WEB_INCUS_PROJECT"))
	own := w.slipway(cold, "operator-tf-incus-web-apply")
	assert.Equal(t, own.code, report.Healthy)
	assert.Equal(t, address(), "10.97.0.7")
	assert.Assert(t, !w.slipway(nil, "operator-tf-incus-web-plan").record.State.Plan.Changes)
	assert.Equal(t, w.slipway(nil, "operator-tf-incus-web-destroy").code, report.Healthy)
	assert.DeepEqual(t, slices.Concat(w.list("/1.0/projects"), w.list("/1.0/networks")), before)
}

// asTheReadmeSays runs what the README calls, in its order and with its variables;
// only the server is another.
func (w *incusWorld) asTheReadmeSays() []outcome {
	w.t.Helper()
	home := filepath.Join(w.dir, "home")
	assert.NilError(w.t, os.MkdirAll(filepath.Join(home, "incus"), 0o700))
	key, err := os.ReadFile(w.env["INCUS_CLIENT_KEY_FILE"])
	assert.NilError(w.t, err)
	for name, text := range map[string]string{"client.crt": w.env["INCUS_CLIENT_CERTIFICATE"], "client.key": string(key)} {
		assert.NilError(w.t, os.WriteFile(filepath.Join(home, "incus", name), []byte(text), 0o600))
	}
	delete(w.env, "INCUS_CLIENT_CERTIFICATE")
	var script strings.Builder
	var programs []string
	for line := range strings.Lines(labelled(w.t, "incus")) {
		before, program, called := strings.Cut(strings.Split(line, " #")[0], "go tool slipway ")
		if !called {
			script.WriteString(strings.ReplaceAll(line, "=…", "=unset"))
			continue
		}
		programs = append(programs, strings.TrimSpace(program))
		script.WriteString(before + "env -0 | base64 -w 0 | sed 's/^/== /;s/$/\\n/'\n")
	}
	assert.DeepEqual(w.t, programs, []string{"operator-image-publish", "operator-tf-incus-web-apply", "operator-tf-incus-web-apply"})
	out := shell(w.t, home, map[string]string{"HOME": home}, script.String())
	said := strings.Split(strings.TrimPrefix(out, "== "), "== ")
	assert.Assert(w.t, cmp.Len(said, len(programs)))
	var outcomes []outcome
	for i, program := range programs {
		changes := map[string]string{}
		for name, value := range variablesOf(w.t, said[i]) {
			if strings.HasPrefix(name, "INCUS_") && name != "INCUS_ADDRESS" && name != "INCUS_SERVER_CERTIFICATE" || name == "STATE_PHASE" {
				changes[name] = value
			}
		}
		if strings.Contains(program, "image") {
			maps.Copy(changes, baked)
		}
		outcomes = append(outcomes, w.slipway(changes, program))
		for name, value := range changes {
			if strings.HasPrefix(name, "INCUS_") {
				w.env[name] = value
			}
		}
	}
	return outcomes
}

// TestIncusHostsKeepData makes a machine with a data disk, which outlives it.
func TestIncusHostsKeepData(t *testing.T) {
	w := newIncusWorld(t)
	w.images()
	w.stateful("db")
	w.env["HOSTING_CONFIG"], w.env["SELF_MODULE_SOURCE"] = w.hosting(), ""
	const program, data = "operator-tf-incus-db", "/var/lib/postgresql/witness"
	volumes := func() []string {
		all := w.list("/1.0/storage-pools/" + incusd.Pool + "/volumes/custom")
		for i := range all {
			all[i] = path.Base(all[i])
		}
		return all
	}
	assert.Equal(t, w.slipway(nil, "operator-image-publish").code, report.Healthy)

	first := w.slipway(cold, program)
	assert.Equal(t, first.code, report.Healthy)
	assert.Equal(t, *first.record.State.Plan, report.Counts{Changes: true, Add: 3})
	w.inside(w.addressOf("operator-db"), "echo kept >"+data)

	// The machine is lost: it is made again, with its data.
	w.remove("operator-db")
	again := w.slipway(nil, program)
	assert.Equal(t, again.code, report.Healthy)
	assert.Equal(t, again.record.State.Plan.Add, 1)
	assert.Equal(t, w.inside(w.addressOf("operator-db"), "cat "+data), "kept")

	gone := w.slipway(nil, program+"-destroy")
	assert.Equal(t, gone.code, report.Healthy)
	assert.Assert(t, cmp.Len(w.list("/1.0/instances"), 0))
	assert.DeepEqual(t, volumes(), []string{"operator-db-data"})

	// A later machine finds it, and so does one whose first run was killed.
	killed := w.start(cold, program)
	killed.await("incus_instance.db: Creation complete")
	killed.kill()
	after := w.slipway(cold, program)
	assert.Equal(t, after.code, report.Healthy)
	assert.Equal(t, w.inside(w.addressOf("operator-db"), "cat "+data), "kept")
	assert.Assert(t, cmp.Len(w.list("/1.0/instances"), 1))
	assert.Assert(t, !w.slipway(nil, program).record.State.Plan.Changes)

	// The state is lost: a first run takes in what is there of it by its marks.
	w.stateful("db-anew")
	taken := w.slipway(cold, program)
	assert.Equal(t, taken.code, report.Healthy)
	assert.Equal(t, taken.record.State.Plan.Import, 2)
	assert.Equal(t, w.slipway(nil, program+"-destroy").code, report.Healthy)
	assert.Assert(t, cmp.Len(w.list("/1.0/instances"), 0))
	assert.DeepEqual(t, volumes(), []string{"operator-db-data"})
}

// addressOf is where an instance is, as the server says.
func (w *incusWorld) addressOf(instance string) string {
	w.t.Helper()
	var s struct {
		Network map[string]struct {
			Addresses []struct{ Family, Address, Scope string }
		}
	}
	status, fault := w.ask(w.admin, http.MethodGet, "/1.0/instances/"+instance+"/state"+w.query(), nil, &s)
	assert.Equal(w.t, status, http.StatusOK, fault)
	for _, a := range s.Network["eth0"].Addresses {
		if a.Family == "inet" && a.Scope == "global" {
			return a.Address
		}
	}
	w.t.Fatalf("%s has no address", instance)
	return ""
}

// query is the project of the coordinates, as it stands behind a path.
func (w *incusWorld) query() string {
	if w.env["INCUS_PROJECT"] == "" {
		return ""
	}
	return "?project=" + w.env["INCUS_PROJECT"]
}

func (w *incusWorld) setting(instance, key string) string {
	w.t.Helper()
	var i struct{ Config map[string]string }
	status, fault := w.ask(w.admin, http.MethodGet, "/1.0/instances/"+instance+w.query(), nil, &i)
	assert.Equal(w.t, status, http.StatusOK, fault)
	return i.Config[key]
}

func (w *incusWorld) stop(instance string) {
	w.t.Helper()
	status, fault := w.ask(w.admin, http.MethodPut, "/1.0/instances/"+instance+"/state"+w.query(), map[string]any{"action": "stop", "force": true, "timeout": 30}, nil)
	assert.Equal(w.t, status, http.StatusOK, fault)
}

func (w *incusWorld) remove(instance string) {
	w.t.Helper()
	w.stop(instance)
	status, fault := w.ask(w.admin, http.MethodDelete, "/1.0/instances/"+instance+w.query(), nil, nil)
	assert.Equal(w.t, status, http.StatusOK, fault)
}

// foreign makes an instance as somebody else would.
func (w *incusWorld) foreign(name string) {
	w.t.Helper()
	status, fault := w.ask(w.admin, http.MethodPost, "/1.0/instances", map[string]any{
		"name": name, "source": map[string]string{"type": "none"},
		"devices": map[string]map[string]string{"root": {"type": "disk", "path": "/", "pool": incusd.Pool}},
	}, nil)
	assert.Assert(w.t, slices.Contains([]int{http.StatusOK, http.StatusAccepted}, status), fault)
}

// smallImage puts an image on the server that nothing could start from.
func (w *incusWorld) smallImage() string {
	w.t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	for _, part := range []struct{ name, file, text string }{
		{"metadata", "metadata.yaml", "architecture: x86_64\ncreation_date: 1\n"}, {"rootfs", "empty", ""},
	} {
		to, err := form.CreateFormFile(part.name, part.name+".tar")
		assert.NilError(w.t, err)
		_, err = to.Write(archiveOf(w.t, part.file, part.text))
		assert.NilError(w.t, err)
	}
	assert.NilError(w.t, form.Close())
	q, err := http.NewRequestWithContext(w.t.Context(), http.MethodPost, incusd.Address+"/1.0/images", &body)
	assert.NilError(w.t, err)
	q.Header.Set("Content-Type", form.FormDataContentType())
	status, fault, metadata := w.answer(w.admin, q)
	assert.Equal(w.t, status, http.StatusOK, fault)
	fingerprint, _ := metadata["fingerprint"].(string)
	assert.Equal(w.t, len(fingerprint), 64)
	return fingerprint
}
