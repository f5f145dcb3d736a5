package env

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// shortestLine is the least length in bytes of a line that is redacted by itself.
const shortestLine = 8

// forms returns what a secret looks like in output: the whole, each of its lines
// of 8 bytes and more, both also as a JSON or Go string and in an address, and the
// whole in base64, also within a longer text such as user:password. Blanks around
// it hide nothing, and a form that began with a line end would hold up every line
// of a Writer. None is shorter than a secret may be.
func forms(text string) []string {
	if bare := strings.TrimSpace(text); len(bare) >= shortest {
		text = bare
	}
	parts := []string{text}
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); len(line) >= shortestLine && !isBoundary(line) {
			parts = append(parts, line)
		}
	}
	var all []string
	for _, part := range parts {
		all = append(all, part, jsonForm(part, true), jsonForm(part, false), unquoted(strconv.Quote(part)),
			url.QueryEscape(part), url.PathEscape(part))
	}
	for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
		all = append(all, encoding.EncodeToString([]byte(text)))
		all = append(all, base64Forms(encoding.WithPadding(base64.NoPadding), text)...)
	}
	all = slices.DeleteFunc(all, func(form string) bool { return len(form) < shortest })
	slices.Sort(all)
	return slices.Compact(all)
}

// base64Forms returns what base64 makes of text alone and at each of the three
// places where it may lie within a longer text, there without the characters that
// depend on its neighbours.
func base64Forms(encoding *base64.Encoding, text string) []string {
	all := []string{encoding.EncodeToString([]byte(text))}
	for before := range 3 {
		padded := append(make([]byte, before), text...)
		code := encoding.EncodeToString(padded)
		all = append(all, code[(before*8+5)/6:len(padded)*8/6])
	}
	return all
}

// jsonForm returns text as within a JSON string, with or without the escapes that
// make it fit for HTML.
func jsonForm(text string, html bool) string {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(html)
	if err := encoder.Encode(text); err != nil {
		return text
	}
	return unquoted(strings.TrimSuffix(buffer.String(), "\n"))
}

// unquoted takes the quotes off.
func unquoted(quoted string) string { return quoted[1 : len(quoted)-1] }

// isBoundary says whether a line is PEM's and hides nothing.
func isBoundary(line string) bool {
	return strings.HasPrefix(line, "-----BEGIN ") || strings.HasPrefix(line, "-----END ")
}
