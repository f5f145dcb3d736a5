// Package tail keeps of what a program says what tells why it failed: its last
// words, and before them the lines that name an error.
package tail

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
)

// Lines is how many of the last lines a tail shows, and at most how many before
// them that name an error.
const Lines = 20

// limit bounds what is kept of the beginning, and of the end.
const limit = 32 << 10

// Tail keeps the beginning and the end of what is written to it. Its memory is
// bounded, and its Write never fails.
type Tail struct {
	head []byte
	buf  []byte
	cut  int // how many bytes are gone between them
}

// Write adds to the end.
func (t *Tail) Write(p []byte) (int, error) {
	room := min(limit-len(t.head), len(p))
	t.head = append(t.head, p[:room]...)
	rest := p[room:]
	keep := rest[max(0, len(rest)-limit):]
	t.cut += len(rest) - len(keep)
	t.buf = append(t.buf, keep...)
	if extra := len(t.buf) - limit; extra > limit {
		t.cut += extra
		t.buf = append([]byte(nil), t.buf[extra:]...)
	}
	return len(p), nil
}

// All gives everything that was kept, as UTF-8; what is gone between says so.
func (t *Tail) All() string {
	text := append([]byte{}, t.head...)
	if t.cut > 0 {
		text = fmt.Appendf(text, "… (%d bytes cut) …", t.cut)
	}
	return strings.ToValidUTF8(string(append(text, t.buf...)), "\uFFFD")
}

// String gives what tells why the program failed, as Of does.
func (t *Tail) String() string { return Of([]byte(t.All())) }

// decisive is how lines read that name an error.
var decisive = regexp.MustCompile(`^[\s|>]*(?:[\w.-]+: )?(?i:(?:fatal|critical)? ?error|fatal|panic|caused by)(?:\[\w*\])?:.*\S` +
	`|^[\s|>]*(?:Exception in thread .*)?[\w.$]*(?:Error|Exception)(?:: .*\S|$)` +
	`|\b(?:ERROR|FATAL|CRITICAL|PANIC)\b|\[(?:error|crit|alert|emerg)\]`)

// Of gives the last lines of a text and the lines before them that name an error,
// without white space around them and as UTF-8. Lines that are left out are counted.
func Of(text []byte) string {
	lines := strings.Split(string(bytes.TrimSpace(text)), "\n")
	return strings.ToValidUTF8(strings.Join(Last(lines, Lines), "\n"), "\uFFFD")
}

// Last gives the last n of lines, and before them as many of those that name an
// error, the last such. Lines that are left out are counted.
func Last(lines []string, n int) []string {
	last := max(0, len(lines)-n)
	var named []int
	for i, line := range lines[:last] {
		if decisive.MatchString(line) {
			named = append(named, i)
		}
	}
	var kept []string
	next := 0
	leave := func(until int) {
		if until > next {
			kept = append(kept, fmt.Sprintf("… (%d lines cut)", until-next))
		}
	}
	for _, i := range named[max(0, len(named)-n):] {
		leave(i)
		kept, next = append(kept, lines[i]), i+1
	}
	leave(last)
	return append(kept, lines[last:]...)
}
