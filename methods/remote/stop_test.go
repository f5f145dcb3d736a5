package remote

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/poll"
)

func TestCancelLeavesNothingRunning(t *testing.T) {
	if testing.Short() {
		t.Skip("short: waits for graces to pass")
	}
	t.Parallel()
	s := startSSHD(t, "127.0.0.1")
	c := s.dial(t, "root")
	cases := map[string]struct {
		before string
		stdin  io.Reader
		atMost time.Duration
	}{
		"no input":                      {"", nil, time.Second},
		"input read":                    {"cat >/dev/null & ", endless{}, 3 * time.Second},
		"input unread":                  {"", endless{}, 5 * time.Second},
		"TERM ignored":                  {`trap "" TERM; `, nil, 4 * time.Second},
		"TERM ignored and input unread": {`trap "" TERM; `, endless{}, 6 * time.Second},
	}
	for what, test := range cases {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			sleep := uniqueSleep()
			ctx, cancel := context.WithCancelCause(t.Context())
			ended := make(chan error, 1)
			go func() {
				ended <- c.Run(ctx, Command{Script: test.before + sleep, Stdin: test.stdin, Grace: time.Second})
			}()
			await(t, sleep, 1, 5*time.Second)
			enough := errors.New("enough of it")
			asked := time.Now()
			cancel(enough)
			err := <-ended
			assert.ErrorIs(t, err, enough)
			assert.Error(t, err, "run on "+c.String()+": enough of it")
			assert.Assert(t, time.Since(asked) < test.atMost, "took %s", time.Since(asked))
			await(t, sleep, 0, time.Second)
		})
	}

	t.Run("a command may clean up in its grace", func(t *testing.T) {
		dir := t.TempDir()
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		sleep := uniqueSleep()
		go func() {
			ended <- c.Run(ctx, Command{Script: `trap 'echo tidy >"$1/tidied"; exit 0' TERM; ` + sleep + ` & wait`, Args: []string{dir}})
		}()
		await(t, sleep, 1, 5*time.Second)
		cancel()
		assert.ErrorIs(t, <-ended, context.Canceled)
		text, err := os.ReadFile(filepath.Join(dir, "tidied"))
		assert.NilError(t, err)
		assert.Equal(t, string(text), "tidy\n")
	})

	t.Run("a writer that hangs does not hold up the end", func(t *testing.T) {
		t.Parallel()
		_, hangs := io.Pipe() // nobody reads
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		sleep := uniqueSleep()
		err := c.Run(ctx, Command{Script: "echo x; " + sleep, Stdout: hangs, Grace: time.Second})
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		assert.ErrorContains(t, err, "(told to stop, but it may still run there)")
		await(t, sleep, 0, time.Second)
		assert.NilError(t, hangs.Close())
	})

	t.Run("a deadline gives its cause", func(t *testing.T) {
		ctx, cancel := context.WithTimeoutCause(t.Context(), 100*time.Millisecond, errors.New("no units after 100 ms"))
		defer cancel()
		_, err := c.Output(ctx, "sleep 60")
		assert.ErrorContains(t, err, "no units after 100 ms")
	})
}

