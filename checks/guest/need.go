package guest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"fediversity.eu/slipway/checks/guest/debian"
	"fediversity.eu/slipway/checks/guest/qemu"
	"fediversity.eu/slipway/internal/child"
)

// Need is something that a host lacks.
type Need struct {
	Name    string // a program or a condition
	Package string // the Debian package that brings it, if one does
	Why     string
}

// String names the need and what helps.
func (n Need) String() string {
	text := n.Name + " (" + n.Why + ")"
	if n.Package != "" {
		text += ": install " + n.Package
	}
	return text
}

// tools are the programs that guests are made and run with. An empty kind
// means every kind.
var tools = []struct {
	kind Kind
	Need
}{
	{"", Need{"apt-get", "apt", "downloads the guest's packages"}},
	{"", Need{"dpkg-deb", "dpkg", "unpacks the guest's packages"}},
	{"", Need{"bash", "bash", "configures the guest's root file system"}},
	{"", Need{"tar", "tar", "unpacks the guest's packages"}},
	{"", Need{"xz", "xz-utils", "unpacks kernel modules"}},
	{"", Need{"ldconfig", "libc-bin", "configures the guest's root file system"}},
	{"", Need{"systemd-sysusers", "systemd", "makes the guest's users"}},
	{"", Need{"unshare", "util-linux", "separates the guest from the host"}},
	{VM, Need{qemu.Program, "qemu-system-x86", "runs virtual machines"}},
	{VM, Need{"qemu-img", "qemu-utils", "makes disks"}},
	{VM, Need{"mke2fs", "e2fsprogs", "makes disks"}},
	{Container, Need{"systemd-nspawn", "systemd-container", "runs containers"}},
	{Container, Need{"ip", "iproute2", "makes the container's network"}},
	{Container, Need{"mount", "mount", "makes the container's root file system"}},
}

// Missing tells what this host lacks to run a kind of guest; nothing means that
// it can. Room on the disk and a reachable archive only show when they are used.
func Missing(kind Kind) []Need {
	var missing []Need
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		missing = append(missing, Need{"linux on amd64", "", "guests are made of its packages"})
	}
	for _, tool := range tools {
		if tool.kind != "" && tool.kind != kind {
			continue
		}
		if _, err := child.Find(tool.Name, environment()); err != nil {
			missing = append(missing, tool.Need)
		}
	}
	archive, err := debian.HostArchive(context.Background(), debian.Trixie)
	switch {
	case errors.Is(err, debian.ErrNoArchive):
		missing = append(missing, Need{"a Debian archive", "", "apt's sources name none to take the guest's packages from"})
	case err == nil && !exists(archive.Keyring):
		missing = append(missing, Need{archive.Keyring, "debian-archive-keyring", "proves that packages are Debian's"})
	}
	if kind == VM && os.Geteuid() != 0 && !hasUserNamespaces() {
		missing = append(missing, Need{"user name spaces", "", "without root, the root file system is built in one"})
	}
	if kind == Container {
		missing = append(missing, missingForContainers()...)
	}
	return missing
}

func missingForContainers() []Need {
	var missing []Need
	if os.Geteuid() != 0 {
		missing = append(missing, Need{"root", "", "systemd-nspawn takes it"})
	}
	mounts, err := os.ReadFile("/proc/mounts")
	if err != nil || len(cgroupMounts(string(mounts))) == 0 {
		missing = append(missing, Need{"cgroup2", "", "the container's systemd takes it"})
	}
	if !hasOverlay() {
		missing = append(missing, Need{"overlay", "", "containers share one root file system"})
	}
	return missing
}

// hasUserNamespaces tells whether somebody who is not root may make one.
func hasUserNamespaces() bool {
	return child.Command{
		Path: "unshare", Args: []string{"--user", "--map-root-user", "true"}, Env: environment(),
	}.Run(context.Background()) == nil
}

// hasOverlay tells whether the kernel has the file system, or can load it.
func hasOverlay() bool {
	known, err := os.ReadFile("/proc/filesystems")
	if err == nil && strings.Contains(string(known), "\toverlay\n") {
		return true
	}
	release, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return false
	}
	modules, err := filepath.Glob(filepath.Join("/lib/modules", strings.TrimSpace(string(release)), "kernel/fs/overlayfs/*"))
	return err == nil && len(modules) > 0
}
