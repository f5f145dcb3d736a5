// Package netns is work within the network name space of another process: of a test
// machine's cable, or of a daemon that only its test may reach.
package netns

import (
	"errors"
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// Space is a network name space of another process.
type Space struct{ file *os.File }

// Open opens the network name space that a process lives in, which must not be our
// own.
func Open(pid int) (*Space, error) {
	file, err := os.Open(fmt.Sprintf("/proc/%d/ns/net", pid))
	if err != nil {
		return nil, err
	}
	theirs, err := file.Stat()
	if err == nil {
		var ours os.FileInfo
		if ours, err = os.Stat("/proc/thread-self/ns/net"); err == nil && os.SameFile(ours, theirs) {
			err = fmt.Errorf("process %d has no network name space of its own", pid)
		}
	}
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	return &Space{file}, nil
}

// Do calls f on a thread in the name space: sockets that it makes and children
// that it starts live there.
func (n *Space) Do(f func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		home, err := os.Open("/proc/thread-self/ns/net")
		if err != nil {
			runtime.UnlockOSThread()
			done <- err
			return
		}
		defer func() { _ = home.Close() }()
		if err := unix.Setns(int(n.file.Fd()), unix.CLONE_NEWNET); err != nil {
			runtime.UnlockOSThread()
			done <- fmt.Errorf("enter network name space: %w", err)
			return
		}
		err = f()
		if back := unix.Setns(int(home.Fd()), unix.CLONE_NEWNET); back != nil {
			// The thread stays locked and ends with this goroutine.
			done <- errors.Join(err, fmt.Errorf("leave network name space: %w", back))
			return
		}
		runtime.UnlockOSThread()
		done <- err
	}()
	return <-done
}

// Close forgets the name space, which lives as long as its processes.
func (n *Space) Close() { _ = n.file.Close() }
