package qemu

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"fediversity.eu/slipway/internal/child"
)

// Accel says how a machine's processor is run.
type Accel struct {
	Name string `json:"name"` // KVM or TCG
	CPU  string `json:"cpu"`  // the processor model that works with it
}

// KVM runs the machine on the processor itself, TCG emulates one.
const (
	KVM = "kvm"
	TCG = "tcg"
)

// Emulated is the acceleration that every host has.
func Emulated() Accel { return Accel{Name: TCG, CPU: "max"} }

func (a Accel) args() []string {
	accel := a.Name
	if a.Name == TCG {
		accel += ",thread=multi,tb-size=256"
	}
	return []string{"-accel", accel, "-cpu", a.CPU}
}

// hostModels are tried in this order. A hypervisor below us may refuse single
// registers of the host's own processor: one that announces
// IA32_ARCH_CAPABILITIES and refuses to set it makes QEMU abort.
var hostModels = []string{"host", "host,-arch-capabilities"}

// probeLimit bounds one try. Where KVM is what it should be, a kernel reaches
// user space within two seconds.
const probeLimit = 20 * time.Second

// errSlow is a virtual processor that runs, but is no use.
var errSlow = fmt.Errorf("no user space after %s", probeLimit)

// Probe finds out whether this host runs a kernel with KVM. A device that opens
// is not enough, and neither is a virtual processor that executes a boot
// sector: inside of some virtual machines KVM emulates every privileged
// instruction, fails on the rarer ones, and is slower than TCG. So the kernel of
// our guests must boot and say so. Probe returns the working Accel, or why there
// is none.
func Probe(ctx context.Context, kernel, initrd string) (Accel, error) {
	device, err := os.OpenFile("/dev/kvm", os.O_RDWR, 0)
	if err != nil {
		return Accel{}, fmt.Errorf("probe KVM: %w", err)
	}
	_ = device.Close()
	var failed []error
	for _, model := range hostModels {
		accel := Accel{Name: KVM, CPU: model}
		err := probe(ctx, accel, kernel, initrd)
		if err == nil {
			return accel, nil
		}
		if ctx.Err() != nil {
			return Accel{}, context.Cause(ctx)
		}
		failed = append(failed, fmt.Errorf("probe KVM with processor %s: %w", model, err))
		if errors.Is(err, errSlow) {
			break // another model of the same processor is as slow
		}
	}
	return Accel{}, errors.Join(failed...)
}

// probeText is what the initrd says, see the recipe's init.sh.
const probeText = "probe: user space reached"

func probe(ctx context.Context, accel Accel, kernel, initrd string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, probeLimit, errSlow)
	defer cancel()
	args := append(accel.args(), "-machine", "q35", "-m", "256", "-nodefaults", "-no-user-config", "-display", "none",
		"-serial", "stdio", "-no-reboot", "-kernel", kernel, "-initrd", initrd, "-append", kernelArguments+" -- probe")
	console, err := child.Command{
		Path: Program, Args: args, Env: []string{"PATH=/usr/local/bin:/usr/bin:/bin"}, Grace: time.Second,
	}.Output(ctx)
	if err == nil && !strings.Contains(string(console), probeText) {
		return fmt.Errorf("the machine ended early: %q", console)
	}
	return err
}
