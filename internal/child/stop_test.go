package child

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/poll"
)

// errEnough is why these tests stop their children.
var errEnough = errors.New("the test has seen enough")

// stopGrace is how long the children of these tests may take; bound is how much
// longer than that a busy host may make a run, and far less than they live.
const (
	stopGrace = 300 * time.Millisecond
	bound     = 10 * time.Second
)

// The children say their process group, then "ready" when they are set up.
const hello = "echo group $$; "

func TestStop(t *testing.T) {
	for _, c := range []struct {
		name   string
		script string
		cancel bool
		signal os.Signal
		check  func(t *testing.T, err error)
	}{
		{
			name:   "a grandchild holds the output and nobody cancels",
			script: hello + "sleep 60 & exit 0",
			check: func(t *testing.T, err error) {
				t.Helper()
				assert.ErrorIs(t, err, exec.ErrWaitDelay)
				assert.Equal(t, failure(t, err).ExitCode, 0)
				assert.NilError(t, failure(t, err).Stopped)
			},
		},
		{
			name:   "a grandchild holds the output of a child that is cancelled",
			script: hello + "sleep 60 & echo ready; wait",
			cancel: true,
			check: func(t *testing.T, err error) {
				t.Helper()
				assert.ErrorIs(t, err, errEnough)
				assert.Equal(t, failure(t, err).ExitCode, -1)
				assert.ErrorContains(t, err, "signal: terminated")
			},
		},
		{
			name:   "the child ignores the request",
			script: hello + "trap '' TERM; echo ready; while :; do sleep 0.1; done",
			cancel: true,
			check: func(t *testing.T, err error) {
				t.Helper()
				assert.ErrorIs(t, err, errEnough)
				assert.Equal(t, failure(t, err).ExitCode, -1)
				assert.ErrorContains(t, err, "signal: killed")
			},
		},
		{
			name:   "a grandchild ignores the request",
			script: hello + "(trap '' TERM; echo ready; while :; do sleep 0.1; done) & wait",
			cancel: true,
			check: func(t *testing.T, err error) {
				t.Helper()
				assert.ErrorIs(t, err, errEnough)
				assert.Equal(t, failure(t, err).ExitCode, -1)
			},
		},
		{
			name:   "the child exits 0 when asked",
			script: hello + "trap 'exit 0' TERM; echo ready; while :; do sleep 0.1; done",
			cancel: true,
			check: func(t *testing.T, err error) {
				t.Helper()
				assert.ErrorIs(t, err, errEnough)
				assert.Equal(t, failure(t, err).ExitCode, 0)
				assert.Equal(t, failure(t, err).Stopped, errEnough)
			},
		},
		{
			name:   "the child exits 3 when asked",
			script: hello + "trap 'echo giving up >&2; exit 3' TERM; echo ready; while :; do sleep 0.1; done",
			cancel: true,
			check: func(t *testing.T, err error) {
				t.Helper()
				assert.ErrorIs(t, err, errEnough)
				assert.Equal(t, failure(t, err).ExitCode, 3)
				assert.Assert(t, strings.HasSuffix(failure(t, err).Stderr, "giving up")) // some shells say before that a child of theirs was ended
				assert.ErrorContains(t, err, "exit status 3")
			},
		},
		{
			name:   "another signal asks",
			script: hello + "trap 'exit 9' INT; trap '' TERM; echo ready; while :; do sleep 0.1; done",
			cancel: true,
			signal: syscall.SIGINT,
			check: func(t *testing.T, err error) {
				t.Helper()
				assert.ErrorIs(t, err, errEnough)
				assert.Equal(t, failure(t, err).ExitCode, 9)
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			out := &listener{word: "ready\n", heard: func() {
				if c.cancel {
					cancel(errEnough)
				}
			}}
			command := script(c.script)
			command.Stdout, command.Signal, command.Grace = out, c.signal, stopGrace
			started := time.Now()
			err := command.Run(ctx)
			assert.Assert(t, time.Since(started) < stopGrace+bound, "took %s", time.Since(started))
			c.check(t, err)
			poll.WaitOn(t, gone(out.group(t)), poll.WithTimeout(bound), poll.WithDelay(10*time.Millisecond))
		})
	}
}

// listener keeps what is written to it and calls heard at a word.
type listener struct {
	mu    sync.Mutex
	buf   bytes.Buffer
	word  string
	heard func()
}

func (l *listener) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.buf.Write(p)
	if l.heard != nil && strings.Contains(l.buf.String(), l.word) {
		l.heard()
		l.heard = nil
	}
	return len(p), nil
}

