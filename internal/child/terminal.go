package child

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"
	"time"
)

// Terminal is a program that a person talks to, such as a shell. It has this
// process's standard streams and stays in its process group: a shell makes one of
// its own and takes the terminal, which it can only do as the terminal's present
// owner.
type Terminal struct {
	Path string   // absolute
	Args []string // without its name
	Env  []string // its whole environment, "KEY=value"
	Dir  string   // its directory; empty means this process's

	farewell time.Duration // how long it has to end after its terminal was said to be gone; 0 means farewell
}

const farewell = 5 * time.Second

// Run lets the program run until it ends, however it does: what a person did in it
// last is no failure of ours. While it runs, keys that interrupt are for it alone.
// When the context ends it is told that its terminal went away (SIGHUP), and
// killed when it does not end; the error is then the context's cause. Any other
// error is that it did not start. If this process is killed, the program is told
// the same by the kernel, on Linux.
func (t Terminal) Run(ctx context.Context) error {
	keys := make(chan os.Signal, 1)
	signal.Notify(keys, syscall.SIGINT, syscall.SIGQUIT)
	defer signal.Stop(keys)
	runtime.LockOSThread() // the kernel watches the thread that starts the program
	defer runtime.UnlockOSThread()

	cmd := exec.CommandContext(ctx, t.Path, t.Args...)
	cmd.Env = append([]string{}, t.Env...)
	cmd.Dir = t.Dir
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	orphaned(cmd.SysProcAttr, syscall.SIGHUP)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGHUP) }
	if cmd.WaitDelay = t.farewell; cmd.WaitDelay == 0 {
		cmd.WaitDelay = farewell
	}
	err := cmd.Run()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if _, ended := errors.AsType[*exec.ExitError](err); ended {
		return nil
	}
	return err
}
