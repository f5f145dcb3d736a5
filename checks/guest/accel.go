package guest

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"fediversity.eu/slipway/checks/guest/debian"
	"fediversity.eu/slipway/checks/guest/qemu"
	"fediversity.eu/slipway/internal/child"
)

// probed is what a probe found; it holds for one boot of the host and one QEMU.
type probed struct {
	BootID string     `json:"bootID"`
	QEMU   string     `json:"qemu"`
	Accel  qemu.Accel `json:"accel"`
	Reason string     `json:"reason"` // why there is no acceleration
}

// accel decides how virtual processors are run here. The probe's result is kept
// in the cache.
func (c cache) accel(ctx context.Context, want string) (qemu.Accel, error) {
	if want == qemu.TCG {
		return qemu.Emulated(), nil
	}
	bootID, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return qemu.Accel{}, fmt.Errorf("probe acceleration: %w", err)
	}
	version, err := qemuVersion(ctx)
	if err != nil {
		return qemu.Accel{}, err
	}
	file := filepath.Join(c.dir, "accel.json")
	now := probed{BootID: strings.TrimSpace(string(bootID)), QEMU: version}
	var known probed
	if text, err := os.ReadFile(file); err == nil && json.Unmarshal(text, &known) == nil &&
		known.BootID == now.BootID && known.QEMU == now.QEMU {
		now = known
	} else {
		accel, err := qemu.Probe(ctx, filepath.Join(c.base(), debian.Kernel), filepath.Join(c.base(), debian.Initrd))
		if ctx.Err() != nil {
			return qemu.Accel{}, context.Cause(ctx)
		}
		now.Accel = accel
		if err != nil {
			now.Accel, now.Reason = qemu.Emulated(), err.Error()
			first, _, _ := strings.Cut(now.Reason, "\n")
			say(c.log, "virtual machines are emulated here: %s (more in %s)", first, file)
		}
		if err := writeJSON(file, now); err != nil {
			return qemu.Accel{}, err
		}
	}
	if want == qemu.KVM && now.Accel.Name != qemu.KVM {
		return qemu.Accel{}, fmt.Errorf("KVM does not work here: %s", now.Reason)
	}
	return now.Accel, nil
}

func qemuVersion(ctx context.Context) (string, error) {
	text, err := child.Command{Path: qemu.Program, Args: []string{"--version"}, Env: environment()}.Output(ctx)
	if err != nil {
		return "", err
	}
	line, _, _ := strings.Cut(string(text), "\n")
	return line, nil
}

// writeJSON writes a file that is never half there.
func writeJSON(file string, value any) error {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	return build(file, func(temporary string) error {
		return os.WriteFile(temporary, append(text, '\n'), 0o600)
	})
}
