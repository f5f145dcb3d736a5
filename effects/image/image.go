// Package image is the effect that makes the images which new machines of a group
// start from, and publishes them to an Incus server and, where asked for, to a
// folder that other servers fetch from.
//
// An image is called by two names: one by the hash of all that went into it, which
// never stands for another image, and one that moves to the newest, and does so last
// of all. What the server has already is not sent again.
package image

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"fediversity.eu/slipway/groups"
	"fediversity.eu/slipway/internal/incus"
	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/report"
	"fediversity.eu/slipway/targets/task"
)

// Name is how programs call the effect.
const Name = "image"

// Blueprint is an image as the coordinates describe it, ready to be built.
type Blueprint interface {
	Coordinates() []any
	Check(env.Environment) error
	// Build gives a folder in the Nix store that holds "system", "metadata" and
	// "root", as Incus takes them. Its name has the hash of all that went in.
	Build(ctx context.Context, run *task.Run) (string, error)
}

// Builder makes blueprints.
type Builder func(groups.Group, groups.Image) Blueprint

// Effect makes and publishes images.
type Effect struct{ builder Builder }

// New makes the effect.
func New(builder Builder) *Effect { return &Effect{builder} }

// Name is "image".
func (*Effect) Name() string { return Name }

// Description says the effect in one line.
func (*Effect) Description() string { return "the images that new machines start from" }

// The verbs.
const (
	build   = "build"
	publish = "publish"
	plan    = "plan"
)

var verbs = []task.Verb{
	{Name: build, Description: "builds, and prints the store paths of,"},
	{Name: publish, Description: "builds, and publishes what is not published yet of,"},
	{Name: plan, Description: "builds, and shows what publish would do about,"},
}

// Verbs lists what can be done; nothing for a group without images.
func (*Effect) Verbs(group groups.Group) []task.Verb {
	if len(group.Images) == 0 {
		return nil
	}
	return verbs
}

// Prepares tells what the effect does before the machines in a combined run of a
// verb by a method: nothing for methods that make no machines.
func (*Effect) Prepares(method, verb string) string {
	if !strings.HasPrefix(method, "tf-incus") {
		return ""
	}
	switch verb {
	case task.Apply:
		return publish
	case plan:
		return plan
	}
	return ""
}

// Task makes one run of a verb.
func (e *Effect) Task(group groups.Group, verb string) task.Task {
	t := &run{verb: verb, group: group}
	for _, image := range group.Images {
		t.images = append(t.images, item{Image: image, blueprint: e.builder(group, image)})
	}
	return t
}

var word = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)

// Check finds what is wrong with what a group declares.
func (*Effect) Check(group groups.Group) error {
	var faults []error
	names := map[string]bool{}
	for _, image := range group.Images {
		switch {
		case !word.MatchString(image.Name):
			faults = append(faults, fmt.Errorf("image %q: its name is not of lower-case words joined by hyphens", image.Name))
		case names[image.Name]:
			faults = append(faults, fmt.Errorf("image %q: declared twice", image.Name))
		}
		if len(image.Modules) == 0 {
			faults = append(faults, fmt.Errorf("image %q: no NixOS module", image.Name))
		}
		names[image.Name] = true
	}
	return errors.Join(faults...)
}

// item is one image of a run.
type item struct {
	groups.Image
	blueprint Blueprint
}

// run is one run of a verb.
type run struct {
	verb    string
	group   groups.Group
	images  []item
	server  incus.Keys
	streams StreamKeys
	keep    KeepKeys
}

func (r *run) Coordinates() []any {
	var all []any
	if r.verb != build {
		all = append(all, &r.server, &r.streams, &r.keep)
	}
	for _, i := range r.images {
		all = append(all, i.blueprint.Coordinates()...)
	}
	return all
}

// Check looks at the coordinates before anything starts.
func (r *run) Check(environment env.Environment) error {
	var faults []error
	if r.verb != build {
		_, err := r.server.Remote()
		faults = append(faults, err)
	}
	for _, i := range r.images {
		faults = append(faults, i.blueprint.Check(environment))
	}
	return errors.Join(faults...)
}

// built is an image that lies in the store.
type built struct {
	groups.Image
	incus.Files
	Path        string
	Fingerprint string
}

// moving and fixed are the names of an image: of the newest, and of this one for
// ever.
func (r *run) moving(b built) string { return groups.ImageName(r.group.Name, b.Name) }

func (r *run) fixed(b built) string {
	const length = 12
	return r.moving(b) + "/" + filepath.Base(b.Path)[:length]
}

// Run builds every image, and goes on with those that were.
func (r *run) Run(ctx context.Context, run *task.Run) error {
	var all []built
	for _, i := range r.images {
		b, err := i.build(ctx, run)
		if err != nil {
			return fmt.Errorf("image %s: %w", i.Name, err)
		}
		all = append(all, b)
	}
	switch r.verb {
	case publish:
		return r.publish(ctx, run, all)
	case plan:
		return r.plan(ctx, run, all)
	}
	for _, b := range all {
		if _, err := fmt.Fprintf(run.Out, "%s %s %s\n", b.Name, b.Path, b.Fingerprint); err != nil {
			return err
		}
	}
	return nil
}

// build builds an image, and looks at what was built.
func (i item) build(ctx context.Context, run *task.Run) (built, error) {
	path, err := i.blueprint.Build(ctx, run)
	if err != nil {
		return built{}, err
	}
	b := built{Image: i.Image, Path: path}
	if b.Files, err = find(path, i.VM); err != nil {
		return b, report.Fail("find the files of the image", err, "the nixpkgs of NIXPKGS makes them in a place that is not known here")
	}
	defer run.Record.Time("hash")()
	if err := guard(ctx, b.Files, run.Log.In("image")); err != nil {
		return b, err
	}
	b.Fingerprint, err = b.Files.Fingerprint()
	return b, err
}
