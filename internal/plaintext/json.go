package plaintext

import (
	"strings"
	"unicode/utf16"
)

// JSON gives a JSON document with the same values, in which what could not be shown
// stands as an escape.
func JSON(document []byte) []byte {
	const digits = "0123456789abcdef"
	var b strings.Builder
	for _, r := range string(document) {
		if r < 0x7f || Line(string(r)) == string(r) {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			b.WriteString(`\u`)
			for shift := 12; shift >= 0; shift -= 4 {
				b.WriteByte(digits[unit>>shift&0xf])
			}
		}
	}
	return []byte(b.String())
}
