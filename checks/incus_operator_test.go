//go:build checks

package checks

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"fediversity.eu/slipway/checks/incusd"
	"fediversity.eu/slipway/targets/report"
)

// tenant is a project as a provider makes it for an operator.
const tenant = "tenant"

func TestIncusOperatorHosts(t *testing.T) {
	w := newIncusWorld(t)
	w.images()
	w.stateful("web")
	status, fault := w.ask(w.admin, http.MethodPost, "/1.0/projects", map[string]any{"name": tenant, "config": map[string]string{
		"features.images": "true", "features.profiles": "true", "features.networks": "false", "features.storage.volumes": "true",
		"restricted": "true", "restricted.containers.nesting": "allow", "restricted.networks.access": incusd.Network,
	}}, nil)
	assert.Equal(t, status, http.StatusCreated, fault)
	certificate, key := clientIdentity(t, "operator")
	w.as(certificate, key)
	w.env["INCUS_PROJECT"] = tenant
	const program = "operator-tf-incus-operator-web"

	// Who is a stranger is told so, and so is who meets one.
	stranger := w.slipway(cold, program)
	assert.Equal(t, stranger.code, report.Refused)
	assert.Assert(t, cmp.Contains(stranger.stderr, "does not know our certificate"))
	other := w.slipway(map[string]string{"INCUS_SERVER_CERTIFICATE": strings.Repeat("ab", 32)}, program+"-verify")
	assert.Equal(t, other.code, report.Refused)
	assert.Assert(t, cmp.Contains(other.stderr, "another certificate"))

	// The token lets us in once, and says which server it is.
	delete(w.env, "INCUS_SERVER_CERTIFICATE")
	w.env["INCUS_TOKEN"] = w.token()
	published := w.slipway(baked, "operator-image-publish")
	assert.Equal(t, published.code, report.Healthy)
	assert.Assert(t, cmp.Contains(published.stderr, "has taken in our certificate"))

	// What the project forbids is refused before anything is evaluated.
	refused := w.slipway(map[string]string{
		"STATE_PHASE": "cold", "INCUS_TARGET": "member1", "INCUS_MAKES": "project", "INCUS_CONFIG": `{"raw.lxc":"lxc.log.level=1"}`,
		"INCUS_DEVICES": `{"eth1":{"type":"nic","nictype":"bridged","parent":"` + incusd.Network + `"},"web":{"type":"proxy","listen":"tcp:0.0.0.0:80","connect":"tcp:127.0.0.1:80"}}`,
	}, program)
	assert.Equal(t, refused.code, report.Usage)
	for _, text := range []string{"INCUS_TARGET=member1", "INCUS_MAKES=project", "raw.lxc", "eth1: nictype", "web: a restricted project opens no ports"} {
		assert.Assert(t, cmp.Contains(refused.stderr, text))
	}
	assert.Assert(t, !strings.Contains(refused.stderr, "evaluate:"))

	w.env["INCUS_MAKES"] = "profile" // which a restricted certificate may, in a project that has its own
	const own = "/1.0/profiles/operator-web?project=" + tenant
	first := w.slipway(cold, program)
	assert.Equal(t, first.code, report.Healthy)
	status, fault = w.ask(w.admin, http.MethodGet, own, nil, nil)
	assert.Equal(t, status, http.StatusOK, fault)
	again := w.slipway(nil, program)
	assert.Equal(t, again.code, report.Healthy)
	assert.Assert(t, !again.record.Changed)
	assert.Assert(t, !again.record.State.Plan.Changes)
	w.write("operator/web.nix", failing)
	assert.Equal(t, w.slipway(nil, program).code, report.Unhealthy)
	w.write("operator/web.nix", trivial)
	assert.Equal(t, w.slipway(nil, program+"-rollback").code, report.Healthy)

	w.daemonForbids(httpClient(t, w.daemon, certificate, key))
	// The other method tries it, and the daemon says no.
	forbidden := w.slipway(map[string]string{"INCUS_DEVICES": `{"web":{"type":"proxy","listen":"tcp:0.0.0.0:80","connect":"tcp:127.0.0.1:80"}}`}, "operator-tf-incus-web-apply")
	assert.Equal(t, forbidden.code, report.Failed)
	assert.Assert(t, cmp.Contains(forbidden.stderr, "forbidden"))

	gone := w.slipway(nil, program+"-destroy")
	assert.Equal(t, gone.code, report.Healthy)
	assert.Assert(t, cmp.Len(w.list("/1.0/instances?project="+tenant), 0))
	status, _ = w.ask(w.admin, http.MethodGet, own, nil, nil)
	assert.Equal(t, status, http.StatusNotFound, "the profile goes with the machine")
}

