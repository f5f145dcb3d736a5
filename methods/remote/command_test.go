package remote

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"
)

func TestRunOnRealServer(t *testing.T) {
	t.Parallel()
	s := startSSHD(t, "127.0.0.1")

	t.Run("every login shell reads the same", func(t *testing.T) {
		shells := map[string]string{
			"root": "/bin/sh", "plain": "/bin/sh", "bashy": "/bin/bash", "fishy": "/usr/bin/fish",
			"cshy": "/bin/csh", "noisy": "/bin/sh",
		}
		for user, shell := range shells {
			t.Run(user, func(t *testing.T) {
				if _, err := os.Stat(shell); err != nil {
					t.Skip("missing part: " + shell)
				}
				c := s.dial(t, user)
				var stdout, stderr bytes.Buffer
				err := c.Run(t.Context(), Command{
					Script: "printf '%s|' \"$@\" $# \"$(id -un)\"\ncat\necho \"aside\" >&2\nexit 3",
					Args:   []string{"it's", "", "a b\n\\c!$x`y`", "*", "~", "-n", "\xff"},
					Stdin:  strings.NewReader("input\n"), Stdout: &stdout, Stderr: &stderr,
				})
				assert.Equal(t, stdout.String(), "it's||a b\n\\c!$x`y`|*|~|-n|\xff|7|"+user+"|input\n")
				assert.Equal(t, stderr.String(), "aside\n")
				var exit *ExitError
				assert.Assert(t, errors.As(err, &exit))
				assert.Equal(t, exit.Status, 3)
				assert.ErrorContains(t, err, "exit status 3\naside")
			})
		}
	})

	t.Run("a login shell that refuses is named, with its words", func(t *testing.T) {
		cases := map[string]string{
			"closed": `the login shell of closed refuses commands: it said "This account is currently not available." and ended with exit status 1`,
			"falsy":  `the login shell of falsy refuses commands: it said nothing and ended with exit status 1`,
		}
		for user, want := range cases {
			_, err := s.dial(t, user).Output(t.Context(), "echo never")
			var e *Error
			assert.Assert(t, errors.As(err, &e), "%s: %v", user, err)
			assert.Equal(t, e.Class, ShellRefused)
			assert.ErrorContains(t, err, want)
		}
	})

	c := s.dial(t, "root")

	t.Run("an exit is told as it was", func(t *testing.T) {
		dir := t.TempDir()
		assert.NilError(t, os.WriteFile(filepath.Join(dir, "foreign"), []byte("\x7fELF\x02\x01\x01garbage\x00\x00"), 0o755))
		assert.NilError(t, os.WriteFile(filepath.Join(dir, "plain"), nil, 0o644))
		cases := map[string]struct {
			script string
			status int
			stderr string
		}{
			"not found":      {"no-such-command", 127, "not found"},
			"not executable": {dir + "/plain", 126, "ermission denied"},
			"other machine":  {"exec " + dir + "/foreign", 126, "Exec format error"},
			"killed child":   {"sh -c 'kill -KILL $$'", 137, ""},
			"set -e":         {"set -e; false; echo no >&2", 1, ""},
			"syntax":         {"if", 2, "yntax error"},
			"255":            {"exit 255", 255, ""},
		}
		for what, want := range cases {
			err := c.Run(t.Context(), Command{Script: want.script})
			var exit *ExitError
			assert.Assert(t, errors.As(err, &exit), "%s: %v", what, err)
			assert.Equal(t, exit.Status, want.status, what)
			assert.Assert(t, cmp.Contains(exit.Stderr, want.stderr), what)
			assert.Assert(t, !errors.Is(err, ErrLost), what)
		}
	})

	t.Run("bytes are bytes, both ways", func(t *testing.T) {
		data := make([]byte, 5<<20+77)
		_, err := rand.Read(data)
		assert.NilError(t, err)
		var out bytes.Buffer
		assert.NilError(t, c.Run(t.Context(), Command{Script: "cat", Stdin: bytes.NewReader(data), Stdout: &out}))
		assert.Assert(t, bytes.Equal(out.Bytes(), data))
	})

	t.Run("small pieces of input arrive as they come", func(t *testing.T) {
		in, ours := io.Pipe()
		theirs, out := io.Pipe()
		ended := make(chan error, 1)
		go func() { ended <- c.Run(t.Context(), Command{Script: "cat", Stdin: in, Stdout: out}) }()
		for _, word := range []string{"a", "\x00\n", "0\n", "last"} {
			_, err := io.WriteString(ours, word)
			assert.NilError(t, err)
			got := make([]byte, len(word))
			_, err = io.ReadFull(theirs, got)
			assert.NilError(t, err)
			assert.Equal(t, string(got), word)
		}
		assert.NilError(t, ours.Close())
		assert.NilError(t, <-ended)
	})

	t.Run("a command that leaves its input unread ends all the same", func(t *testing.T) {
		out, err := c.Output(t.Context(), "echo $#; exit 0", "x")
		assert.NilError(t, err)
		assert.Equal(t, string(out), "1\n")
		assert.NilError(t, c.Run(t.Context(), Command{Script: "head -c 100000 >/dev/null", Stdin: endless{}}))
		assert.NilError(t, c.Run(t.Context(), Command{Script: ":", Stdin: endless{}}))
	})

	t.Run("input that fails is no end of input", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "copy")
		err := c.Run(t.Context(), Command{
			Script: `cat >"$1" && touch "$1.done"`, Args: []string{file},
			Stdin: io.MultiReader(strings.NewReader("half of it"), iotest.ErrReader(errors.New("disk on fire"))),
		})
		assert.ErrorContains(t, err, "read input: disk on fire")
		_, err = os.Stat(file + ".done")
		assert.ErrorIs(t, err, os.ErrNotExist)
	})

	t.Run("output that can't be written ends the command", func(t *testing.T) {
		sleep := uniqueSleep()
		err := c.Run(t.Context(), Command{Script: "echo x; " + sleep, Stdout: failingWriter{}})
		assert.ErrorContains(t, err, "write output: no space")
		await(t, sleep, 0, 2*time.Second)
	})

	t.Run("output without end is not kept, and ends the command", func(t *testing.T) {
		out, err := c.Output(t.Context(), "yes")
		assert.ErrorContains(t, err, "it wrote more than 64 MiB, and the rest was cut")
		assert.Equal(t, len(out), OutputLimit)
	})

	t.Run("one writer for both streams", func(t *testing.T) {
		var both bytes.Buffer
		assert.NilError(t, c.Run(t.Context(), Command{
			Script: "for i in 1 2 3 4 5 6 7 8 9; do echo out; echo err >&2; done", Stdout: &both, Stderr: &both,
		}))
		assert.Equal(t, strings.Count(both.String(), "out\n"), 9)
		assert.Equal(t, strings.Count(both.String(), "err\n"), 9)
	})

	t.Run("a large script, and one too large", func(t *testing.T) {
		out, err := c.Output(t.Context(), "echo ${#1}", strings.Repeat("x'", 400_000))
		assert.NilError(t, err)
		assert.Equal(t, string(out), "800000\n")
		_, err = c.Output(t.Context(), strings.Repeat("#", scriptMax))
		assert.NilError(t, err)
		_, err = c.Output(t.Context(), strings.Repeat("#", scriptMax+1))
		assert.ErrorContains(t, err, "above the 1048576 allowed")
		_, err = c.Output(t.Context(), "echo \x00")
		assert.ErrorContains(t, err, "hold no NUL")
	})

	t.Run("nothing of a script shows in a process list", func(t *testing.T) {
		secret := fmt.Sprintf("s3cret-%d", time.Now().UnixNano())
		sleep := uniqueSleep()
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- c.Run(ctx, Command{Script: ": " + secret + "\n" + sleep, Args: []string{secret}}) }()
		await(t, sleep, 1, 5*time.Second)
		assert.Equal(t, processes(secret), 0)
		cancel()
		assert.ErrorIs(t, <-ended, context.Canceled)
	})

	t.Run("many at once", func(t *testing.T) {
		// More than the ten that sshd allows by default: the others wait.
		results := make(chan error, 24)
		for i := range cap(results) {
			go func() {
				out, err := c.Output(t.Context(), `cat /dev/null; echo "$1"`, fmt.Sprint(i))
				if err == nil && string(out) != fmt.Sprint(i)+"\n" {
					err = fmt.Errorf("run %d printed %q", i, out)
				}
				results <- err
			}()
		}
		for range cap(results) {
			assert.NilError(t, <-results)
		}
	})
}

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, errors.New("no space") }

