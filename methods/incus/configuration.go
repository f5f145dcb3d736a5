package incus

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"fediversity.eu/slipway/groups"
	"fediversity.eu/slipway/methods/made"
)

// provider is the one that this was written for.
var provider = made.Provider{Source: "lxc/incus", Version: "1.1.1"}

// remoteName is what the server is called in the configuration.
const remoteName = "slipway"

// folder is where the provider finds who we are, below the configuration: private
// to the run, and gone with it.
const folder = "incus"

type jsonObject = map[string]any

// settings are the instance's own, before the coordinates have their say.
func (m *machine) settings() map[string]string {
	where := m.deployment.Machine.Incus
	all := map[string]string{"boot.autostart": "true"}
	if where.VM {
		all["security.secureboot"] = "false" // nobody signs NixOS's boot loader
	} else {
		all["security.nesting"] = "true" // Nix and systemd sandbox what they run
	}
	if where.CPU > 0 {
		all["limits.cpu"] = strconv.Itoa(where.CPU)
	}
	if where.MemoryMiB > 0 {
		all["limits.memory"] = mebibytes(where.MemoryMiB)
	}
	maps.Copy(all, where.Config)
	all[mark] = m.name()
	return all
}

func mebibytes(n int) string { return strconv.Itoa(n) + "MiB" }

// devices are the root disk, the network card, the volumes, and what is declared or
// given beside them, by their names.
func (m *machine) devices(given map[string]map[string]string) []device {
	where := m.deployment.Machine.Incus
	root := map[string]string{"path": "/", "pool": m.keys.Pool}
	if where.DiskMiB > 0 {
		root["size"] = mebibytes(where.DiskMiB)
	}
	card := map[string]string{"network": m.keys.Network, "name": "eth0"}
	if m.keys.IPv4 != "" {
		card["ipv4.address"] = m.keys.IPv4
	}
	all := map[string]device{"root": {"root", "disk", root}, "eth0": {"eth0", "nic", card}}
	for _, v := range where.Volumes {
		disk := map[string]string{"pool": m.keys.Pool, "source": m.volumeName(v)}
		if !where.VM {
			disk["path"] = v.Path
		}
		all[v.Name] = device{v.Name, "disk", disk}
	}
	for _, d := range where.Devices {
		all[d.Name] = device(d)
	}
	for name, properties := range given {
		kind := properties["type"]
		properties = maps.Clone(properties)
		delete(properties, "type")
		all[name] = device{name, kind, properties}
	}
	return slices.SortedFunc(maps.Values(all), func(a, b device) int { return cmp.Compare(a.Name, b.Name) })
}

func (m *machine) volumeName(v groups.Volume) string { return m.name() + "-" + v.Name }

// literal writes a text so that OpenTofu evaluates nothing in it (OpenTofu
// documentation, "JSON Configuration Syntax").
func literal(text string) string { return strings.NewReplacer("${", "$${", "%{", "%%{").Replace(text) }

func literals(texts map[string]string) map[string]string {
	all := make(map[string]string, len(texts))
	for name, text := range texts {
		all[literal(name)] = literal(text)
	}
	return all
}

// thing is an object of the configuration that the server may have already.
type thing struct {
	kind, label string // "incus_instance", "web"
	path        []string
	// id is by what it is imported: no remote in it, which the provider (lxc/incus 1.1.1)
	// would keep as an attribute that the configuration does not have.
	id   string
	body jsonObject
}

