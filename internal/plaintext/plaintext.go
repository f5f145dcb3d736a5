// Package plaintext makes text of others fit to be shown: on a terminal, in a log,
// on a page, in a picture or in a record. Whatever a machine, a server or another
// program wrote passes it last, where it is shown. What it gives moves no cursor,
// turns no direction of reading, is UTF-8 and may stand in XML, and is not longer
// than a reader bears; passing it twice gives the same.
package plaintext

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of what is shown, in bytes. What is longer loses its middle: both what a
// text begins with and how it ends may be what matters.
const (
	LineLimit = 4 << 10  // of one line
	TextLimit = 64 << 10 // of all lines of a text
)

// Line gives text as one line: breaks become spaces. It may be longer than
// LineLimit; Cut shortens it.
func Line(text string) string {
	if plain(text) {
		return text
	}
	return clean(text, ' ')
}

// Lines gives text with its line ends, and no other breaks.
func Lines(text string) string {
	if plain(text) {
		return text
	}
	return clean(strings.ReplaceAll(text, "\r\n", "\n"), '\n')
}

// Shown is Line, within LineLimit.
func Shown(text string) string { return Cut(Line(text), LineLimit) }

// ShownLines is Lines, within LineLimit each and TextLimit together.
func ShownLines(text string) string {
	lines := strings.Split(Lines(text), "\n")
	for i, line := range lines {
		lines[i] = Cut(line, LineLimit)
	}
	return Cut(strings.Join(lines, "\n"), TextLimit)
}

// Cut takes the middle out of a text that is longer than limit, whole characters
// only, and says how many bytes it took.
func Cut(text string, limit int) string {
	const mark = len("… (9223372036854775807 bytes cut) …")
	if len(text) <= limit || limit <= mark {
		return text
	}
	head := (limit - mark) * 3 / 4
	tail := len(text) - (limit - mark - head)
	for head > 0 && !utf8.RuneStart(text[head]) {
		head--
	}
	for tail < len(text) && !utf8.RuneStart(text[tail]) {
		tail++
	}
	return fmt.Sprintf("%s… (%d bytes cut) …%s", text[:head], tail-head, text[tail:])
}

// plain tells quickly of most texts that nothing has to be done to them.
func plain(text string) bool {
	for i := range len(text) {
		if (text[i] < ' ' && text[i] != '\t') || text[i] >= 0x7f {
			return false
		}
	}
	return true
}

// sequence is a control sequence or a control string (ECMA-48, 5.4 and 5.6), whole
// and within a line. One that never ends loses its first character alone: it must
// not take the words behind it along.
var sequence = regexp.MustCompile("(?:\x1b\\[|\u009b)[0-?]*[ -/]*[@-~]|(?:\x1b[\\]PX^_]|[\u009d\u0090\u0098\u009e\u009f])[^\x1b\u009c\a\n]*(?:\a|\x1b\\\\|\u009c)|\x1b[ -/]+[0-~]|\x1b[0-Z=>c]")

// clean takes out of text what a reader could be harmed or misled by. What breaks
// a line becomes a space, but the line end that is kept.
func clean(text string, kept rune) string {
	text = sequence.ReplaceAllString(strings.ToValidUTF8(text, "\uFFFD"), "")
	return strings.Map(func(r rune) rune {
		switch {
		case r == kept, r == '\t':
			return r
		case r == '\n', r == '\r', r == '\v', r == '\f', r == 0x85, r == 0x2028, r == 0x2029:
			return ' '
		case unicode.Is(unicode.Cc, r), unicode.Is(unicode.Bidi_Control, r), hidden(r):
			return -1
		case r&0xFFFE == 0xFFFE, r >= 0xFDD0 && r <= 0xFDEF: // no characters (Unicode, 23.7); two of them XML does not take
			return '\uFFFD'
		}
		return r
	}, text)
}

// hidden tells of characters that are not seen and can carry what is not meant to
// be: annotations, tags, and a mark of the order of bytes.
func hidden(r rune) bool {
	return r == 0xFEFF || r >= 0xFFF9 && r <= 0xFFFB || r >= 0xE0000 && r <= 0xE007F
}
