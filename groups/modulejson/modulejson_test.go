package modulejson

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/golden"

	"fediversity.eu/slipway/groups"
)

// full is a group in which everything that a layer carries is set, one kind after
// the other.
func full() groups.Group {
	return groups.Group{
		Name: "operator",
		Machines: []groups.Machine{
			{
				Name: "web", System: "aarch64-linux", Modules: []string{"operator/web.nix"}, Placement: groups.External{},
				Probes: []groups.Probe{
					{Name: "site", Ask: groups.HTTP{URL: "http://127.0.0.1/?a=1&b=2", Host: "www", Status: 301, Contains: "<p>"}, Deadline: 90 * time.Second},
					{Name: "port", Ask: groups.TCP{Address: "127.0.0.1:80"}},
					{Name: "queue", Ask: groups.Command{Script: "true"}},
				},
				Incus: groups.Instance{
					VM: true, Image: "base", CPU: 2, MemoryMiB: 1024, DiskMiB: 4096, Volumes: []groups.Volume{{Name: "data", Path: "/var/lib", SizeMiB: 1024, Keep: true}},
					Config: map[string]string{"boot.autostart": "true"}, Devices: []groups.Device{{Name: "eth1", Type: "nic", Properties: map[string]string{"network": "lan"}}},
				},
				Database: &groups.Database{Name: "web", Owner: "web_owner"}, Mount: &groups.Mount{Path: "operator/web", Type: "kv", Version: 1},
				Addresses: []string{"192.0.2.7"}, Names: []string{"@", "www"},
				Records: []groups.Record{{Name: "mail", Type: "MX", TTL: 60, Values: []string{"10 mail"}}},
			},
			{
				Name: "here", Modules: []string{"operator/here.nix"},
				Placement: groups.Local{MemoryMiB: 512, DiskMiB: 2048, Forward: []int{80}, Answers: 80},
			},
		},
		Zones: []groups.Zone{{Name: "lab", TTL: 300, Records: []groups.Record{{Type: "TXT", Values: []string{"a"}}}}},
		Delegations: []groups.Delegation{{
			Domain: "example.org", Registrar: "gandi",
			NameServers: []groups.NameServer{{Name: "ns1", Addresses: []string{"192.0.2.1"}}},
			Hosts:       []groups.NameServer{{Name: "h"}}, DNSKEY: []string{"257 3 13 x"}, DS: []string{"1 13 2 y"}, Unsigned: true,
		}},
		Images: []groups.Image{{Name: "base", Description: "waits", VM: true, System: "aarch64-linux", Modules: []string{"modules/image.nix"}}},
		Inventory: &groups.Inventory{
			Tenant: "operator", Site: "here", Cluster: "main", ClusterType: "Incus", Role: "server", Platform: "NixOS",
			Assets: []groups.Asset{{
				Machine: "web", Role: "front", Interface: "eno1", Hardware: groups.Hardware{Manufacturer: "Maker", Model: "One"},
				Services: []groups.Service{{Name: "https", Ports: []string{"tcp/443"}}},
			}},
		},
	}
}

// bare is what is compiled in: the same machines with other declarations.
func bare() groups.Group {
	return groups.Group{Name: "operator", Machines: []groups.Machine{{Name: "web", Names: []string{"old"}}, {Name: "here"}}}
}

func used(t *testing.T, m Module) groups.Group {
	t.Helper()
	layered, err := m.Group("operator")
	assert.NilError(t, err)
	group := bare()
	assert.NilError(t, layered.UseMachines(&group))
	assert.NilError(t, layered.UseResources(&group))
	for _, name := range Effects() {
		layered.UseEffect(&group, name)
	}
	return group
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	m, err := Of(full())
	assert.NilError(t, err)
	text, err := m.Bytes()
	assert.NilError(t, err)
	golden.Assert(t, string(text), "full.json")
	read, err := Read(text)
	assert.NilError(t, err)
	assert.DeepEqual(t, used(t, read), full())
	again, err := read.Bytes()
	assert.NilError(t, err)
	assert.Equal(t, string(again), string(text))
	one, err := m.Group("operator")
	assert.NilError(t, err)
	other, err := read.Group("operator")
	assert.NilError(t, err)
	assert.Assert(t, one.SameResources(other) && one.SameEffects(other))
}

// compiledIn are the fields that no layer carries: they make the programs.
var compiledIn = []string{"Name", "Description", "Methods", "Effects", "Source", "ImageSource", "Internal", "Needs", "Machines", "Parts"}

func TestEveryDeclarationIsInALayer(t *testing.T) {
	group := full()
	for _, value := range []any{group, group.Machines[0]} {
		v := reflect.ValueOf(value)
		for i := range v.NumField() {
			name := v.Type().Field(i).Name
			assert.Assert(t, slices.Contains(compiledIn, name) || !v.Field(i).IsZero(),
				"%s.%s: a layer carries it, and the group of these tests has it, or it is compiled in", v.Type(), name)
		}
	}
}

func TestUsingALayerLeavesTheDeclarationsAlone(t *testing.T) {
	m, err := Of(full())
	assert.NilError(t, err)
	layered, err := m.Group("operator")
	assert.NilError(t, err)
	declared := bare()
	group := declared
	assert.NilError(t, layered.UseMachines(&group))
	assert.NilError(t, layered.UseResources(&group))
	layered.UseEffect(&group, "dns")
	assert.DeepEqual(t, declared, bare())
}

func TestAnEffectOfWhichNothingIsSaidIsGone(t *testing.T) {
	group := full()
	Layered{}.UseEffect(&group, "dns")
	Layered{}.UseEffect(&group, "registrars")
	assert.Equal(t, len(group.Zones)+len(group.Delegations)+len(group.Machines[0].Names)+len(group.Machines[0].Records), 0)
}

