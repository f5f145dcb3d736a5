package netbox

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// TestSlug pins the rule: another one would create everything anew.
func TestSlug(t *testing.T) {
	for name, want := range map[string]string{
		"Amsterdam 1":                  "amsterdam-1",
		"managed-by-operator":          "managed-by-operator",
		"  A.B/C (d) ":                 "a-b-c-d",
		"under_score":                  "under_score",
		"Zürich":                       "z-rich",
		"日本":                           "",
		strings.Repeat("ab ", 40):      strings.TrimSuffix(strings.Repeat("ab-", 33), "-") + "-a",
		strings.Repeat("a", 99) + " b": strings.Repeat("a", 99),
	} {
		assert.Equal(t, slug(name), want, name)
	}
}