// group is the process group that the child said it leads.
func (l *listener) group(t *testing.T) int {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	line, _, _ := strings.Cut(l.buf.String(), "\n")
	number, err := strconv.Atoi(strings.TrimPrefix(line, "group "))
	assert.NilError(t, err)
	return number
}

// gone waits for a process group to have no living member.
func gone(group int) poll.Check {
	return func(poll.LogT) poll.Result {
		stats, err := filepath.Glob("/proc/[0-9]*/stat")
		if err != nil {
			return poll.Error(err)
		}
		for _, stat := range stats {
			text, err := os.ReadFile(stat)
			if err != nil {
				continue // it ended meanwhile
			}
			// After the name, which is in parentheses: state, parent, group.
			fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
			if len(fields) > 2 && fields[2] == strconv.Itoa(group) && fields[0] != "Z" {
				return poll.Continue("%s", fmt.Sprintf("%s is alive", filepath.Dir(stat)))
			}
		}
		return poll.Success()
	}
}

// slow takes its time over every piece, as a slow link does.
type slow struct{ bytes.Buffer }

func (s *slow) Write(p []byte) (int, error) {
	time.Sleep(600 * time.Millisecond) // the link, not a wait of the test
	return s.Buffer.Write(p)
}

func TestASlowReaderGetsAllThatWasWritten(t *testing.T) {
	t.Parallel()
	out := &slow{}
	command := script("head -c 60000 /dev/zero")
	command.Stdout, command.Grace, command.Drain = out, 100*time.Millisecond, time.Minute
	assert.NilError(t, command.Run(t.Context()))
	assert.Equal(t, out.Len(), 60000)
}

func TestADescendantInASessionOfItsOwnIsNotLeft(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	out := &listener{word: "ready\n", heard: func() { cancel(errEnough) }}
	// The group that it says is that of the one that leaves.
	command := script(`setsid sh -c 'echo group $$; trap "" TERM; echo ready; while :; do sleep 0.1; done' & wait`)
	command.Stdout, command.Grace = out, stopGrace
	assert.ErrorIs(t, command.Run(ctx), errEnough)
	poll.WaitOn(t, gone(out.group(t)), poll.WithTimeout(bound), poll.WithDelay(10*time.Millisecond))
}

func TestAChildIsAskedAgain(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		again time.Duration
		text  string
	}{
		{"asked once", 0, "signal: killed"},
		{"asked again", 50 * time.Millisecond, "exit status 5"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			out := &listener{word: "ready\n", heard: func() { cancel(errEnough) }}
			// Deaf to the first request.
			command := script(hello + `n=0; trap 'n=$((n+1)); [ $n -lt 2 ] || exit 5' TERM; echo ready; while :; do sleep 0.05; done`)
			command.Stdout, command.Grace, command.Again = out, 2*time.Second, c.again
			err := command.Run(ctx)
			assert.ErrorIs(t, err, errEnough)
			assert.ErrorContains(t, err, c.text)
			poll.WaitOn(t, gone(out.group(t)), poll.WithTimeout(bound), poll.WithDelay(10*time.Millisecond))
		})
	}
}

func TestSignalsAreHandedOnToTheChildAlone(t *testing.T) {
	t.Parallel()
	signals := make(chan syscall.Signal, 1)
	out := &listener{word: "ready\n", heard: func() { signals <- syscall.SIGINT }}
	command := script(hello + `sh -c 'trap "echo grandchild; exit" INT; while :; do sleep 0.1; done' & trap "echo child; exit 5" INT; echo ready; while :; do sleep 0.1; done`)
	command.Stdout, command.Signals, command.Grace = out, signals, stopGrace
	err := command.Run(t.Context())
	assert.Equal(t, failure(t, err).ExitCode, 5)
	assert.NilError(t, failure(t, err).Stopped)
	assert.Assert(t, strings.HasSuffix(out.buf.String(), "ready\nchild\n"), out.buf.String())
}

func TestKillGoesToTheGroup(t *testing.T) {
	t.Parallel()
	signals := make(chan syscall.Signal, 1)
	out := &listener{word: "ready\n", heard: func() { signals <- syscall.SIGKILL }}
	command := script(hello + "trap '' INT TERM; sleep 60 & echo ready; wait; wait")
	command.Stdout, command.Signals, command.Grace = out, signals, time.Minute
	started := time.Now()
	err := command.Run(t.Context())
	assert.ErrorContains(t, err, "signal: killed")
	assert.Assert(t, time.Since(started) < bound)
}

func TestOrphanGetsItsSignal(t *testing.T) {
	t.Parallel()
	command := script("echo lives")
	command.Orphan = syscall.SIGINT
	out, err := command.Output(t.Context())
	assert.NilError(t, err)
	assert.Equal(t, string(out), "lives\n")
}
