package incus

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"encoding/pem"
	"slices"
	"strings"
	"testing"

	xssh "golang.org/x/crypto/ssh"
	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"
	"gotest.tools/v3/golden"

	"fediversity.eu/slipway/groups"
	"fediversity.eu/slipway/methods"
	"fediversity.eu/slipway/methods/tofu"
	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/report"
)

const loginKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGmaQBFTlBvZ4lBQCfnYqdSXwBNVY0hNpTWvSLXp3ldw"

// machineOf is a machine with coordinates as their defaults are.
func machineOf(where groups.Instance) *machine {
	m := &machine{deployment: methods.Deployment{
		Group: groups.Group{Name: "operator"}, Machine: groups.Machine{Name: "db", Incus: where},
	}}
	m.server.Project, m.server.Address = "tenant", "https://hv1.example.org:8443"
	m.keys.Network, m.keys.Pool, m.keys.LoginKeys = "incusbr0", "default", env.Lines{loginKey}
	return m
}

// document is the configuration of a machine, indented.
func document(t *testing.T, m *machine, there ...int) string {
	t.Helper()
	p, err := m.plan()
	assert.NilError(t, err)
	things := m.things(p)
	var found []thing
	for _, n := range there {
		found = append(found, things[n])
	}
	text, err := m.configuration(things, found)
	assert.NilError(t, err)
	var out bytes.Buffer
	assert.NilError(t, json.Indent(&out, text, "", "  "))
	return out.String() + "\n"
}

func TestAContainerWithDataThatStays(t *testing.T) {
	m := machineOf(groups.Instance{CPU: 2, MemoryMiB: 1024, DiskMiB: 8192, Volumes: []groups.Volume{{Name: "data", Path: "/var/lib", Keep: true}}})
	text := document(t, m, 0)
	golden.Assert(t, text, "container.json.golden")
	for _, part := range []string{`"ignore_changes"`, `"destroy": false`, `"to": "incus_storage_volume.db-data"`} {
		assert.Check(t, cmp.Contains(text, part))
	}
	assert.Equal(t, m.Placement(), "incus-container")
}

func TestAVirtualMachineWithItsSurroundings(t *testing.T) {
	m := machineOf(groups.Instance{VM: true, Volumes: []groups.Volume{{Name: "data", SizeMiB: 1024}}})
	m.keys.Makes, m.keys.IPv4 = env.Names{"project", "network"}, "10.97.0.7"
	m.keys.Bridge = `{"ipv4.address":"10.97.0.1/24"}`
	text := document(t, m)
	golden.Assert(t, text, "vm.json.golden")
	for _, part := range []string{`"security.secureboot": "false"`, `"type": "agent"`, `"content_type": "block"`, `"ipv4.address": "10.97.0.7"`} {
		assert.Check(t, cmp.Contains(text, part))
	}
	assert.Equal(t, m.Placement(), "incus-vm")
}

func TestAProfileOfItsOwn(t *testing.T) {
	m := machineOf(groups.Instance{CPU: 2, Volumes: []groups.Volume{{Name: "data", Path: "/var/lib"}}})
	m.keys.Makes, m.keys.Profiles = env.Names{"profile"}, env.Names{"base", "dmz"}
	text := document(t, m)
	golden.Assert(t, text, "profile.json.golden")
	p, err := m.plan()
	assert.NilError(t, err)
	things := m.things(p)
	profile, instance := things[len(things)-2].body, things[len(things)-1].body
	assert.DeepEqual(t, instance["profiles"], []string{"base", "dmz", "operator-db"})
	assert.DeepEqual(t, instance["config"], map[string]string{mark: "operator-db"})
	assert.Assert(t, cmp.Len(instance["device"], 0))
	assert.Assert(t, cmp.Len(profile["device"], 3))
	assert.Assert(t, cmp.Contains(instance["depends_on"], "incus_profile.db"))
}

// TestWhatNeedsAnotherSaysSo goes through all that can be made beside a machine: what
// lies in a project that is made waits for it, and outlives nothing that it needs.
func TestWhatNeedsAnotherSaysSo(t *testing.T) {
	all := []string{makesNetwork, makesProject, makesProfile}
	for bits := range 1 << len(all) {
		var makes env.Names
		for i, name := range all {
			if bits>>i&1 == 1 {
				makes = append(makes, name)
			}
		}
		t.Run(strings.Join(makes, " "), func(t *testing.T) {
			m := machineOf(groups.Instance{Volumes: []groups.Volume{{Name: "data", Path: "/var/lib"}, {Name: "more", Path: "/srv"}}})
			m.keys.Makes = makes
			p, err := m.plan()
			assert.NilError(t, err)
			needs := map[string][]string{}
			made := map[string]bool{}
			for _, thing := range m.things(p) {
				assert.Check(t, !strings.Contains(strings.Split(thing.id, ",")[0], ":"), "%s is imported by %s", thing.kind, thing.id)
				needs[thing.kind], _ = thing.body["depends_on"].([]string)
				for _, need := range needs[thing.kind] {
					assert.Check(t, made[need], "%s waits for %s, which does not come before it", thing.kind, need)
				}
				made[thing.kind+"."+thing.label] = true
				if slices.Contains(makes, makesProject) && slices.Contains([]string{"incus_storage_volume", "incus_profile", "incus_instance"}, thing.kind) {
					assert.Check(t, cmp.Contains(needs[thing.kind], "incus_project.db"), thing.kind)
				}
			}
			for _, volume := range []string{"incus_storage_volume.db-data", "incus_storage_volume.db-more"} {
				assert.Check(t, cmp.Contains(needs["incus_instance"], volume))
			}
		})
	}
}