// token asks the server for one that lets somebody into the project.
func (w *incusWorld) token() string {
	w.t.Helper()
	body, err := json.Marshal(map[string]any{"name": "operator", "type": "client", "token": true, "restricted": true, "projects": []string{tenant}})
	assert.NilError(w.t, err)
	q, err := http.NewRequestWithContext(w.t.Context(), http.MethodPost, incusd.Address+"/1.0/certificates", strings.NewReader(string(body)))
	assert.NilError(w.t, err)
	r, err := w.admin.Do(q)
	assert.NilError(w.t, err)
	defer func() { assert.Check(w.t, r.Body.Close()) }()
	var a struct {
		Metadata struct {
			Metadata struct {
				Secret      string   `json:"secret"`
				Fingerprint string   `json:"fingerprint"`
				Addresses   []string `json:"addresses"`
				ExpiresAt   string   `json:"expiresAt"`
			} `json:"metadata"`
		} `json:"metadata"`
	}
	assert.NilError(w.t, json.NewDecoder(r.Body).Decode(&a))
	m := a.Metadata.Metadata
	all := map[string]any{"client_name": "operator", "fingerprint": m.Fingerprint, "addresses": m.Addresses, "secret": m.Secret}
	if m.ExpiresAt != "" {
		all["expires_at"] = m.ExpiresAt
	}
	text, err := json.Marshal(all)
	assert.NilError(w.t, err)
	return base64.StdEncoding.EncodeToString(text)
}

// daemonForbids shows that what is refused here is what the daemon refuses, so that
// neither forbids less than the other.
func (w *incusWorld) daemonForbids(operator *http.Client) {
	w.t.Helper()
	instance := func(change map[string]any) map[string]any {
		all := map[string]any{
			"name": "forbidden", "source": map[string]string{"type": "none"},
			"devices": map[string]map[string]string{"root": {"type": "disk", "path": "/", "pool": incusd.Pool}},
		}
		maps.Copy(all, change)
		return all
	}
	device := func(properties map[string]string) map[string]any {
		return instance(map[string]any{"devices": map[string]map[string]string{
			"root": {"type": "disk", "path": "/", "pool": incusd.Pool}, "more": properties,
		}})
	}
	for _, c := range []struct {
		name, method, path string
		body               any
	}{
		{"a bridge by its interface", http.MethodPost, "/1.0/instances", device(map[string]string{"type": "nic", "nictype": "bridged", "parent": incusd.Network})},
		{"a port of the host", http.MethodPost, "/1.0/instances", device(map[string]string{"type": "proxy", "listen": "tcp:0.0.0.0:80", "connect": "tcp:127.0.0.1:80"})},
		{"a folder of the host", http.MethodPost, "/1.0/instances", device(map[string]string{"type": "disk", "source": "/etc", "path": "/mnt"})},
		{"raw settings", http.MethodPost, "/1.0/instances", instance(map[string]any{"config": map[string]string{"raw.lxc": "lxc.log.level=1"}})},
		{"a privileged container", http.MethodPost, "/1.0/instances", instance(map[string]any{"config": map[string]string{"security.privileged": "true"}})},
		{"a project", http.MethodPost, "/1.0/projects", map[string]any{"name": "mine"}},
		{"its own project's settings", http.MethodPut, "/1.0/projects/" + tenant, map[string]any{"config": map[string]string{"restricted": "false"}}},
		{"a network", http.MethodPost, "/1.0/networks", map[string]any{"name": "mine0", "type": "bridge"}},
		{"a storage pool", http.MethodPost, "/1.0/storage-pools", map[string]any{"name": "mine", "driver": "dir"}},
	} {
		path := c.path
		if c.path == "/1.0/instances" || c.path == "/1.0/networks" {
			path += "?project=" + tenant
		}
		status, fault := w.ask(operator, c.method, path, c.body, nil)
		assert.Check(w.t, status >= http.StatusBadRequest && fault != "", "%s: %d %s", c.name, status, fault)
	}
	assert.DeepEqual(w.t, w.list("/1.0/instances?project="+tenant), []string{"/1.0/instances/operator-web?project=" + tenant})
}
