package guest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"fediversity.eu/slipway/checks/guest/qemu"
	"fediversity.eu/slipway/internal/wait"
)

// A template is a machine that was saved while it waited for its identity: its
// memory as a file that clones map privately, the state of its devices, and its
// disk, on which clones put their own. It holds no key, and nothing writes to
// it after it was made.
const (
	templateRAM   = "ram"
	templateState = "state"
	templateDisk  = "disk.qcow2"
)

// prepareTemplate finds or makes the template, and makes it the stock's disk.
func (c cache) prepareTemplate(ctx context.Context, o Options, s *stock) error {
	shape := fmt.Sprintf("template-%s-%d-%d-", s.accel.Name, o.MemoryMiB, o.DiskMiB)
	key, err := templateKey(ctx, s.accel)
	if err != nil {
		return err
	}
	s.template = filepath.Join(s.base, shape+key)
	if !exists(s.template) {
		if err := removeMatches(filepath.Join(s.base, shape+"*")); err != nil {
			return err
		}
		if err := room(c.dir, o.MemoryMiB+buildMiB/2); err != nil {
			return err
		}
		err := build(s.template, func(dir string) error { return c.saveTemplate(ctx, o, *s, dir) })
		if err != nil {
			return fmt.Errorf("make template: %w", err)
		}
	}
	s.disk, s.format = filepath.Join(s.template, templateDisk), "qcow2"
	return nil
}

// templateKey changes when a saved machine may not run here any more: another
// QEMU, and with KVM another processor or kernel.
func templateKey(ctx context.Context, accel qemu.Accel) (string, error) {
	version, err := qemuVersion(ctx)
	if err != nil {
		return "", err
	}
	parts := []string{version, accel.Name, accel.CPU}
	parts = append(parts, qemu.Machine{Name: "key", RAM: "ram"}.Args()...)
	if accel.Name == qemu.KVM {
		release, err := os.ReadFile("/proc/sys/kernel/osrelease")
		if err != nil {
			return "", err
		}
		cpus, err := os.ReadFile("/proc/cpuinfo")
		if err != nil {
			return "", err
		}
		parts = append(parts, string(release))
		for line := range strings.Lines(string(cpus)) {
			if strings.HasPrefix(line, "model name") || strings.HasPrefix(line, "flags") {
				parts = append(parts, line)
			}
		}
	}
	sum := sha256.Sum256([]byte(strings.Join(parts, "\n")))
	return hex.EncodeToString(sum[:4]), nil
}

func removeMatches(pattern string) error {
	old, err := filepath.Glob(pattern)
	if err != nil {
		return err
	}
	var errs []error
	for _, path := range old {
		errs = append(errs, os.RemoveAll(path))
	}
	return errors.Join(errs...)
}

// saveTemplate boots a machine up to where it waits for its identity, and saves
// it into dir.
func (c cache) saveTemplate(ctx context.Context, o Options, s stock, dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	ram := filepath.Join(dir, templateRAM)
	if err := os.WriteFile(ram, nil, 0o600); err != nil {
		return err
	}
	if err := os.Truncate(ram, int64(o.MemoryMiB)<<20); err != nil {
		return err
	}
	if err := makeDisk(ctx, s, filepath.Join(dir, templateDisk)); err != nil {
		return err
	}
	started := time.Now()
	machine := s.machine(o, filepath.Join(dir, templateDisk))
	machine.RAM, machine.Share = ram, true
	v, err := startVM(ctx, dir, machine)
	if err != nil {
		return err
	}
	defer func() { _ = v.abort(ctx) }()
	conn, err := v.power(ctx)
	if err != nil {
		return withConsole(err, dir)
	}
	defer func() { _ = conn.Close() }()
	took(c.log, "template booted", started)
	started = time.Now()
	if err := v.save(ctx, filepath.Join(dir, templateState)); err != nil {
		return withConsole(err, dir)
	}
	if err := v.kill(ctx); err != nil {
		return err
	}
	took(c.log, "template saved", started)
	for _, name := range []string{qemu.QMPSocket, qemu.IdentitySocket} {
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}

// saveLimit bounds the writing of a machine's device state, some 100 kB.
const saveLimit = time.Minute

// save stops the machine and writes its state without its memory, which is in
// the file that backs it.
func (v *vm) save(ctx context.Context, file string) error {
	monitor, err := qemu.DialMonitor(ctx, v.dir)
	if err != nil {
		return err
	}
	defer monitor.Close()
	if err := monitor.Do(ctx, "stop", nil, nil); err != nil {
		return err
	}
	if err := leaveMemory(ctx, monitor); err != nil {
		return err
	}
	err = monitor.Do(ctx, "migrate", map[string]any{"uri": "exec:cat > " + shellQuote(file)}, nil)
	if err != nil {
		return err
	}
	return migrated(ctx, monitor, "the machine's state to be saved", saveLimit)
}

// restore reads a saved state into a machine that waits for it, and lets it run.
func (v *vm) restore(ctx context.Context, file string) error {
	monitor, err := qemu.DialMonitor(ctx, v.dir)
	if err != nil {
		return err
	}
	defer monitor.Close()
	if err := leaveMemory(ctx, monitor); err != nil {
		return err
	}
	err = monitor.Do(ctx, "migrate-incoming", map[string]any{"uri": "exec:cat " + shellQuote(file)}, nil)
	if err != nil {
		return err
	}
	if err := migrated(ctx, monitor, "the saved state to be read", saveLimit); err != nil {
		return err
	}
	return resume(ctx, monitor)
}

// leaveMemory keeps shared memory out of a saved state.
func leaveMemory(ctx context.Context, monitor *qemu.Monitor) error {
	return monitor.Do(ctx, "migrate-set-capabilities", map[string]any{
		"capabilities": []any{map[string]any{"capability": "x-ignore-shared", "state": true}},
	}, nil)
}

func migrated(ctx context.Context, monitor *qemu.Monitor, what string, limit time.Duration) error {
	done := wait.For{What: what, Limit: limit, Interval: 5 * time.Millisecond}
	return done.Until(ctx, func(ctx context.Context) error {
		var info struct {
			Status string
			Desc   string `json:"error-desc"`
		}
		if err := monitor.Do(ctx, "query-migrate", nil, &info); err != nil {
			return wait.Stop(err)
		}
		switch info.Status {
		case "completed":
			return nil
		case "failed", "cancelled":
			return wait.Stop(fmt.Errorf("migration %s: %s", info.Status, info.Desc))
		}
		return fmt.Errorf("migration is %q", info.Status)
	})
}

// resume lets a stopped machine run. A "cont" right after a restored state may
// be lost, so it is repeated until the machine says that it runs.
func resume(ctx context.Context, monitor *qemu.Monitor) error {
	running := wait.For{What: "the machine to run", Limit: time.Minute, Interval: 5 * time.Millisecond}
	return running.Until(ctx, func(ctx context.Context) error {
		status, err := monitor.Status(ctx)
		if err != nil {
			return wait.Stop(err)
		}
		if status == "running" {
			return nil
		}
		if err := monitor.Do(ctx, "cont", nil, nil); err != nil {
			return err
		}
		return fmt.Errorf("the machine is %q", status)
	})
}

func shellQuote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
