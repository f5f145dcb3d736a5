// Package idn writes names with other letters than those of ASCII as DNS has them,
// and is as strict about these letters as the registries: what it takes, OctoDNS
// and the registrars take too.
package idn

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/net/idna"
)

// prefix begins a label that stands for one of other letters (RFC 5890).
const prefix = "xn--"

// ASCII writes the labels of a name in lower case, and those of other letters in
// ASCII. What has nothing to do with these is left alone, right or not: IDNA knows
// no underscores and no asterisk. The error names the label and what is wrong with
// it.
func ASCII(name string) (string, error) {
	labels := strings.Split(name, ".")
	for i, label := range labels {
		plain := strings.ToLower(label)
		if IsASCII(label) && !strings.HasPrefix(plain, prefix) {
			labels[i] = plain
			continue
		}
		converted, err := international(label)
		if err != nil {
			return "", fmt.Errorf("the label %q is no international one: %w", label, err)
		}
		labels[i] = converted
	}
	return strings.Join(labels, "."), nil
}

// IsASCII reports whether text has no other characters than those of ASCII.
func IsASCII(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r > unicode.MaxASCII })
}

// international writes a label of other letters in ASCII.
func international(label string) (string, error) {
	plain, err := idna.Lookup.ToASCII(label)
	if err != nil {
		return "", reason(err)
	}
	letters, err := idna.Lookup.ToUnicode(plain)
	if err != nil {
		return "", reason(err)
	}
	if letters == "" {
		return "", errors.New("it stands for no letters")
	}
	runes := []rune(letters)
	for i, r := range runes {
		if !permitted(r) {
			return "", fmt.Errorf("%q (%U) is neither a letter nor a digit that names may have", r, r)
		}
		if !placed(runes, i) {
			return "", fmt.Errorf("%q (%U) may not stand there", r, r)
		}
	}
	return plain, nil
}

// reason is an error of idna in our words.
func reason(err error) error {
	return errors.New(strings.TrimPrefix(err.Error(), "idna: "))
}

// permitted reports whether a name may have r, as RFC 5892 says it: letters, marks
// and digits, but for what it leaves out by name, and what it takes beside them. The
// mapping of UTS #46 alone, which idna has, lets symbols through: ☃ is xn--n3h there.
// Compared with Python's idna 3.20, by which OctoDNS reads names, for every single
// character: they differ only where Python's Unicode is older than Go's.
func permitted(r rune) bool {
	switch {
	case r == '-', r == '.': // idna takes other full stops for one
		return true
	case unicode.Is(refused, r):
		return false
	}
	return unicode.In(r, unicode.L, unicode.Mn, unicode.Mc, unicode.Nd, added)
}

// placed reports whether the character at i may stand where it does (RFC 5892,
// appendix A; idna looks after joiners and digits itself).
func placed(letters []rune, i int) bool {
	beside := func(at int, is func(rune) bool) bool { return at >= 0 && at < len(letters) && is(letters[at]) }
	l := func(r rune) bool { return r == 'l' }
	switch letters[i] {
	case '\u00b7': // the dot of Catalan
		return beside(i-1, l) && beside(i+1, l)
	case '\u0375':
		return beside(i+1, func(r rune) bool { return unicode.Is(unicode.Greek, r) })
	case '\u05f3', '\u05f4':
		return beside(i-1, func(r rune) bool { return unicode.Is(unicode.Hebrew, r) })
	case '\u30fb': // the dot of Japanese
		return slices.ContainsFunc(letters, func(r rune) bool { return unicode.In(r, unicode.Hiragana, unicode.Katakana, unicode.Han) })
	}
	return true
}

// refused are the letters and marks that RFC 5892 leaves out: its exceptions (2.6),
// marks that make symbols of what stands before them and notes (2.4), and the single
// parts of Hangul syllables (2.9).
var refused = &unicode.RangeTable{
	R16: []unicode.Range16{
		{0x0640, 0x0640, 1},
		{0x07fa, 0x07fa, 1},
		{0x1100, 0x11ff, 1},
		{0x20d0, 0x20ff, 1},
		{0x302e, 0x302f, 1},
		{0x3031, 0x3035, 1},
		{0x303b, 0x303b, 1},
		{0xa960, 0xa97f, 1},
		{0xd7b0, 0xd7ff, 1},
	},
	R32: []unicode.Range32{{0x1d100, 0x1d24f, 1}},
}

// added is what RFC 5892 takes beside letters, marks and digits (2.6).
var added = &unicode.RangeTable{R16: []unicode.Range16{
	{0x00b7, 0x00b7, 1},
	{0x0375, 0x0375, 1},
	{0x05f3, 0x05f4, 1},
	{0x06fd, 0x06fe, 1},
	{0x0f0b, 0x0f0b, 1},
	{0x200c, 0x200d, 1},
	{0x3007, 0x3007, 1},
	{0x30fb, 0x30fb, 1},
}}
