package qemu

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// DialSocket connects to a socket in dir. The path goes through the folder's
// descriptor, because the address of a socket ends after 107 bytes.
func DialSocket(ctx context.Context, dir, name string) (*net.UnixConn, error) {
	folder, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = folder.Close() }()
	if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
		return nil, err
	}
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "unix", fmt.Sprintf("/proc/self/fd/%d/%s", folder.Fd(), name))
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", filepath.Join(dir, name), err)
	}
	return conn.(*net.UnixConn), nil
}

// peer is the process that listens at the other end.
func peer(conn *net.UnixConn) (int, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, err
	}
	var cred *unix.Ucred
	var failed error
	err = raw.Control(func(fd uintptr) {
		cred, failed = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	})
	if err = errors.Join(err, failed); err != nil {
		return 0, fmt.Errorf("identify QEMU: %w", err)
	}
	return int(cred.Pid), nil
}

// Kill ends the machine whose folder is dir as a power cut would, and returns
// when its process is gone. It asks the machine nothing, so it also ends one
// that hangs. A machine that does not run is no error.
func Kill(ctx context.Context, dir string) error {
	conn, err := DialSocket(ctx, dir, QMPSocket)
	if Gone(err) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	pid, err := peer(conn)
	if err != nil {
		return err
	}
	process, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open process %d: %w", pid, err)
	}
	defer func() { _ = unix.Close(process) }()
	// The descriptor holds whoever has the number now: still the machine?
	program, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil || filepath.Base(program) != Program {
		return fmt.Errorf("kill machine: process %d is %q: %w", pid, program, errors.Join(err, errors.ErrUnsupported))
	}
	if err := unix.PidfdSendSignal(process, unix.SIGKILL, nil, 0); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("kill machine: %w", err)
	}
	until := time.Now().Add(commandLimit)
	for time.Now().Before(until) && ctx.Err() == nil {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(process), Events: unix.POLLIN}}, 100)
		if n == 1 {
			return nil
		}
		if err != nil && !errors.Is(err, unix.EINTR) {
			return fmt.Errorf("kill machine: %w", err)
		}
	}
	return fmt.Errorf("kill machine: process %d is still there: %w", pid, context.DeadlineExceeded)
}

// Gone tells whether an error of connecting means that no machine is there.
func Gone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ECONNREFUSED)
}
