package supervisor

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/poll"

	"fediversity.eu/slipway/internal/child"
	"fediversity.eu/slipway/internal/disposition"
	"fediversity.eu/slipway/methods/tofu/ledger"
)

func TestMain(m *testing.M) {
	if code, ours := Main(os.Args); ours {
		os.Exit(code)
	}
	disposition.Default()
	os.Exit(m.Run())
}

// desk is a folder from which a script in place of tofu is supervised.
type desk struct {
	*Control

	t   *testing.T
	dir string
	set Setting
	mu  sync.Mutex
	out bytes.Buffer
	in  io.Reader
}

func newDesk(t *testing.T, script string) *desk {
	t.Helper()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	assert.NilError(t, os.WriteFile(at("tofu"), []byte("#!/bin/sh\n"+script+"\n"), 0o755))
	d := &desk{t: t, dir: dir, set: Setting{
		Tofu: at("tofu"), Version: "1.12.6", Lock: at("lock"), Process: at("pid"), Events: at("events"),
		Env: map[string]string{"TF_VAR_x": "given"}, Dying: time.Hour,
	}}
	var err error
	d.Control, err = Listen(dir, d.set)
	assert.NilError(t, err)
	t.Cleanup(func() { assert.NilError(t, d.Close()) })
	return d
}

func (d *desk) Write(p []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.out.Write(p)
}

// says waits for a word of the script.
func (d *desk) says(word string) {
	d.t.Helper()
	poll.WaitOn(d.t, func(poll.LogT) poll.Result {
		d.mu.Lock()
		defer d.mu.Unlock()
		if strings.Contains(d.out.String(), word) {
			return poll.Success()
		}
		return poll.Continue("%q, so far %q", word, d.out.String())
	}, poll.WithTimeout(2*time.Minute), poll.WithDelay(5*time.Millisecond))
}

// run runs the supervisor as terraform-exec does, and gives its exit code.
func (d *desk) run(args ...string) int {
	d.Begin()
	err := child.Command{Path: d.Exec(), Args: args, Dir: d.dir, Env: []string{"PATH=/usr/bin:/bin"}, Stdin: d.in, Stdout: d, Stderr: d}.Run(d.t.Context())
	if failed, ok := errors.AsType[*child.Error](err); ok {
		return failed.ExitCode
	}
	return 0
}

// start is run in the background.
func (d *desk) start(args ...string) <-chan int {
	code := make(chan int, 1)
	go func() { code <- d.run(args...) }()
	return code
}

const patient = `trap 'echo asked; n=$((n+1))' INT; echo ready; while [ -z "$n" ]; do sleep 0.05; done; sleep 0.4; echo "asked $n times"; exit 7`

