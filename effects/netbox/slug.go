package netbox

import "strings"

// longestSlug is how long NetBox lets a slug be.
const longestSlug = 100

// slug gives a name the form that NetBox identifies objects by: its letters and
// digits in lower case, with one hyphen for whatever stands between them. The
// rule is ours, NetBox's API has none; it must never change, or all objects would
// be created anew.
func slug(name string) string {
	var b strings.Builder
	gap := false
	for _, r := range strings.ToLower(name) {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '_' {
			if gap && b.Len() > 0 {
				b.WriteByte('-')
			}
			gap = false
			b.WriteRune(r)
			continue
		}
		gap = true
	}
	text := b.String()
	if len(text) > longestSlug {
		text = strings.TrimRight(text[:longestSlug], "-")
	}
	return text
}
