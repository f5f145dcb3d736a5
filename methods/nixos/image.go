package nixos

import (
	"context"

	"fediversity.eu/slipway/groups"
	"fediversity.eu/slipway/methods"
	"fediversity.eu/slipway/targets/task"
)

// Image builds an image that new machines start from.
type Image struct{ *Blueprint }

// NewImage makes the blueprint of an image: of a NixOS as of any machine, in the
// form in which Incus takes it, with the modules of the side that the group's images
// come from. standIn may be nil.
func NewImage(group groups.Group, image groups.Image, standIn StandIn) Image {
	if group.ImageSource != nil {
		group.Source = *group.ImageSource
	}
	b := NewBlueprint(methods.Deployment{Group: group, Machine: groups.Machine{
		Name: image.Name, Modules: image.Modules, System: image.System,
	}}, standIn).At("incus-container")
	b.image = "container"
	if image.VM {
		b.At("incus-vm").image = "virtual-machine"
	}
	return Image{b}
}

// Build builds it: a folder in the store with metadata, root and system. The
// evaluation refuses one whose root has an empty password.
func (i Image) Build(ctx context.Context, run *task.Run) (string, error) {
	built, err := i.Blueprint.Build(ctx, run)
	return built.Toplevel, err
}
