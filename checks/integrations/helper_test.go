//go:build checks

package integrations

import "strings"

func contains(text, part string) bool { return strings.Contains(text, part) }
