package incus

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"fediversity.eu/slipway/groups"
	"fediversity.eu/slipway/internal/incus"
	"fediversity.eu/slipway/methods/made"
	"fediversity.eu/slipway/methods/tofu"
	"fediversity.eu/slipway/methods/tofu/ledger"
	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/report"
	"fediversity.eu/slipway/targets/task"
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
	id          string // by which it is imported
	body        jsonObject
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
		add(thing{"incus_network", label, []string{"networks", name}, remoteName + ":default/" + name, jsonObject{
			"name": name, "project": "default", "config": literals(config),
		}})
	}
	if slices.Contains(p.makes, makesProject) {
		add(thing{"incus_project", label, []string{"projects", project}, remoteName + ":" + project, jsonObject{
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
			fmt.Sprintf("%s:%s/%s/%s", remoteName, project, m.keys.Pool, name),
			jsonObject{
				"name": name, "pool": m.keys.Pool, "project": project, "content_type": content, "config": config,
			},
		}
		if v.Keep {
			t.body["lifecycle"] = jsonObject{"destroy": false}
		}
		add(t)
	}
	instance := m.instance(p)
	if len(needs) > 0 {
		instance.body["depends_on"] = needs
	}
	return append(all, instance)
}

// instance is the machine itself. A newer image is no reason to make it again.
func (m *machine) instance(p plan) thing {
	kind := "container"
	if m.deployment.Machine.Incus.VM {
		kind = "virtual-machine"
	}
	devices := make([]device, 0, len(p.devices))
	for _, d := range p.devices {
		devices = append(devices, device{literal(d.Name), literal(d.Type), literals(d.Properties)})
	}
	body := jsonObject{
		"name": p.name, "type": kind, "image": "${var.incus_image}", "project": m.server.Project,
		"profiles": []string{}, "config": literals(p.config), "device": devices,
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
		remoteName + ":" + m.server.Project + "/" + p.name + ",image=" + p.image, body,
	}
}

// Parts are the resources that make the machine. What the server has of them
// already and the state may not, since a run was killed or a volume stayed, is taken
// in by its name.
func (m *machine) Parts(ctx context.Context, run *task.Run, verb string) (made.Parts, error) {
	parts := made.Parts{
		Files: map[string][]byte{}, Vars: map[string]env.Secret{}, Mirror: string(m.provider.Mirror),
		Requires: map[string]made.Provider{"incus": provider},
		Touched:  "${incus_instance." + m.deployment.Machine.Name + ".status}",
		Stays:    func(kind string) bool { return kind == "incus_instance" || kind == "incus_storage_volume" },
		Adopts:   func(o ledger.Object) bool { return strings.HasPrefix(o.Type, "incus_") },
	}
	p, err := m.plan()
	if err != nil && makes(verb) {
		return parts, err
	}
	for _, v := range p.volumes {
		parts.Keeps = parts.Keeps || v.Keep
		if v.Keep && verb == tofu.Destroy {
			run.Log.Infof("%s stays: it is declared so", m.volumeName(v))
		}
	}
	things := m.things(p)
	var there []thing
	if connects(verb) {
		client, err := m.server.Connect(ctx, run.Log)
		if err != nil {
			return parts, err
		}
		defer client.Close()
		if there, err = m.look(ctx, client, things, verb); err != nil {
			return parts, err
		}
		if err := m.introduce(ctx, client, &parts, p, verb); err != nil {
			return parts, err
		}
	}
	parts.Files["incus.tf.json"], err = m.configuration(things, there)
	return parts, err
}

// look finds what the server has already of a machine that is to be made.
func (m *machine) look(ctx context.Context, client *incus.Client, things []thing, verb string) ([]thing, error) {
	if verb != tofu.Apply && verb != tofu.PlanVerb {
		return nil, nil
	}
	var there []thing
	for _, t := range things {
		ours, err := m.ours(ctx, client, t.path...)
		if err != nil {
			return nil, err
		}
		if ours {
			there = append(there, t)
		}
	}
	return there, nil
}

// Gone is an error while the server has something of the machine that a destroy
// removes.
func (m *machine) Gone(ctx context.Context, run *task.Run) error {
	p, err := m.plan()
	if err != nil {
		return err
	}
	client, err := m.server.Connect(ctx, run.Log)
	if err != nil {
		return err
	}
	defer client.Close()
	var left []string
	for _, t := range m.things(p) {
		there, err := m.mine(ctx, client, t.path...)
		if err != nil {
			return err
		}
		lifecycle, _ := t.body["lifecycle"].(jsonObject)
		if _, stays := lifecycle["destroy"]; there && !stays {
			left = append(left, strings.Join(t.path, " "))
		}
	}
	if len(left) == 0 {
		return nil
	}
	return report.Fail("destroy", fmt.Errorf("the server still has what was in no state: %s", strings.Join(left, ", ")),
		"a run that was killed made it: apply with STATE_PHASE=cold takes it in, and destroy removes it then")
}

// introduce says who we are to the server, and what image the machine starts from.
func (m *machine) introduce(ctx context.Context, client *incus.Client, parts *made.Parts, p plan, verb string) error {
	files, err := client.Folder(ctx, remoteName)
	if err != nil {
		return unknown("read the server's certificate", err)
	}
	for name, text := range files {
		parts.Files[folder+"/"+name] = text
	}
	if verb != tofu.Apply && verb != tofu.PlanVerb {
		return nil
	}
	fingerprint, err := m.image(ctx, client, p)
	parts.Vars["incus_image"] = env.NewSecret(fingerprint)
	return err
}

// image is the fingerprint of the image that a new machine starts from. One that is
// there needs none.
func (m *machine) image(ctx context.Context, client *incus.Client, p plan) (string, error) {
	images := client
	if slices.Contains(p.makes, makesProject) {
		images = client.In("default") // whose images those of the new project are
	}
	fingerprint, err := images.Alias(ctx, p.image)
	if err == nil && fingerprint == "" {
		var ok bool
		if ok, err = images.HasImage(ctx, p.image); ok {
			fingerprint = p.image
		}
	}
	if err != nil {
		return "", unknown("look for the image "+p.image, err)
	}
	if fingerprint != "" {
		return fingerprint, nil
	}
	if there, err := m.ours(ctx, client, "instances", p.name); err != nil || there {
		return p.image, err
	}
	return "", report.Refuse("look for the image "+p.image, fmt.Errorf("project %s of %s has none of this name", images.Project(), images.Address()),
		"the effect image builds and publishes it; or name another in INCUS_IMAGE; nothing was changed")
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
