//go:build checks

package checks

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"fediversity.eu/slipway/targets/report"
)

// graphs draws what the README draws, and the record of a run.
func graphs(t *testing.T, r *report.Record) map[string]string {
	t.Helper()
	dir := t.TempDir()
	script := labelled(t, "graph")
	assert.Equal(t, strings.Count(script, "slipway graph"), 3)
	shell(t, dir, nil, strings.ReplaceAll(script, "slipway graph", binary(t)+" graph"))
	dot, err := os.ReadFile(filepath.Join(dir, "operator.dot"))
	assert.NilError(t, err)
	assert.Assert(t, cmp.Contains(string(dot), `"operator-ssh-db-apply" -> "operator-ssh-web-apply";`))
	assert.NilError(t, r.Write(filepath.Join(dir, "record.json"), nil))
	shell(t, dir, nil, binary(t)+" graph record.json > record.svg")
	return map[string]string{
		"every group": filepath.Join(dir, "groups.svg"), "a group taken apart": filepath.Join(dir, "destroy.svg"),
		"a run": filepath.Join(dir, "record.svg"),
	}
}

// drawn looks at a picture by itself, in both kinds of colours.
func (b *browser) drawn(name, path string) {
	for _, scheme := range []string{"light", "dark"} {
		b.open("file://"+path, 1280, scheme)
		b.contrast(3)
		_, colours := brightness(b.picture(name + "-" + scheme))
		assert.Assert(b.t, colours > 10, "%d colours", colours)
	}
}
