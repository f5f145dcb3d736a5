package tail

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

func TestTail(t *testing.T) {
	for _, c := range []struct {
		name  string
		write []string
		want  string
	}{
		{"nothing", nil, ""},
		{"a line in pieces", []string{"one ", "line", "\n"}, "one line"},
		{"more lines than are kept", []string{strings.Repeat("early\n", 100), strings.Repeat("late\n", Lines)}, strings.TrimSpace(strings.Repeat("late\n", Lines))},
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
	assert.Assert(t, len(tail.buf) <= 2*limit)
	assert.Assert(t, strings.HasSuffix(tail.String(), "xthe end"))
}
