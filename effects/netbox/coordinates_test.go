package netbox

import (
	"bytes"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/groups"
	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/report"
	"fediversity.eu/slipway/targets/task"
)

func inventory() *groups.Inventory {
	return &groups.Inventory{Site: "here", Cluster: "main", ClusterType: "Incus", Role: "server"}
}

func TestVerbs(t *testing.T) {
	assert.Equal(t, len(New().Verbs(groups.Group{Name: "bare"})), 0)
	var names []string
	for _, verb := range New().Verbs(groups.Group{Inventory: inventory()}) {
		names = append(names, verb.Name)
		keys, err := env.Declared(New().Task(groups.Group{Inventory: inventory()}, verb.Name).Coordinates()...)
		assert.NilError(t, err)
		assert.Assert(t, len(keys) >= 5)
	}
	assert.DeepEqual(t, names, []string{"apply", "plan", "destroy"})
}

// load fills the coordinates of a verb and checks them.
func load(t *testing.T, group groups.Group, verb string, vars map[string]string) (task.Task, env.Environment, error) {
	t.Helper()
	environment := env.Map(vars)
	it := New().Task(group, verb)
	if err := environment.Load(t.Context(), env.For{}, it.Coordinates()...); err != nil {
		return nil, environment, err
	}
	return it, environment, it.(task.Checker).Check(environment)
}

func TestCoordinatesAreChecked(t *testing.T) {
	group := groups.Group{
		Name: "g", Inventory: inventory(),
		Machines: []groups.Machine{{Name: "web"}, {Name: "db", Addresses: []string{"192.0.2.8"}}},
	}
	given := map[string]string{"NETBOX_URL": "https://netbox.example.org", "NETBOX_TOKEN": strings.Repeat("a", 40), "DNS_DOMAIN": "example.org"}
	for _, c := range []struct{ name, key, value, want string }{
		{"all is well", "WEB_ADDRESSES", "192.0.2.7, 2001:db8::7", ""},
		{"no address", "WEB_ADDRESSES", "somewhere", "WEB_ADDRESSES"},
		{"an address twice", "WEB_ADDRESSES", "192.0.2.7,192.0.2.7", "twice"},
		{"nobody's address", "WEB_ADDRESSES", "127.0.0.1", "nobody else can reach"},
		{"an address that another machine declares", "WEB_ADDRESSES", "192.0.2.8", "192.0.2.8 is the address of both web and db"},
		{"no certificate", "NETBOX_CA", "x", "NETBOX_CA"},
		{"a tag of nothing", "NETBOX_TAG", "---", "NETBOX_TAG"},
		{"no URL", "NETBOX_URL", "netbox.example.org", "NETBOX_URL"},
	} {
		t.Run(c.name, func(t *testing.T) {
			vars := map[string]string{c.key: c.value}
			for name, value := range given {
				if vars[name] == "" {
					vars[name] = value
				}
			}
			_, _, err := load(t, group, "plan", vars)
			if c.want == "" {
				assert.NilError(t, err)
				return
			}
			assert.ErrorContains(t, err, c.want)
			assert.Assert(t, !strings.Contains(err.Error(), given["NETBOX_TOKEN"]))
		})
	}
}

func TestDeclarationsAreChecked(t *testing.T) {
	machines := []groups.Machine{{Name: "web", Addresses: []string{"192.0.2.8", "2001:db8::8"}}}
	assert.NilError(t, New().Check(groups.Group{Name: "g", Inventory: inventory(), Machines: machines}))
	machines[0].Addresses[1] = "::1"
	err := New().Check(groups.Group{Name: "g", Inventory: &groups.Inventory{}, Machines: machines})
	assert.ErrorContains(t, err, "no site")
	assert.ErrorContains(t, err, `machine web: the address "::1" nobody else can reach`)
}

// TestCertificates: NetBox is believed when an authority that the caller names
// vouches for it.
func TestCertificates(t *testing.T) {
	var shown []string
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		shown = append(shown, r.Header.Get("Authorization"))
		w.Header().Set("API-Version", "4.7")
		_, _ = fmt.Fprint(w, `{"count":0,"next":null,"previous":null,"results":[]}`)
	}))
	t.Cleanup(server.Close)
	server.Config.ErrorLog = nil
	authority := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	group := groups.Group{Name: "g", Inventory: inventory()}
	run := func(vars map[string]string) error {
		vars["NETBOX_URL"] = server.URL + "/api/"
		it, environment, err := load(t, group, "destroy", vars)
		assert.NilError(t, err)
		return it.Run(t.Context(), &task.Run{Environment: environment, Log: &report.Log{}, Out: &bytes.Buffer{}, Record: &report.Record{}})
	}
	err := run(map[string]string{"NETBOX_TOKEN": strings.Repeat("a", 40)})
	assert.Equal(t, report.CodeOf(err), report.Unknown)
	assert.Assert(t, strings.Contains(strings.Join(report.Hints(err), ""), "NETBOX_CA"), "%v %q", err, report.Hints(err))
	assert.NilError(t, run(map[string]string{"NETBOX_TOKEN": strings.Repeat("a", 40), "NETBOX_CA": authority}))
	assert.NilError(t, run(map[string]string{"NETBOX_TOKEN": "nbt_key.secret", "NETBOX_CA": authority}))
	assert.DeepEqual(t, shown, []string{"Token " + strings.Repeat("a", 40), "Bearer nbt_key.secret"})
}

func TestOldNetBoxesAreRefused(t *testing.T) {
	for version, want := range map[string]report.Code{"4.2": report.Refused, "4.3": report.Healthy, "": report.Unknown, "x": report.Unknown, "10.0": report.Healthy} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("API-Version", version)
			_, _ = fmt.Fprint(w, `{"count":0,"next":null,"previous":null,"results":[]}`)
		}))
		it, environment, err := load(t, groups.Group{Name: "g", Inventory: inventory()}, "destroy",
			map[string]string{"NETBOX_URL": server.URL, "NETBOX_TOKEN": strings.Repeat("a", 40)})
		assert.NilError(t, err)
		err = it.Run(t.Context(), &task.Run{Environment: environment, Log: &report.Log{}, Out: &bytes.Buffer{}, Record: &report.Record{}})
		assert.Equal(t, report.CodeOf(err), want, "%s: %v", version, err)
		server.Close()
	}
}