func TestRootThroughSudo(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/usr/bin/sudo"); err != nil {
		t.Skip("missing part: sudo")
	}
	s := startSSHD(t, "127.0.0.1")

	for _, user := range []string{"root", "sudoer"} {
		var out bytes.Buffer
		err := s.dial(t, user).Run(t.Context(), Command{
			Script: `echo "$(id -u) $1"; cat; exit 4`, Args: []string{"it's"}, Stdin: strings.NewReader("in"), Stdout: &out, Root: true,
		})
		var exit *ExitError
		assert.Assert(t, errors.As(err, &exit), "%s: %v", user, err)
		assert.Equal(t, exit.Status, 4)
		assert.Equal(t, out.String(), "0 it's\nin")
	}

	for user, said := range map[string]string{"plain": "password is required", "bashy": "password is required"} {
		err := s.dial(t, user).Run(t.Context(), Command{Script: "id -u", Root: true})
		var e *Error
		assert.Assert(t, errors.As(err, &e), "%s: %v", user, err)
		assert.Equal(t, e.Class, SudoRefused)
		assert.ErrorContains(t, err, "sudo refuses "+user)
		assert.ErrorContains(t, err, said)
		assert.Assert(t, cmp.Contains(e.Hint, user+" ALL=(root) NOPASSWD: ALL"))
	}

	t.Run("cancelling reaches what runs as root", func(t *testing.T) {
		c := s.dial(t, "sudoer")
		for what, stdin := range map[string]io.Reader{"no input": nil, "input unread": endless{}} {
			sleep := uniqueSleep()
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- c.Run(ctx, Command{Script: sleep, Root: true, Stdin: stdin}) }()
			await(t, sleep, 1, 5*time.Second)
			cancel()
			err := <-ended
			assert.ErrorIs(t, err, context.Canceled, what)
			assert.Assert(t, !strings.Contains(err.Error(), "may still run"), "%s: %v", what, err)
			await(t, sleep, 0, 2*time.Second)
		}
	})
}

