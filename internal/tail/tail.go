// Package tail keeps the end of what a program says: its last words, when it
// failed.
package tail

import (
	"bytes"
	"strings"
)

// Lines is how many lines a tail keeps.
const Lines = 20

// limit bounds a line that never ends.
const limit = 32 << 10

// Tail keeps the last lines that were written to it. Its memory is bounded, and
// its Write never fails.
type Tail struct{ buf []byte }

// Write adds to the end.
func (t *Tail) Write(p []byte) (int, error) {
	t.buf = append(t.buf, p[max(0, len(p)-limit):]...)
	if extra := len(t.buf) - limit; extra > limit {
		t.buf = append([]byte(nil), t.buf[extra:]...)
	}
	return len(p), nil
}

// String gives the last lines, without white space around them and as UTF-8.
func (t *Tail) String() string { return Of(t.buf) }

// Of gives the last lines of a text, as String does.
func Of(text []byte) string {
	lines := bytes.Split(bytes.TrimSpace(text[max(0, len(text)-limit):]), []byte("\n"))
	lines = lines[max(0, len(lines)-Lines):]
	return strings.ToValidUTF8(string(bytes.Join(lines, []byte("\n"))), "\uFFFD")
}
