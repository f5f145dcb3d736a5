package groups

// Instance is what a machine is where a method makes it on Incus. The zero value
// is a container of the group's image "base", without limits of its own.
type Instance struct {
	VM        bool   // a virtual machine, and not a container
	Image     string // name of one of the group's images; empty means BaseImage
	CPU       int    // how many; 0 means no limit of its own
	MemoryMiB int    // 0 means no limit of its own
	DiskMiB   int    // size of the root disk; 0 means what the pool gives
	Volumes   []Volume
	Config    map[string]string // further settings, as Incus documents them
	Devices   []Device          // further devices
}

// BaseImage is the image of a machine that names none.
const BaseImage = "base"

// Volume is a data disk of an instance. It outlives the instance.
type Volume struct {
	Name    string // lower-case words joined by hyphens
	Path    string // where it is mounted, in a container; a virtual machine has a disk without a file system
	SizeMiB int    // 0 means what the pool gives
	Keep    bool   // it stays also when the machine is destroyed
}

// Device is a device of an instance, as Incus documents them.
type Device struct {
	Name       string
	Type       string // "nic", "disk", "gpu", …
	Properties map[string]string
}

// Image is what new machines of a group start from: a NixOS that can be logged in
// to, and nothing else. The effect image builds and publishes it.
type Image struct {
	Name        string // lower-case words joined by hyphens: "base"
	Description string // one line, for listings
	VM          bool   // of virtual machines, and not of containers
	System      string // platform as Nix writes it; empty means DefaultSystem
	Modules     []string
}

// ImageName is what an image of a group is called on a server.
func ImageName(group, image string) string { return group + "/" + image }
