package guest

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"time"

	"fediversity.eu/slipway/checks/guest/debian"
	"fediversity.eu/slipway/checks/guest/guardian"
	"fediversity.eu/slipway/checks/guest/qemu"
	"fediversity.eu/slipway/internal/child"
	"fediversity.eu/slipway/internal/wait"
)

// vm is a QEMU machine, whoever started it.
type vm struct {
	dir     string
	process *guardian.Process // nil when the machine is a daemon
}

// machine is the QEMU machine that guests with options o are.
func (s stock) machine(o Options, disk string) qemu.Machine {
	return qemu.Machine{
		Name: o.Name, UUID: newUUID(), Accel: s.accel, MemoryMiB: o.MemoryMiB, Disk: disk,
		Kernel: filepath.Join(s.base, debian.Kernel), Initrd: filepath.Join(s.base, debian.Initrd),
		Forward: append([]int{sshPort}, o.Forward...),
	}
}

func newUUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// makeDisk makes a disk whose unwritten parts are those of the stock's.
func makeDisk(ctx context.Context, s stock, file string) error {
	return child.Command{
		Path: "qemu-img", Env: environment(),
		Args: []string{"create", "-q", "-f", "qcow2", "-F", s.format, "-b", s.disk, "--", file},
	}.Run(ctx)
}

// startVM starts QEMU in dir, with the machine stopped, or waiting for a saved
// state. On an error nothing is left running.
func startVM(ctx context.Context, dir string, m qemu.Machine) (*vm, error) {
	v := &vm{dir: dir}
	argv := append([]string{qemu.Program}, m.Args()...)
	if m.Detach {
		// A daemon leaves the process group, so it outlives its start.
		err := child.Command{Path: argv[0], Args: argv[1:], Dir: dir, Env: environment()}.Run(ctx)
		if err != nil {
			return nil, err
		}
		return v, nil
	}
	var err error
	v.process, err = guardian.Start(ctx, dir, environment(), append([]string{"sh", "-c", guardVM, "guardian"}, argv...)...)
	if err != nil {
		return nil, err
	}
	open := wait.For{What: "QEMU to answer", Limit: time.Minute, Interval: 5 * time.Millisecond}
	err = open.Until(ctx, func(ctx context.Context) error {
		if err := v.process.Alive(); err != nil {
			return wait.Stop(err)
		}
		monitor, err := qemu.DialMonitor(ctx, dir)
		if err == nil {
			monitor.Close()
		}
		return err
	})
	if err != nil {
		return nil, withConsole(errors.Join(err, v.abort(ctx)), dir)
	}
	return v, nil
}

// identityLimit is how long a cold boot may take to ask for its identity.
const identityLimit = 3 * time.Minute

// power lets a stopped machine boot, and returns the line to the script that
// asks who the machine is, when it asks.
func (v *vm) power(ctx context.Context) (*identityLine, error) {
	line, err := v.identityLine(ctx)
	if err != nil {
		return nil, err
	}
	monitor, err := qemu.DialMonitor(ctx, v.dir)
	if err != nil {
		_ = line.Close()
		return nil, err
	}
	defer monitor.Close()
	err = resume(ctx, monitor)
	if err == nil {
		err = line.expect(ctx, "waiting", identityLimit)
	}
	if err != nil {
		_ = line.Close()
		return nil, err
	}
	return line, nil
}

// identityLine is the guest's second serial port.
type identityLine struct {
	net.Conn
	lines *bufio.Scanner
}

func (v *vm) identityLine(ctx context.Context) (*identityLine, error) {
	conn, err := qemu.DialSocket(ctx, v.dir, qemu.IdentitySocket)
	if err != nil {
		return nil, err
	}
	return &identityLine{conn, bufio.NewScanner(conn)}, nil
}

// expect reads one line.
func (l *identityLine) expect(ctx context.Context, want string, limit time.Duration) error {
	_ = l.SetReadDeadline(time.Now().Add(limit))
	stop := context.AfterFunc(ctx, func() { _ = l.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	if l.lines.Scan() && l.lines.Text() == want {
		return nil
	}
	return fmt.Errorf("waited up to %s for the guest to say %q, got %q: %w", limit, want, l.lines.Text(),
		errors.Join(l.lines.Err(), context.Cause(ctx)))
}

// introduce tells the machine the time and who it is.
func (l *identityLine) introduce(ctx context.Context, id identity) error {
	message, err := id.message(time.Now())
	if err != nil {
		return err
	}
	if _, err := l.Write(message); err != nil {
		return fmt.Errorf("send identity: %w", err)
	}
	if err := l.expect(ctx, "ready", listenLimit); err != nil {
		return fmt.Errorf("%w: %w", errSilent, err)
	}
	return nil
}

// listenLimit is how long a machine may take to become who it was told to be;
// two seconds is usual.
const listenLimit = 30 * time.Second

// posture is what QEMU knows of a machine that does not answer: whether it runs,
// where its processor is, and which interrupts wait.
func (v *vm) posture(ctx context.Context) string {
	monitor, err := qemu.DialMonitor(ctx, v.dir)
	if err != nil {
		return err.Error()
	}
	defer monitor.Close()
	status, err := monitor.Status(ctx)
	var text strings.Builder
	fmt.Fprintf(&text, "--- QEMU: the machine is %q (%v)\n", status, err)
	for _, question := range []string{"info registers", "info pic", "info chardev"} {
		said, err := monitor.Human(ctx, question)
		if err != nil {
			said = err.Error()
		}
		fmt.Fprintf(&text, "--- QEMU: %s\n%.1500s\n", question, said)
	}
	return text.String()
}

// ports asks QEMU which ports the forwards got.
func (v *vm) ports(ctx context.Context) (map[int]int, error) {
	monitor, err := qemu.DialMonitor(ctx, v.dir)
	if err != nil {
		return nil, err
	}
	defer monitor.Close()
	return monitor.Ports(ctx)
}

func (v *vm) alive() error {
	if v.process == nil {
		return nil
	}
	return v.process.Alive()
}

func (v *vm) running(ctx context.Context) bool {
	conn, err := qemu.DialSocket(ctx, v.dir, qemu.QMPSocket)
	if err == nil {
		_ = conn.Close()
	}
	return !qemu.Gone(err)
}

func (v *vm) setLink(ctx context.Context, up bool) error {
	monitor, err := qemu.DialMonitor(ctx, v.dir)
	if err != nil {
		return err
	}
	defer monitor.Close()
	return monitor.Do(ctx, "set_link", map[string]any{"name": qemu.NetworkDevice, "up": up}, nil)
}

func (v *vm) reset(ctx context.Context) error {
	monitor, err := qemu.DialMonitor(ctx, v.dir)
	if err != nil {
		return err
	}
	defer monitor.Close()
	return monitor.Do(ctx, "system_reset", nil, nil)
}

func (v *vm) kill(ctx context.Context) error {
	if err := qemu.Kill(ctx, v.dir); err != nil {
		return err
	}
	if v.process == nil {
		return nil
	}
	return v.process.End(ctx)
}

// abort ends a machine that did not come up, though ctx may have ended.
func (v *vm) abort(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeLimit)
	defer cancel()
	return v.kill(ctx)
}

func (v *vm) close() error { return nil }
