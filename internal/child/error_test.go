package child

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

func TestErrorTellsHowTheChildEnded(t *testing.T) {
	for _, c := range []struct {
		name   string
		script string
		code   int
		text   string
	}{
		{"exit code", "exit 7", 7, "run /bin/sh: exit status 7"},
		{"exit code with last words", "echo alas >&2; exit 1", 1, "run /bin/sh: exit status 1\nalas"},
		{"signal", "kill -KILL $$", -1, "run /bin/sh: signal: killed"},
		{"last words that are not UTF-8", `printf 'a\377b\n' >&2; exit 1`, 1, "run /bin/sh: exit status 1\na\uFFFDb"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := script(c.script).Run(t.Context())
			failed := failure(t, err)
			assert.Equal(t, failed.ExitCode, c.code)
			assert.NilError(t, failed.Stopped)
			assert.Assert(t, !failed.NotFound())
			assert.Equal(t, err.Error(), c.text)
			assert.Assert(t, failed.Duration > 0)
		})
	}
}

func TestErrorShowsTheLastTwentyLines(t *testing.T) {
	err := script(`i=0; while [ $i -lt 50 ]; do i=$((i+1)); echo "line $i" >&2; done; exit 1`).Run(t.Context())
	lines := strings.Split(failure(t, err).Stderr, "\n")
	assert.Equal(t, len(lines), 21)
	assert.Equal(t, lines[0], "… (30 lines cut)")
	assert.Equal(t, lines[1], "line 31")
	assert.Equal(t, lines[20], "line 50")
	assert.Assert(t, strings.HasPrefix(failure(t, err).Said, "line 1\nline 2\n"))
}

func TestErrorRepeatsNoArguments(t *testing.T) {
	command := script("exit 1")
	command.Args = append(command.Args, "name", "argument-of-its-own")
	err := command.Run(t.Context())
	assert.Assert(t, !strings.Contains(err.Error(), "argument-of-its-own"))
	assert.DeepEqual(t, failure(t, err).Argv, []string{"/bin/sh", "-c", "exit 1", "name", "argument-of-its-own"})
}

func TestErrorSaysWhyItWasStopped(t *testing.T) {
	why := errors.New("the deadline of the copy passed")
	for _, c := range []struct {
		name string
		err  Error
		text string
	}{
		{
			"ended by our signal",
			Error{Argv: []string{"nix"}, Err: errors.New("signal: terminated"), Stopped: why},
			"run nix: signal: terminated (stopped: the deadline of the copy passed)",
		},
		{
			"ended well after it was asked",
			Error{Argv: []string{"nix"}, Err: why, Stopped: why},
			"run nix: the deadline of the copy passed",
		},
		{
			"ended well after it was asked, for a wrapped reason",
			Error{Argv: []string{"nix"}, Err: fmt.Errorf("stopped: %w", why), Stopped: why},
			"run nix: stopped: the deadline of the copy passed",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			assert.Equal(t, c.err.Error(), c.text)
			assert.ErrorIs(t, &c.err, why)
		})
	}
}