func TestSupervise(t *testing.T) {
	t.Run("hands on arguments, environment and exit code", func(t *testing.T) {
		d := newDesk(t, `echo "$* $TF_VAR_x"; exit 3`)
		assert.Equal(t, d.run("plan", "-out=x"), 3)
		assert.DeepEqual(t, d.Last(), Exit{Code: 3, ByItself: true})
		d.says("plan -out=x given")
	})
	t.Run("hands on what there is to read", func(t *testing.T) {
		d := newDesk(t, "cat")
		d.in = strings.NewReader("a state")
		assert.Equal(t, d.run("state", "push", "-"), 0)
		d.says("a state")
	})
	t.Run("answers for the version", func(t *testing.T) {
		d := newDesk(t, "echo started")
		assert.Equal(t, d.run("version", "-json"), 0)
		assert.Assert(t, strings.Contains(d.out.String(), `"terraform_version":"1.12.6"`))
		assert.Assert(t, !strings.Contains(d.out.String(), "started"))
	})
	t.Run("asks once, however often it is told", func(t *testing.T) {
		d := newDesk(t, patient)
		code := d.start("apply")
		d.says("ready")
		assert.Assert(t, d.Stop())
		d.Stop()
		d.Stop()
		assert.Equal(t, <-code, 7)
		d.says("asked 1 times")
		assert.DeepEqual(t, d.Last(), Exit{Code: 7, ByItself: true})
	})
	t.Run("forces", func(t *testing.T) {
		d := newDesk(t, "trap '' INT TERM; echo ready; while :; do sleep 0.05; done")
		code := d.start("apply")
		d.says("ready")
		d.Stop()
		d.Force()
		assert.Equal(t, <-code, 128+int(syscall.SIGKILL))
		assert.Assert(t, !d.Last().ByItself)
	})
	t.Run("starts nothing after it was told to stop", func(t *testing.T) {
		d := newDesk(t, "echo started")
		d.Stop()
		assert.Equal(t, d.run("apply"), notRun)
		assert.Assert(t, !strings.Contains(d.out.String(), "started\n"))
		assert.DeepEqual(t, d.Last(), Exit{Code: notRun})
	})
	t.Run("starts nothing for a program that is gone", func(t *testing.T) {
		d := newDesk(t, "echo started")
		assert.NilError(t, d.Close())
		assert.Equal(t, d.run("apply"), notRun)
		assert.Assert(t, !strings.Contains(d.out.String(), "started\n"))
	})
	t.Run("starts nothing beside another", func(t *testing.T) {
		d := newDesk(t, "echo started")
		file, err := hold(d.set.Lock)
		assert.NilError(t, err)
		assert.Equal(t, d.run("apply"), notRun)
		assert.NilError(t, file.Close())
		assert.Equal(t, d.run("apply"), 0)
	})
	t.Run("lets tofu end when the program dies", func(t *testing.T) {
		d := newDesk(t, patient)
		code := d.start("apply")
		d.says("ready")
		d.hangUp()
		assert.Equal(t, <-code, 7)
		d.says("asked 1 times")
	})
	t.Run("for a while", func(t *testing.T) {
		d := newDesk(t, "trap '' INT; echo ready; while :; do sleep 0.05; done")
		d.set.Dying = 300 * time.Millisecond
		d.again()
		code := d.start("apply")
		d.says("ready")
		d.hangUp()
		assert.Equal(t, <-code, 128+int(syscall.SIGKILL))
	})
	t.Run("does not believe in the end of a tofu whose provider died with the program", func(t *testing.T) {
		for _, served := range []bool{false, true} {
			d := newDesk(t, `trap 'exit 1' INT; echo '{"type":"apply_start"}'; echo ready; while :; do sleep 0.05; done`)
			if served {
				d.set.Env[Reattach] = "{}"
			}
			d.again()
			code := d.start("apply", "-json")
			d.says("ready")
			d.hangUp()
			assert.Equal(t, <-code, 1)
			text, err := os.ReadFile(d.set.Events)
			assert.NilError(t, err)
			assert.Equal(t, strings.Contains(string(text), string(ledger.End())), !served)
		}
	})
	t.Run("writes down what is made", func(t *testing.T) {
		d := newDesk(t, `echo '{"type":"planned_change"}'; echo '{"type":"apply_start"}'; echo '{"type":"apply_progress"}'; printf '{"type":"apply_complete"}\n'`)
		assert.Equal(t, d.run("apply", "-json"), 0)
		text, err := os.ReadFile(d.set.Events)
		assert.NilError(t, err)
		assert.Equal(t, string(text), "{\"type\":\"apply_start\"}\n{\"type\":\"apply_complete\"}\n"+string(ledger.End()))
		d.says("apply_progress")
	})
	t.Run("stops a tofu of whose work nothing can be written down", func(t *testing.T) {
		d := newDesk(t, `trap 'echo asked; exit 1' INT; echo '{"type":"apply_start"}'; while :; do sleep 0.05; done`)
		d.set.Events = "/dev/full"
		d.again()
		assert.Equal(t, d.run("apply", "-json"), 1)
		d.says("asked")
		assert.Assert(t, d.Last().ByItself)
		assert.Assert(t, strings.Contains(d.Last().Unwritten, "no space left"), d.Last().Unwritten)
	})
	t.Run("a tofu that is killed has not ended by itself", func(t *testing.T) {
		d := newDesk(t, `echo '{"type":"apply_start"}'; kill -KILL $$`)
		assert.Equal(t, d.run("apply", "-json"), 128+int(syscall.SIGKILL))
		text, err := os.ReadFile(d.set.Events)
		assert.NilError(t, err)
		assert.Equal(t, string(text), "{\"type\":\"apply_start\"}\n")
		assert.Assert(t, !d.Last().ByItself)
	})
}

// again is a desk whose setting was changed.
func (d *desk) again() {
	d.t.Helper()
	assert.NilError(d.t, d.Close())
	for _, name := range []string{Name, "control"} {
		assert.NilError(d.t, os.Remove(filepath.Join(d.dir, name)))
	}
	var err error
	d.Control, err = Listen(d.dir, d.set)
	assert.NilError(d.t, err)
}

// hangUp cuts the line as the death of the program does.
func (d *desk) hangUp() {
	d.Control.mu.Lock()
	defer d.Control.mu.Unlock()
	_ = d.conn.Close()
}
