// Package qemu is what a test machine needs of QEMU: its command line, its
// machine protocol (QMP), and whether this host accelerates it.
package qemu

import (
	"fmt"
	"slices"
	"strings"
)

// Program is QEMU for the one architecture that test machines have.
const Program = "qemu-system-x86_64"

// Names of a machine's files in its folder, which is QEMU's own directory:
// relative names keep socket paths short.
const (
	QMPSocket      = "qmp.sock"
	IdentitySocket = "identity.sock"
	ConsoleFile    = "console.log"
)

// kernelArguments make a boot quick and its clock trustworthy. Without
// lsm=capability, systemd loads a BPF program first, which takes seconds where
// the processor is emulated.
const kernelArguments = "console=ttyS0 root=/dev/vda rw quiet loglevel=3 net.ifnames=0 mitigations=off nokaslr " +
	"tsc=reliable no_timer_check systemd.show_status=0 panic=-1 lsm=capability audit=0"

// Machine is a virtual machine to be started.
type Machine struct {
	Name      string
	UUID      string
	Accel     Accel
	MemoryMiB int
	Kernel    string
	Initrd    string
	Disk      string // a qcow2 image
	Forward   []int  // guest TCP ports that get a port of 127.0.0.1
	// RAM is a file that backs the machine's memory, for templates: Share
	// writes to it, otherwise it is only read and pages are copied on write.
	RAM      string
	Share    bool
	Incoming bool // wait for a saved state instead of booting
	Detach   bool // become a daemon once everything is open
}

// Args is the machine's command line, without the program. The machine starts
// paused unless it waits for a saved state. Two machines that differ in nothing
// but Name, UUID, Disk, Forward, Share, Incoming and Detach can take over each
// other's saved state.
func (m Machine) Args() []string {
	machine, memory := "q35", []string{"-m", fmt.Sprint(m.MemoryMiB)}
	if m.RAM != "" {
		machine += ",memory-backend=ram"
		memory = append(memory, "-object", fmt.Sprintf("memory-backend-file,id=ram,mem-path=%s,size=%dM,share=%s",
			escape(m.RAM), m.MemoryMiB, onOff(m.Share)))
	}
	args := slices.Concat([]string{
		"-name", escape(m.Name), "-uuid", m.UUID, "-machine", machine,
	}, m.Accel.args(), memory, []string{
		"-smp", "1", "-nodefaults", "-no-user-config", "-display", "none",
		"-chardev", "file,id=console,path=" + ConsoleFile, "-serial", "chardev:console",
		"-chardev", "socket,id=identity,server=on,wait=off,path=" + IdentitySocket, "-serial", "chardev:identity",
		"-qmp", "unix:" + QMPSocket + ",server=on,wait=off",
		"-kernel", m.Kernel, "-initrd", m.Initrd, "-append", kernelArguments,
		// A machine of a test has nothing that is worth a wait for the disk.
		"-drive", "if=none,id=disk,format=qcow2,cache=unsafe,discard=unmap,file=" + escape(m.Disk),
		"-device", "virtio-blk-pci,drive=disk",
		"-netdev", m.network(), "-device", "virtio-net-pci,netdev=" + NetworkID + ",id=" + NetworkDevice,
	})
	if m.Incoming {
		args = append(args, "-incoming", "defer")
	} else {
		args = append(args, "-S")
	}
	if m.Detach {
		args = append(args, "-daemonize")
	}
	return args
}

// NetworkID and NetworkDevice name the back end and the card of the network.
const (
	NetworkID     = "net"
	NetworkDevice = "card"
)

// network is a network of the machine alone (restrict): nothing leaves it but
// answers on the forwards. Port 0 lets the kernel choose a free port.
func (m Machine) network() string {
	options := []string{"user", "id=" + NetworkID, "restrict=on"}
	for _, port := range m.Forward {
		options = append(options, fmt.Sprintf("hostfwd=tcp:127.0.0.1:0-:%d", port))
	}
	return strings.Join(options, ",")
}

// escape protects commas in an option's value.
func escape(value string) string { return strings.ReplaceAll(value, ",", ",,") }

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}