func TestLostContact(t *testing.T) {
	if testing.Short() {
		t.Skip("short: waits for silences to pass")
	}
	t.Parallel()
	s := startSSHD(t, "127.0.0.1")
	r := startRelay(t, s.hop("root").Address())

	// run starts a command and waits until it runs.
	run := func(t *testing.T, c *Conn, cmd Command, sleep string) <-chan error {
		t.Helper()
		ended := make(chan error, 1)
		cmd.Script += sleep
		go func() { ended <- c.Run(context.Background(), cmd) }()
		await(t, sleep, 1, 5*time.Second)
		return ended
	}

	t.Run("cut: known at once, and nothing goes on over there", func(t *testing.T) {
		c, err := Dial(t.Context(), r.over(s.target("root")))
		assert.NilError(t, err)
		idle, unread := uniqueSleep(), "sleep 3601"+strings.TrimPrefix(uniqueSleep(), "sleep 3600")
		first := run(t, c, Command{}, idle)
		second := run(t, c, Command{Stdin: endless{}}, unread)
		r.cut()
		for _, ended := range []<-chan error{first, second} {
			err := <-ended
			assert.ErrorIs(t, err, ErrLost)
			assert.ErrorContains(t, err, "run on "+c.String()+": contact lost")
		}
		<-c.Done()
		await(t, idle, 0, 3*time.Second)
		await(t, unread, 0, 8*time.Second)

		_, err = c.Output(t.Context(), "true")
		assert.ErrorIs(t, err, ErrLost)
		again, err := c.Reconnect(t.Context())
		assert.NilError(t, err)
		_, err = again.Output(t.Context(), "true")
		assert.NilError(t, err)
		assert.NilError(t, again.Close())
	})

	t.Run("silent: known within three and a half intervals", func(t *testing.T) {
		target := r.over(s.target("root"))
		target.KeepAlive = 200 * time.Millisecond
		c, err := Dial(t.Context(), target)
		assert.NilError(t, err)
		ended := run(t, c, Command{}, uniqueSleep())
		// Quiet, but alive: the connection stays.
		select {
		case err := <-ended:
			t.Fatalf("ended while the other side was alive: %v", err)
		case <-time.After(4 * target.KeepAlive):
		}
		r.freeze(true)
		frozen := time.Now()
		err = <-ended
		r.freeze(false)
		assert.ErrorIs(t, err, ErrLost)
		assert.ErrorContains(t, err, "no sign of life for ")
		assert.Assert(t, time.Since(frozen) < 5*target.KeepAlive, "took %s", time.Since(frozen))
	})

	t.Run("silent while we send: known as well", func(t *testing.T) {
		target := r.over(s.target("root"))
		target.KeepAlive = 200 * time.Millisecond
		c, err := Dial(t.Context(), target)
		assert.NilError(t, err)
		ended := run(t, c, Command{Stdin: endless{}, Script: "cat >/dev/null & "}, uniqueSleep())
		r.freeze(true)
		select {
		case err = <-ended:
		case <-time.After(5 * time.Second):
			t.Fatal("still waiting after 5 s")
		}
		r.freeze(false)
		assert.ErrorIs(t, err, ErrLost)
	})

	t.Run("the server's process is killed", func(t *testing.T) {
		c := s.dial(t, "root")
		_, err := c.Output(t.Context(), `read -r a b c p r </proc/$PPID/stat; kill -KILL "$p" "$PPID"; sleep 5`)
		assert.ErrorIs(t, err, ErrLost)
	})

	t.Run("closed by ourselves", func(t *testing.T) {
		c := s.dial(t, "root")
		sleep := uniqueSleep()
		ended := run(t, c, Command{}, sleep)
		assert.NilError(t, c.Close())
		err := <-ended
		assert.ErrorContains(t, err, "use of closed network connection")
		assert.Assert(t, !errors.Is(err, ErrLost))
		await(t, sleep, 0, 3*time.Second)
	})
}

// TestNothingIsLeftHere shows that a connection takes its goroutines along.
func TestNothingIsLeftHere(t *testing.T) {
	if testing.Short() {
		t.Skip("short: waits for graces to pass")
	}
	s := startSSHD(t, "127.0.0.1")
	before := goroutines()
	c, err := Dial(t.Context(), s.target("root"))
	assert.NilError(t, err)
	assert.NilError(t, c.Run(t.Context(), Command{Script: "cat", Stdin: strings.NewReader("x")}))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	assert.ErrorIs(t, c.Run(ctx, Command{Script: "sleep 9", Stdin: endless{}}), context.DeadlineExceeded)
	cancel()
	assert.NilError(t, c.Close())
	poll.WaitOn(t, func(poll.LogT) poll.Result {
		if now := goroutines(); now != before {
			return poll.Continue("%d goroutines of this package, %d before", now, before)
		}
		return poll.Success()
	}, poll.WithTimeout(5*time.Second))
}