// TestOtherShellsAsSh runs the wrapper by the shells that are sh elsewhere: bash
// on NixOS, busybox in small images. Debian's own is dash.
func TestOtherShellsAsSh(t *testing.T) {
	t.Parallel()
	for _, sh := range []string{"/bin/bash", "/bin/busybox"} {
		t.Run(sh, func(t *testing.T) {
			t.Parallel()
			if _, err := os.Stat(sh); err != nil {
				t.Skip("missing part: " + sh)
			}
			s := startSSHDWith(t, "127.0.0.1", sh)
			r := startRelay(t, s.hop("").Address())
			for _, user := range []string{"root", "sudoer"} {
				target := r.over(s.target(user))
				c, err := Dial(t.Context(), target)
				assert.NilError(t, err)
				var stdout, stderr bytes.Buffer
				err = c.Run(t.Context(), Command{
					Script: `cmp /proc/$$/exe "$2" && echo "$1$#$(id -u)"; cat; echo aside >&2; exit 3`, Args: []string{"it's\n\\", sh},
					Stdin: strings.NewReader("in\x00\n"), Stdout: &stdout, Stderr: &stderr, Root: true,
				})
				var exit *ExitError
				assert.Assert(t, errors.As(err, &exit), "%v", err)
				assert.Equal(t, exit.Status, 3)
				assert.Equal(t, stdout.String(), "it's\n\\20\nin\x00\n")
				assert.Equal(t, stderr.String(), "aside\n")

				for what, stdin := range map[string]io.Reader{"no input": nil, "input unread": endless{}} {
					if testing.Short() {
						break // these wait for graces to pass
					}
					sleep := uniqueSleep()
					ctx, cancel := context.WithCancel(t.Context())
					ended := make(chan error, 1)
					go func() { ended <- c.Run(ctx, Command{Script: sleep, Root: true, Stdin: stdin, Stderr: &stderr}) }()
					await(t, sleep, 1, 5*time.Second)
					cancel()
					assert.Error(t, <-ended, "run on "+c.String()+": context canceled", what)
					await(t, sleep, 0, time.Second)

					again, err := c.Reconnect(t.Context())
					assert.NilError(t, err)
					sleep = uniqueSleep()
					go func() { ended <- again.Run(t.Context(), Command{Script: sleep, Root: true, Stdin: stdin}) }()
					await(t, sleep, 1, 5*time.Second)
					assert.NilError(t, again.Close())
					assert.ErrorContains(t, <-ended, "use of closed network connection", what)
					await(t, sleep, 0, 8*time.Second)
				}
				assert.Equal(t, stderr.String(), "aside\n")
				assert.NilError(t, c.Close())
			}
		})
	}
}