func TestAddressesNeedNoZone(t *testing.T) {
	declared := full()
	declared.Zones = nil
	m, err := Of(declared)
	assert.NilError(t, err)
	assert.DeepEqual(t, used(t, m), declared)
}

func TestModulesThatAreRefused(t *testing.T) {
	const head = `{"version":1,"groups":{"operator":`
	for _, c := range []struct{ name, text, want string }{
		{"no JSON", `version: 1`, "no JSON object"},
		{"a list", `[]`, "no JSON object"},
		{"no version", `{"groups":{}}`, `no "version"`},
		{"a newer version, with fields of its own", `{"version":2,"layers":{}}`, "it is of format version 2, and this program reads 1: a newer program is needed"},
		{"a version that never was", `{"version":0}`, "there is no format version 0"},
		{"an unknown field", `{"version":1,"groups":{},"colour":1}`, `unknown field "colour"`},
		{"an unknown layer", head + `{"extras":{}}}}`, `unknown field "extras"`},
		{"an unknown effect", head + `{"effects":{"mail":{}}}}}`, `unknown field "mail"`},
		{"an unknown field of a zone", head + `{"effects":{"dns":{"zones":[{"serial":1}]}}}}}`, `unknown field "serial"`},
		{"an unknown placement", head + `{"resources":{"web":{"placement":{"moon":{}}}}}}}`, `unknown kind "moon"; known are external, local`},
		{"an unknown field of a placement", head + `{"resources":{"web":{"placement":{"local":{"gpu":1}}}}}}}`, `unknown field "gpu"`},
		{"no placement", head + `{"resources":{"web":{}}}}}`, "resources of machine web of operator: no placement; one is needed, of external, local"},
		{"two placements", head + `{"resources":{"web":{"placement":{"local":{},"external":{}}}}}}}`, "it has 2 kinds"},
		{"a module of an image elsewhere", head + `{"effects":{"image":[{"name":"base","modules":["../../etc/x.nix"]}]}}}}`, `image base of operator: module "../../etc/x.nix" is not below the source`},
		{"something after it", `{"version":1,"groups":{}} {}`, "no JSON object"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Read([]byte(c.text))
			assert.ErrorContains(t, err, c.want)
		})
	}
}

func TestLayersThatCannotBeUsed(t *testing.T) {
	const head = `{"version":1,"groups":{"operator":`
	for _, c := range []struct{ name, text, want string }{
		{"another group", `{"version":1,"groups":{"club":{}}}`, "it declares no group operator; it has club"},
		{"another machine", head + `{"machines":{"wiki":{"modules":["w.nix"]}}}}}`, "machines: it declares no machine web of operator; it has wiki"},
		{"no resources", head + `{}}}`, "resources: it declares no machine web of operator; it has none"},
		{"no module", head + `{"machines":{"web":{"modules":[]}}}}}`, "machine web: no NixOS module"},
		{"a module elsewhere", head + `{"machines":{"web":{"modules":["../../etc/nixos/configuration.nix"]}}}}}`, "is not below the source"},
		{"a probe that asks nothing", head + `{"machines":{"web":{"modules":["w.nix"],"probes":[{"name":"p"}]}}}}}`, "it asks one of tcp, http and command"},
		{"a probe with a bad deadline", head + `{"machines":{"web":{"modules":["w.nix"],"probes":[{"name":"p","deadline":"soon","command":{"script":"true"}}]}}}}}`, `deadline "soon" is no duration`},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, err := Read([]byte(c.text))
			assert.NilError(t, err)
			var faults []string
			layered, err := m.Group("operator")
			if err != nil {
				faults = append(faults, err.Error())
			}
			group := bare()
			for _, use := range []func(*groups.Group) error{layered.UseMachines, layered.UseResources} {
				if err := use(&group); err != nil {
					faults = append(faults, err.Error())
				}
			}
			assert.Assert(t, strings.Contains(strings.Join(faults, "\n"), c.want), "%q", faults)
		})
	}
}

func TestAPlacementOfAnotherRepositoryHasNoForm(t *testing.T) {
	group := bare()
	_, err := Of(group)
	assert.ErrorContains(t, err, "machine web of operator: placement <nil> has no form in module.json")
}

// FuzzRead holds that what is read can be written, and is the same when it is read
// again: a layer that changes on its way is not the one that was pinned.
func FuzzRead(f *testing.F) {
	m, err := Of(full())
	assert.NilError(f, err)
	text, err := m.Bytes()
	assert.NilError(f, err)
	f.Add(text)
	for _, seed := range []string{`{"version":1}`, `{"version":1,"groups":{"":{}}}`, `{"version":1,"groups":{"g":{"effects":{"image":[{"modules":["../x"]}]}}}}`, `null`, `{"version":1e0}`, `{"version":1} x`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := Read(text)
		if err != nil {
			assert.Assert(t, err.Error() != "")
			return
		}
		once, err := m.Bytes()
		assert.NilError(t, err)
		again, err := Read(once)
		assert.NilError(t, err, "%s", once)
		// What is empty may be left out, once.
		twice, err := again.Bytes()
		assert.NilError(t, err)
		third, err := Read(twice)
		assert.NilError(t, err, "%s", twice)
		final, err := third.Bytes()
		assert.NilError(t, err)
		assert.Equal(t, string(final), string(twice))
		for name := range m.document.Groups {
			_, err := m.Group(name)
			assert.NilError(t, err)
		}
	})
}