// things are all that the machine is made of, first what others need.
func (m *machine) things(p plan) []thing {
	label, project := m.deployment.Machine.Name, m.server.Project
	var all []thing
	var needs []string
	add := func(t thing) {
		all = append(all, t)
		needs = append(needs, t.kind+"."+t.label)
	}
	if slices.Contains(p.makes, makesNetwork) {
		name, config := m.keys.Network, map[string]string{"ipv6.address": "none"}
		maps.Copy(config, p.bridge)
		config[mark] = m.name()
		add(thing{"incus_network", label, []string{"networks", name}, "default/" + name, jsonObject{
			"name": name, "project": "default", "config": literals(config),
		}})
	}
	if slices.Contains(p.makes, makesProject) {
		add(thing{"incus_project", label, []string{"projects", project}, project, jsonObject{
			"name": project, "config": map[string]string{
				// Images and networks are those of the server's default project.
				"features.images": "false", "features.profiles": "true", "features.storage.volumes": "true", "features.networks": "false",
				mark: m.name(),
			},
		}})
	}
	for _, v := range p.volumes {
		name := m.volumeName(v)
		config := map[string]string{mark: m.name()}
		if v.SizeMiB > 0 {
			config["size"] = mebibytes(v.SizeMiB)
		}
		content := "filesystem"
		if m.deployment.Machine.Incus.VM {
			content = "block"
		}
		t := thing{
			"incus_storage_volume", label + "-" + v.Name,
			[]string{"storage-pools", m.keys.Pool, "volumes", "custom", name},
			fmt.Sprintf("%s/%s/%s", project, m.keys.Pool, name),
			jsonObject{
				"name": name, "pool": m.keys.Pool, "project": project, "content_type": content, "config": config,
			},
		}
		if v.Keep {
			t.body["lifecycle"] = jsonObject{"destroy": false}
		}
		if slices.Contains(p.makes, makesProject) {
			t.body["depends_on"] = []string{"incus_project." + label}
		}
		add(t)
	}
	if slices.Contains(p.makes, makesProfile) {
		profile := thing{
			"incus_profile", label,
			[]string{"profiles", p.name},
			project + "/" + p.name,
			jsonObject{"name": p.name, "project": project, "config": literals(p.config), "device": written(p.devices)},
		}
		if len(needs) > 0 {
			profile.body["depends_on"] = slices.Clone(needs) // its disks, and where it is
		}
		add(profile)
	}
	instance := m.instance(p)
	if len(needs) > 0 {
		instance.body["depends_on"] = needs
	}
	return append(all, instance)
}

// written are devices as blocks of the configuration.
func written(all []device) []device {
	blocks := make([]device, 0, len(all))
	for _, d := range all {
		blocks = append(blocks, device{literal(d.Name), literal(d.Type), literals(d.Properties)})
	}
	return blocks
}

// instance is the machine itself, with what no profile of its own has. A newer image
// is no reason to make it again.
func (m *machine) instance(p plan) thing {
	kind := "container"
	if m.deployment.Machine.Incus.VM {
		kind = "virtual-machine"
	}
	profiles, config, devices := append([]string{}, p.uses...), p.config, p.devices
	if slices.Contains(p.makes, makesProfile) {
		profiles, config, devices = append(profiles, p.name), map[string]string{mark: m.name()}, nil
	}
	body := jsonObject{
		"name": p.name, "type": kind, "image": "${var.incus_image}", "project": m.server.Project,
		"profiles": profiles, "config": literals(config), "device": written(devices),
		"file": []jsonObject{{
			"target_path": "/root/.ssh/authorized_keys", "content": literal(strings.Join(p.login, "\n") + "\n"),
			"mode": "0600", "uid": 0, "gid": 0, "create_directories": true,
		}},
		"lifecycle": jsonObject{"ignore_changes": []string{"image"}},
	}
	if m.deployment.Machine.Incus.VM {
		body["wait_for"] = []jsonObject{{"type": "agent"}} // it takes files from nobody else
	}
	if p.target != "" {
		body["target"] = literal(p.target)
	}
	return thing{
		"incus_instance", m.deployment.Machine.Name,
		[]string{"instances", p.name},
		m.server.Project + "/" + p.name + ",image=" + p.image, body,
	}
}

// configuration writes it all down. What is there already is imported, which does
// nothing where the state has it.
func (m *machine) configuration(things, there []thing) ([]byte, error) {
	resources := map[string]jsonObject{}
	for _, t := range things {
		if resources[t.kind] == nil {
			resources[t.kind] = jsonObject{}
		}
		resources[t.kind][t.label] = t.body
	}
	whole := jsonObject{
		"provider": jsonObject{"incus": jsonObject{
			"config_dir": "./" + folder, "default_remote": remoteName,
			"remote": []jsonObject{{"name": remoteName, "address": string(m.server.Address)}},
		}},
		"variable": jsonObject{"incus_image": jsonObject{"type": "string", "default": "none"}},
		"resource": resources,
	}
	var imports []jsonObject
	for _, t := range there {
		imports = append(imports, jsonObject{"to": t.kind + "." + t.label, "id": t.id})
	}
	if len(imports) > 0 {
		whole["import"] = imports
	}
	return json.Marshal(whole)
}
