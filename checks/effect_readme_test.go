//go:build checks

package checks

import (
	"encoding/base64"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"
)

// told is a run of an effect's verb that the README shows.
type told struct {
	verb string // as it is written: "plan", or empty
	vars map[string]string
}

// toldRuns gives the runs of an effect in a labelled block of the README, in their
// order, each with the environment that the lines before it make from a HOME.
func toldRuns(t *testing.T, label, effect, home string) []told {
	t.Helper()
	var script strings.Builder
	var runs []told
	for line := range strings.Lines(labelled(t, label)) {
		program, called := strings.CutPrefix(strings.Split(line, " #")[0], "go tool slipway "+effect)
		if !called {
			script.WriteString(line)
			continue
		}
		runs = append(runs, told{verb: strings.TrimPrefix(strings.TrimSpace(program), "-")})
		script.WriteString("echo \"== $(env -0 | base64 -w 0)\"\n")
	}
	out := shell(t, home, map[string]string{"HOME": home}, script.String())
	said := strings.Split(strings.TrimPrefix(out, "== "), "\n== ")
	assert.Assert(t, cmp.Len(said, len(runs)))
	for i := range runs {
		runs[i].vars = variablesOf(t, said[i])
	}
	return runs
}

// variablesOf reads what "env -0 | base64" wrote.
func variablesOf(t *testing.T, text string) map[string]string {
	t.Helper()
	raw, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
	assert.NilError(t, err)
	vars := map[string]string{}
	for pair := range strings.SplitSeq(string(raw), "\x00") {
		if name, value, ok := strings.Cut(pair, "="); ok {
			vars[name] = value
		}
	}
	return vars
}
