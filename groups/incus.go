package groups

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
)

// Instance is what a machine is where a method makes it on Incus. The zero value
// is a container of the group's image "base", without limits of its own.
type Instance struct {
	VM        bool              `json:"vm,omitempty"`         // a virtual machine, and not a container
	Image     string            `json:"image,omitempty"`      // name of one of the group's images; empty means BaseImage
	CPU       int               `json:"cpu,omitempty"`        // how many; 0 means no limit of its own
	MemoryMiB int               `json:"memory_mib,omitempty"` // 0 means no limit of its own
	DiskMiB   int               `json:"disk_mib,omitempty"`   // size of the root disk; 0 means what the pool gives
	Volumes   []Volume          `json:"volumes,omitempty"`
	Config    map[string]string `json:"config,omitempty"`  // further settings, as Incus documents them
	Devices   []Device          `json:"devices,omitempty"` // further devices
}

// Check names what is wrong with an instance, whatever its coordinates will be.
func (i Instance) Check() error {
	var faults []error
	if i.CPU < 0 || i.MemoryMiB < 0 || i.DiskMiB < 0 {
		faults = append(faults, errors.New("a limit is below 0"))
	}
	for _, name := range Unset(i.Config) {
		faults = append(faults, fmt.Errorf("setting %q: empty, which Incus takes for none: leave it out", name))
	}
	names := map[string]bool{"root": true, "eth0": true}
	for _, v := range i.Volumes {
		switch {
		case !instanceName.MatchString(v.Name) || names[v.Name]:
			faults = append(faults, fmt.Errorf("volume %q: no name, or one that is taken", v.Name))
		case !i.VM && !path.IsAbs(v.Path):
			faults = append(faults, fmt.Errorf("volume %q: a container has it at no path", v.Name))
		case i.VM && v.Path != "":
			faults = append(faults, fmt.Errorf("volume %q: a virtual machine has it as a disk, and mounts it itself", v.Name))
		}
		names[v.Name] = true
	}
	for _, d := range i.Devices {
		if d.Name == "" || d.Type == "" {
			faults = append(faults, fmt.Errorf("device %q: no name or no type", d.Name))
		}
		for _, name := range Unset(d.Properties) {
			faults = append(faults, fmt.Errorf("device %q: property %q is empty, which Incus takes for none: leave it out", d.Name, name))
		}
	}
	return errors.Join(faults...)
}

// Unset are the names of settings that have no value, sorted.
func Unset(settings map[string]string) []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		if settings[name] == "" {
			names = append(names, name)
		}
	}
	return names
}

var instanceName = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)

// BaseImage is the image of a machine that names none.
const BaseImage = "base"

// Volume is a data disk of an instance. It outlives the instance.
type Volume struct {
	Name    string `json:"name"`               // lower-case words joined by hyphens
	Path    string `json:"path,omitempty"`     // where it is mounted, in a container; a virtual machine has a disk without a file system
	SizeMiB int    `json:"size_mib,omitempty"` // 0 means what the pool gives
	Keep    bool   `json:"keep,omitempty"`     // it stays also when the machine is destroyed
}

// Device is a device of an instance, as Incus documents them.
type Device struct {
	Name       string            `json:"name"`
	Type       string            `json:"type"` // "nic", "disk", "gpu", …
	Properties map[string]string `json:"properties,omitempty"`
}

// Image is what new machines of a group start from: a NixOS that can be logged in
// to, and nothing else. The effect image builds and publishes it.
type Image struct {
	Name        string   `json:"name"`                  // lower-case words joined by hyphens: "base"
	Description string   `json:"description,omitempty"` // one line, for listings
	VM          bool     `json:"vm,omitempty"`          // of virtual machines, and not of containers
	System      string   `json:"system,omitempty"`      // platform as Nix writes it; empty means DefaultSystem
	Modules     []string `json:"modules"`
}

// ImageName is what an image of a group is called on a server.
func ImageName(group, image string) string { return group + "/" + image }
