package incus

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"fediversity.eu/slipway/internal/incus"
	"fediversity.eu/slipway/methods/made"
	"fediversity.eu/slipway/methods/tofu"
	"fediversity.eu/slipway/methods/tofu/ledger"
	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/report"
	"fediversity.eu/slipway/targets/task"
)

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
	if errors.Is(err, incus.ErrUnfit) {
		return report.Refuse("reach the server as its provider does", err, "nothing was made: give the server another certificate (docs/machines.md), and INCUS_SERVER_CERTIFICATE its fingerprint")
	}
	if err != nil {
		return unknown("read the server's certificate", err)
	}
	for name, text := range files {
		parts.Files[folder+"/"+name] = text
	}
	if verb != tofu.Apply && verb != tofu.PlanVerb {
		return nil
	}
	if err := m.profiles(ctx, client, p); err != nil {
		return err
	}
	fingerprint, err := m.image(ctx, client, p)
	parts.Vars["incus_image"] = env.NewSecret(fingerprint)
	return err
}

// profiles refuses a machine that is to use a profile which is not there. A project
// that is made with the machine has only its default one.
func (m *machine) profiles(ctx context.Context, client *incus.Client, p plan) error {
	var missing []string
	for _, name := range p.uses {
		_, there, err := m.thing(ctx, client, "profiles", name)
		if err != nil {
			return err
		}
		if !there && (name != "default" || !slices.Contains(p.makes, makesProject)) {
			missing = append(missing, name)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return report.Refuse("look for profiles", fmt.Errorf("project %s of %s has no %s", client.Project(), client.Address(), strings.Join(missing, ", ")),
		"INCUS_PROFILES names profiles that are there; INCUS_MAKES=profile makes one of the machine's own; nothing was changed")
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
