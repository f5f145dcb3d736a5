package remote

import (
	"bytes"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/internal/tail"
)

func TestCutter(t *testing.T) {
	cases := map[string]struct {
		tokens []string
		in     string
		out    string
		group  string
		left   int
	}{
		"no noise":                      {[]string{"T"}, "T 12\nhello\n", "hello\n", "12", 0},
		"noise":                         {[]string{"T"}, "welcome\nT 12\nhello", "hello", "12", 0},
		"noise without a line end":      {[]string{"T"}, "% T 12\nhello", "hello", "12", 0},
		"no group":                      {[]string{"T"}, "T\nhello", "hello", "", 0},
		"the token again":               {[]string{"T"}, "T 1\nT 2\n", "T 2\n", "1", 0},
		"an echo of the command before": {[]string{"T"}, "echo T $g;echo T\nT 5\nx", "T 5\nx", "", 0},
		"an echo that does not match":   {[]string{"T"}, "+ echo T $g\nT 5\nx", "x", "5", 0},
		"two tokens":                    {[]string{"T", "U"}, "T 1\nnoise\nU 2\nx", "x", "2", 0},
		"the second does not come":      {[]string{"T", "U"}, "T 1\nsudo: no\n", "", "1", 1},
		"too long for a group":          {[]string{"T"}, "T 12345678901\nx", "", "", 1},
	}
	for what, test := range cases {
		t.Run(what, func(t *testing.T) {
			c := cutter{tokens: test.tokens}
			out := c.cut([]byte(test.in))
			assert.Equal(t, string(out), test.out)
			assert.Equal(t, c.group, test.group)
			assert.Equal(t, len(c.tokens), test.left)
		})
	}
}

func FuzzCutter(f *testing.F) {
	f.Add([]byte("welcome\n"), []byte("hello\x00\xff"), uint8(3), " 42")
	f.Add([]byte("tok"), []byte("token 1\n"), uint8(1), "")
	f.Fuzz(func(t *testing.T, noise, payload []byte, step uint8, group string) {
		if strings.Trim(group, " 0123456789") != "" || strings.LastIndex(group, " ") > 0 || len(group) > 10 ||
			group != "" && group[0] != ' ' || bytes.Contains(noise, []byte("token")) {
			t.Skip("not what a shell prints")
		}
		all := append(append(append([]byte{}, noise...), "token"+group+"\n"...), payload...)
		c := cutter{tokens: []string{"token"}}
		var got []byte
		for rest := all; len(rest) > 0; {
			n := min(len(rest), int(step)+1)
			got = append(got, c.cut(rest[:n])...)
			rest = rest[n:]
		}
		if !bytes.Equal(got, payload) || c.group != strings.TrimPrefix(group, " ") {
			t.Fatalf("got %q, group %q, of %q", got, c.group, all)
		}
	})
}

func TestNoiseAndTailAreBounded(t *testing.T) {
	o := &output{writing: new(sync.Mutex), cut: cutter{tokens: []string{"T"}}}
	for range 100 {
		_, err := o.Write(bytes.Repeat([]byte("x"), 10_000))
		assert.NilError(t, err)
		assert.Assert(t, len(o.cut.noise) <= noiseMax+10_000)
	}
	_, err := o.Write([]byte("T 1\n"))
	assert.NilError(t, err)
	for i := range 1000 {
		_, err := o.Write(append(bytes.Repeat([]byte{'a' + byte(i%26)}, 1000), '\n'))
		assert.NilError(t, err)
	}
	assert.Equal(t, strings.Count(o.lastWords(), "\n"), tail.Lines) // and a line that counts those before
}

// TestCommandLineIsPlain holds the command line to what all login shells read
// alike, those that we can't try included (nu).
func TestCommandLineIsPlain(t *testing.T) {
	line := commandLine(newToken())
	word, ok := strings.CutPrefix(line, "sh -c '")
	assert.Assert(t, ok)
	word, ok = strings.CutSuffix(word, "'")
	assert.Assert(t, ok)
	assert.Assert(t, !strings.ContainsAny(word, "'\\!\n\r\t"), word)
	assert.Assert(t, len(line) < 1000)

	for _, shell := range []string{"sh", "dash", "bash", "fish", "csh"} {
		t.Run(shell, func(t *testing.T) {
			path, err := exec.LookPath(shell)
			if err != nil {
				t.Skip("missing part: " + shell)
			}
			cmd := exec.CommandContext(t.Context(), path, "-c", commandLine("token"))
			frame := "{ echo \"$((40+2))\"; cat; }"
			cmd.Stdin = strings.NewReader(fmt.Sprintf("%d\n%sand the rest", len(frame), frame))
			out, err := cmd.Output()
			assert.NilError(t, err)
			cut := cutter{tokens: []string{"token"}}
			assert.Equal(t, string(cut.cut(out)), "42\nand the rest")
		})
	}

	t.Run("a frame that is cut off does nothing", func(t *testing.T) {
		whole := wrapper("echo never", nil, DefaultGrace, false)
		for size := 1; size < len(whole); size += 7 {
			out, err := exec.CommandContext(t.Context(), "/bin/sh", "-c", whole[:size]).Output()
			assert.Assert(t, err != nil, whole[:size])
			assert.Equal(t, string(out), "")
		}
	})
}
