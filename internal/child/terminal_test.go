package child

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/poll"
)

func TestTerminal(t *testing.T) {
	t.Run("however it ends is its own business", func(t *testing.T) {
		assert.NilError(t, Terminal{Path: "/bin/sh", Args: []string{"-c", "exit 3"}}.Run(t.Context()))
		assert.NilError(t, Terminal{Path: "/bin/sh", Args: []string{"-c", "kill -9 $$"}}.Run(t.Context()))
	})
	t.Run("one that is not there", func(t *testing.T) {
		assert.ErrorIs(t, Terminal{Path: "/nonexistent/sh"}.Run(t.Context()), os.ErrNotExist)
	})
	t.Run("it gets its environment and no other", func(t *testing.T) {
		dir := t.TempDir()
		t.Setenv("OF_THE_TEST", "x")
		assert.NilError(t, Terminal{
			Path: "/bin/sh", Args: []string{"-c", `echo "$OWN-$OF_THE_TEST" >out`}, Dir: dir, Env: []string{"OWN=1"},
		}.Run(t.Context()))
		text, err := os.ReadFile(filepath.Join(dir, "out"))
		assert.NilError(t, err)
		assert.Equal(t, string(text), "1-\n")
	})
	t.Run("it is told that the terminal went away", func(t *testing.T) {
		dir := t.TempDir()
		gone := errors.New("the terminal went away")
		ctx, cancel := context.WithCancelCause(t.Context())
		ended := make(chan error, 1)
		go func() {
			ended <- Terminal{
				Path: "/bin/sh", Dir: dir, Env: []string{"PATH=/usr/bin:/bin"}, farewell: time.Minute,
				Args: []string{"-c", `trap "echo bye >heard; exit" HUP; echo >ready; while :; do sleep 0.05; done`},
			}.Run(ctx)
		}()
		poll.WaitOn(t, poll.FileExists(filepath.Join(dir, "ready")), poll.WithTimeout(time.Minute))
		cancel(gone)
		assert.ErrorIs(t, <-ended, gone)
		text, err := os.ReadFile(filepath.Join(dir, "heard"))
		assert.NilError(t, err)
		assert.Equal(t, string(text), "bye\n")
	})
}
