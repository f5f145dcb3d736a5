//go:build checks

package checks

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/poll"

	"fediversity.eu/slipway/internal/child"
)

// tmux is a terminal that a person would sit at, of a tmux of its own.
type tmux struct {
	t      *testing.T
	socket string
	env    []string
}

// settle makes a home in which a shell is not at its first start: fish would read
// all manual pages then, behind everybody's back, and go on after the test.
func settle(t *testing.T, home string) {
	t.Helper()
	assert.NilError(t, os.MkdirAll(filepath.Join(home, ".local", "share", "fish", "generated_completions"), 0o755))
}

// newTmux starts a tmux that ends with the test, with an environment of its own.
func newTmux(t *testing.T, env []string) *tmux {
	t.Helper()
	x := &tmux{t: t, socket: filepath.Join(t.TempDir(), "socket"), env: append(env, "LANG=C.UTF-8", "LC_ALL=C.UTF-8")}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- x.command("-f", "/dev/null", "-D").Run(ctx) }()
	t.Cleanup(func() {
		stop()
		assert.Check(t, <-ended != nil, "it ended by itself")
		noProcessOf(t, x.socket) // which shells have from it as TMUX
	})
	poll.WaitOn(t, func(poll.LogT) poll.Result {
		if err := x.client("list-sessions").Run(t.Context()); err != nil {
			return poll.Continue("%v", err)
		}
		return poll.Success()
	}, poll.WithTimeout(time.Minute))
	return x
}

func (x *tmux) command(args ...string) child.Command {
	return child.Command{Path: "tmux", Args: append([]string{"-S", x.socket}, args...), Env: x.env}
}

// client is a command to the tmux that runs. It starts none.
func (x *tmux) client(args ...string) child.Command {
	return x.command(append([]string{"-N"}, args...)...)
}

func (x *tmux) do(args ...string) string {
	x.t.Helper()
	out, err := x.client(args...).Output(x.t.Context())
	assert.NilError(x.t, err, "tmux %v", args)
	return string(out)
}

// open makes a window of the name in which a command line runs, 200 columns wide.
func (x *tmux) open(name, dir, line string) {
	x.t.Helper()
	x.do("new-session", "-d", "-s", name, "-x", "200", "-y", "50", "-c", dir, "/bin/sh", "-c", line)
	x.do("set-option", "-t", name, "history-limit", "5000")
}

// screen is what one sees, with what went by.
func (x *tmux) screen(name string) string {
	x.t.Helper()
	out, err := x.client("capture-pane", "-p", "-J", "-S", "-", "-t", name).Output(x.t.Context())
	if err != nil {
		return "(no window)"
	}
	return strings.TrimRight(string(out), "\n ")
}

// see waits for a text.
func (x *tmux) see(name, text string) string {
	x.t.Helper()
	var last string
	poll.WaitOn(x.t, func(poll.LogT) poll.Result {
		if last = x.screen(name); strings.Contains(last, text) {
			return poll.Success()
		}
		return poll.Continue("%q is not on the screen:\n%s", text, last)
	}, poll.WithTimeout(3*time.Minute), poll.WithDelay(100*time.Millisecond))
	return last
}

// ends waits until a text is the last on the screen.
func (x *tmux) ends(name, text string) {
	x.t.Helper()
	poll.WaitOn(x.t, func(poll.LogT) poll.Result {
		if last := x.screen(name); !strings.HasSuffix(last, text) {
			return poll.Continue("%q is not the last on the screen:\n%s", text, last)
		}
		return poll.Success()
	}, poll.WithTimeout(3*time.Minute), poll.WithDelay(100*time.Millisecond))
}

// write types a line.
func (x *tmux) write(name, line string) {
	x.t.Helper()
	x.do("send-keys", "-t", name, "-l", line)
	x.do("send-keys", "-t", name, "Enter")
}

// closed waits for a window's end.
func (x *tmux) closed(name string) {
	x.t.Helper()
	poll.WaitOn(x.t, func(poll.LogT) poll.Result {
		if err := x.client("has-session", "-t", "="+name).Run(x.t.Context()); err != nil {
			return poll.Success()
		}
		return poll.Continue("it is open:\n%s", x.screen(name))
	}, poll.WithTimeout(time.Minute), poll.WithDelay(100*time.Millisecond))
}

// present tells whether a program is on the PATH.
func present(program string) bool {
	_, err := exec.LookPath(program)
	return err == nil
}
