package child

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"fediversity.eu/slipway/internal/bounded"
)

// script is a command that runs a piece of shell.
func script(text string) Command {
	return Command{Path: "/bin/sh", Args: []string{"-c", text}, Env: []string{"PATH=/usr/bin:/bin"}}
}

// failure is the *Error in err.
func failure(t *testing.T, err error) *Error {
	t.Helper()
	var failed *Error
	assert.Assert(t, errors.As(err, &failed), "not an *Error: %v", err)
	return failed
}

func TestChildInheritsNothing(t *testing.T) {
	t.Setenv("NOBODYS_BUSINESS", "leaked")
	t.Chdir(t.TempDir())

	t.Run("an empty environment is empty", func(t *testing.T) {
		out, err := Command{Path: "/usr/bin/env"}.Output(t.Context())
		assert.NilError(t, err)
		assert.Equal(t, string(out), "")
	})
	t.Run("an environment is what is named", func(t *testing.T) {
		out, err := Command{Path: "/usr/bin/env", Env: []string{"ONE=1", "TWO=2 3"}}.Output(t.Context())
		assert.NilError(t, err)
		assert.Equal(t, string(out), "ONE=1\nTWO=2 3\n")
	})
	t.Run("no directory is the root", func(t *testing.T) {
		out, err := script("pwd -P").Output(t.Context())
		assert.NilError(t, err)
		assert.Equal(t, string(out), "/\n")
	})
	t.Run("no input is the end of input", func(t *testing.T) {
		out, err := script("cat; echo end").Output(t.Context())
		assert.NilError(t, err)
		assert.Equal(t, string(out), "end\n")
	})
	t.Run("the child leads a group of its own", func(t *testing.T) {
		out, err := script(`cut -d' ' -f5 /proc/$$/stat; echo $$`).Output(t.Context())
		assert.NilError(t, err)
		numbers := strings.Fields(string(out))
		assert.Assert(t, cmp.Len(numbers, 2))
		assert.Equal(t, numbers[0], numbers[1])
	})
}

func TestCommandIsTakenAsItIs(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	assert.NilError(t, err)
	var out, errs bytes.Buffer
	command := script(`pwd -P; cat; printf '%s|' "$0" "$@"; echo told >&2`)
	command.Args = append(command.Args, "zero", "one two", "", "$HOME")
	command.Dir, command.Stdin = dir, strings.NewReader("input\n")
	command.Stdout, command.Stderr = &out, &errs
	assert.NilError(t, command.Run(t.Context()))
	assert.Equal(t, out.String(), dir+"\ninput\nzero|one two||$HOME|")
	assert.Equal(t, errs.String(), "told\n")
}

func TestPathIsThatOfTheChild(t *testing.T) {
	dir := t.TempDir()
	assert.NilError(t, os.WriteFile(filepath.Join(dir, "hello"), []byte("#!/bin/sh\necho hello\n"), 0o755))
	out, err := Command{Path: "hello", Env: []string{"PATH=" + dir}}.Output(t.Context())
	assert.NilError(t, err)
	assert.Equal(t, string(out), "hello\n")

	_, err = Command{Path: "sh", Env: []string{"PATH=" + dir}}.Output(t.Context())
	failed := failure(t, err)
	assert.Assert(t, failed.NotFound())
	assert.ErrorIs(t, err, exec.ErrNotFound)
	assert.ErrorContains(t, err, "run sh: sh on PATH")
	assert.Equal(t, failed.ExitCode, -1)
}

func TestOutputBeforeAFailureIsKept(t *testing.T) {
	out, err := script("echo half; exit 3").Output(t.Context())
	assert.Equal(t, string(out), "half\n")
	assert.Equal(t, failure(t, err).ExitCode, 3)
}

func TestOutputWithoutEndIsStopped(t *testing.T) {
	out, err := script("yes; echo never >&2").Output(t.Context())
	assert.Equal(t, len(out), outputLimit)
	assert.ErrorContains(t, err, "it wrote more than 256 MiB, and the rest was cut")
	var full *bounded.Error
	assert.Assert(t, errors.As(err, &full))
}

func TestKilledByAnother(t *testing.T) {
	for how, want := range map[string]bool{"kill -KILL $$": true, "exit 137": true, "kill -TERM $$": false, "exit 1": false} {
		assert.Equal(t, Killed(script(how).Run(t.Context())), want, how)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	assert.Assert(t, !Killed(script("sleep 60").Run(ctx)), "by us")
}

func TestFailingWriterEndsNothing(t *testing.T) {
	var errs bytes.Buffer
	writer := &brokenWriter{}
	command := script(`head -c 300000 /dev/zero && echo whole >&2`)
	command.Stdout, command.Stderr = writer, &errs
	assert.NilError(t, command.Run(t.Context()))
	assert.Equal(t, errs.String(), "whole\n", "the child must be able to write all of it")
	assert.Equal(t, writer.writes, 1, "a writer that failed is not asked again")
}

type brokenWriter struct{ writes int }

func (w *brokenWriter) Write([]byte) (int, error) {
	w.writes++
	return 0, errors.New("nobody reads")
}

func TestOneBufferTakesBoth(t *testing.T) {
	var both overlapping
	command := script(`i=0; while [ $i -lt 300 ]; do echo out; echo err >&2; i=$((i+1)); done`)
	command.Stdout, command.Stderr = &both, &both
	assert.NilError(t, command.Run(t.Context()))
	assert.Assert(t, !both.overlapped.Load(), "two wrote at once")
	assert.Equal(t, both.bytes.Load(), int64(2*300*4))
}

// overlapping takes its time, and notices when two write to it at once.
type overlapping struct {
	busy, overlapped atomic.Bool
	bytes            atomic.Int64
}

func (o *overlapping) Write(p []byte) (int, error) {
	if !o.busy.CompareAndSwap(false, true) {
		o.overlapped.Store(true)
		return len(p), nil
	}
	defer o.busy.Store(false)
	runtime.Gosched()
	o.bytes.Add(int64(len(p)))
	return len(p), nil
}

func TestEndedContextStartsNothing(t *testing.T) {
	cause := errors.New("somebody changed their mind")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	file := filepath.Join(t.TempDir(), "touched")
	err := script("touch " + file).Run(ctx)
	failed := failure(t, err)
	assert.ErrorIs(t, err, cause)
	assert.Equal(t, failed.ExitCode, -1)
	_, err = os.Stat(file)
	assert.ErrorIs(t, err, os.ErrNotExist)
}