func TestCoordinatesWinOverTheDeclaration(t *testing.T) {
	m := machineOf(groups.Instance{
		Config:  map[string]string{"limits.cpu": "1", "boot.autostart": "false"},
		Devices: []groups.Device{{Name: "gpu", Type: "gpu", Properties: map[string]string{"id": "0"}}},
	})
	m.keys.Config, m.keys.Devices = `{"limits.cpu":"4","user.slipway.deployment":"another"}`, `{"gpu":{"type":"none"}}`
	p, err := m.plan()
	assert.NilError(t, err)
	assert.Equal(t, p.config["limits.cpu"], "4")
	assert.Equal(t, p.config["boot.autostart"], "false")
	assert.Equal(t, p.config[mark], "operator-db")
	assert.DeepEqual(t, p.devices[1], device{"gpu", "none", map[string]string{}})
	assert.Equal(t, p.image, "operator/base")
}

func TestTheKeyThatOpensANewMachineIsThatOfTheLogin(t *testing.T) {
	m := machineOf(groups.Instance{})
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	assert.NilError(t, err)
	block, err := xssh.MarshalPrivateKey(private, "")
	assert.NilError(t, err)
	m.keys.LoginKeys, m.login.Key = nil, env.NewSecret(string(pem.EncodeToMemory(block)))
	p, err := m.plan()
	assert.NilError(t, err)
	assert.Assert(t, strings.HasPrefix(p.login[0], "ecdsa-sha2-nistp256 "))
	assert.Assert(t, !strings.Contains(document(t, m), "PRIVATE"))
}

func TestNothingInCoordinatesIsEvaluated(t *testing.T) {
	m := machineOf(groups.Instance{})
	m.keys.Config, m.keys.LoginKeys = `{"user.note":"${file(\"/etc/shadow\")} %{ if true }"}`, env.Lines{loginKey + " ${path.module}"}
	text := document(t, m)
	assert.Check(t, cmp.Contains(text, `"$${file(\"/etc/shadow\")} %%{ if true }"`))
	assert.Check(t, cmp.Contains(text, "$${path.module}"))
}

func TestFaultsOfCoordinates(t *testing.T) {
	m := machineOf(groups.Instance{})
	m.keys.Network, m.keys.Pool, m.keys.IPv4 = "a network", "-", "fe80::1"
	m.keys.Makes, m.server.Project = env.Names{"project", "moon"}, "default"
	m.keys.Profiles = env.Names{"a b", "one", "one"}
	m.keys.Config, m.keys.Devices, m.keys.Bridge, m.keys.LoginKeys = "[]", `{"x":{"path":"/"}}`, "1", env.Lines{"nonsense"}
	_, err := m.plan()
	assert.Equal(t, report.CodeOf(err), report.Usage)
	for _, text := range []string{
		"INCUS_NETWORK: ", "INCUS_POOL: ", "INCUS_IPV4: ", `INCUS_MAKES: "moon"`, `INCUS_PROFILES: "a b"`, "INCUS_PROFILES: names one twice", "INCUS_MAKES: the project default",
		"INCUS_CONFIG: ", "INCUS_DEVICES: x has no type", "INCUS_NETWORK_CONFIG: ", "INCUS_LOGIN_KEYS: ",
	} {
		assert.Check(t, cmp.ErrorContains(err, text))
	}
	m = machineOf(groups.Instance{Volumes: []groups.Volume{{Name: "data", Path: "/var/lib", Keep: true}}})
	m.keys.Makes = env.Names{"project"}
	_, err = m.plan()
	assert.ErrorContains(t, err, "INCUS_MAKES: a project can't be removed while a volume of the machine stays in it")
	m = machineOf(groups.Instance{})
	m.keys.LoginKeys, m.login.Agent = nil, "/run/agent"
	_, err = m.plan()
	assert.ErrorContains(t, err, "nobody could log in")
}

func TestSettingsWithoutAValueAreRefusedTogether(t *testing.T) {
	m := machineOf(groups.Instance{})
	m.keys.Config, m.keys.Bridge = `{"boot.autostart":"","limits.cpu":"2","user.a":null}`, `{"ipv6.address":"","ipv4.nat":"false"}`
	m.keys.Devices = `{"gpu":{"type":"gpu","id":""},"eth1":{"type":"nic","network":"","mtu":""}}`
	_, err := m.plan()
	assert.Equal(t, report.CodeOf(err), report.Usage)
	for _, text := range []string{
		"INCUS_CONFIG: boot.autostart is empty: ", "INCUS_CONFIG: user.a is empty: ", "INCUS_NETWORK_CONFIG: ipv6.address is empty: ",
		"INCUS_DEVICES: mtu of eth1 is empty: ", "INCUS_DEVICES: network of eth1 is empty: ", "INCUS_DEVICES: id of gpu is empty: ",
	} {
		assert.Check(t, cmp.ErrorContains(err, text+emptySetting))
	}
	assert.Equal(t, strings.Count(err.Error(), " is empty"), 6)
}

func TestVerbsReadWhatTheyNeed(t *testing.T) {
	m := machineOf(groups.Instance{})
	for verb, want := range map[string]int{tofu.Apply: 2, tofu.Destroy: 2, tofu.Validate: 5, tofu.Show: 1, tofu.ForceUnlock: 0} {
		assert.Check(t, cmp.Len(m.Keys(verb), want), verb)
	}
}
