package tail

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

func TestTail(t *testing.T) {
	late := strings.TrimSpace(strings.Repeat("late\n", Lines))
	for _, c := range []struct {
		name  string
		write []string
		want  string
	}{
		{"nothing", nil, ""},
		{"a line in pieces", []string{"one ", "line", "\n"}, "one line"},
		{"more lines than are kept", []string{strings.Repeat("early\n", 100), strings.Repeat("late\n", Lines)}, "… (100 lines cut)\n" + late},
		{"errors before them", []string{"git: hello\nfatal: not yours\n", strings.Repeat("early\n", 9), "error:\n  error: of Nix\n" + late}, "… (1 lines cut)\nfatal: not yours\n… (10 lines cut)\n  error: of Nix\n" + late},
		{"white space around", []string{"\n\n  said\n\n"}, "said"},
		{"bytes that are no UTF-8", []string{"a\xffb\n"}, "a\uFFFDb"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var tail Tail
			for _, p := range c.write {
				n, err := tail.Write([]byte(p))
				assert.NilError(t, err)
				assert.Equal(t, n, len(p))
			}
			assert.Equal(t, tail.String(), c.want)
			assert.Equal(t, Of([]byte(strings.Join(c.write, ""))), c.want)
		})
	}
}

func TestALineThatNeverEndsIsBounded(t *testing.T) {
	var tail Tail
	for range 1000 {
		_, _ = tail.Write([]byte(strings.Repeat("x", 10_000)))
	}
	_, _ = tail.Write([]byte("the end"))
	assert.Assert(t, len(tail.buf) <= 2*limit && len(tail.head) == limit)
	assert.Assert(t, strings.Contains(tail.All(), " bytes cut) …"))
	assert.Assert(t, strings.HasSuffix(tail.String(), "xthe end"))
}

func TestWhatDecidesIsKeptWhereverItStands(t *testing.T) {
	noise := strings.Repeat("building\n", 2000)
	for _, line := range []string{
		"fatal: detected dubious ownership", "error: infinite recursion", "Error: Invalid configuration", "ERROR: No matching distribution",
		"| Error: no such file", "panic: runtime error", "sshd: fatal: no hostkeys", "error[E0425]: cannot find value", "Caused by: x",
		"java.net.BindException: Address already in use", "KeyError: 'x'", "2026/11/30 [emerg] 1#1: bind() failed", "10:00 ERROR main - no such table",
	} {
		var tail Tail
		_, _ = tail.Write([]byte("begin\n" + line + "\n" + noise))
		assert.Assert(t, strings.Contains(tail.String(), line), line)
		assert.Assert(t, strings.Count(tail.String(), "\n") < 3*Lines)
	}
}
