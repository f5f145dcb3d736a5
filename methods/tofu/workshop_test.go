package tofu

import (
	"errors"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

func TestShortened(t *testing.T) {
	for _, c := range []struct{ name, said, want string }{
		{"one line", "exit status 1", "exit status 1"},
		{
			"a box with colours",
			"exit status 1\n\n\x1b[31m╷\x1b[0m\x1b[0m\n\x1b[31m│\x1b[0m \x1b[1mError: \x1b[0mNo instance found\n│\n│ This command requires that the address\n│ references one instance.\n╵\n",
			"exit status 1: Error: No instance found: This command requires that the address references one instance.",
		},
		{"two errors", "Error: one\nError: two", "Error: one: Error: two"},
		{"many lines", strings.Repeat("line\n", 20), "line" + strings.Repeat(" line", 7)},
		{"nothing", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) { assert.Equal(t, shortened(errors.New(c.said)).Error(), c.want) })
	}
}
