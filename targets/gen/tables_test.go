package gen

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/golden"
)

const marks = `# A document

<!-- generated: groups -->
what was here before
<!-- end -->

Between.

<!-- generated: methods -->
<!-- end -->
<!-- generated: keys -->
<!-- end -->
<!-- generated: commands -->
<!-- end -->
The end.
`

func TestTables(t *testing.T) {
	got, err := Tables([]byte(marks), small(t))
	assert.NilError(t, err)
	golden.Assert(t, string(got), "tables.golden")
	again, err := Tables(got, small(t))
	assert.NilError(t, err)
	assert.Equal(t, string(again), string(got), "a second time changes nothing")
	for line := range strings.SplitSeq(string(got), "\n") {
		if strings.HasPrefix(line, "|") {
			cells := strings.Count(strings.ReplaceAll(line, `\|`, ""), "|") - 1
			assert.Assert(t, cells >= 3 && cells <= 5, "%q", line)
		}
	}
}

func TestTablesOfBadMarks(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"an unknown table", "<!-- generated: cats -->\n<!-- end -->", `no table is called "cats"; there are groups, methods, keys and commands`},
		{"no end", "<!-- generated: groups -->\ntext", `mark "<!-- generated: groups" is not closed`},
		{"no line of its own", "<!-- generated: groups --> <!-- end -->", "is not closed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Tables([]byte(c.text), small(t))
			assert.ErrorContains(t, err, c.want)
		})
	}
}

func TestTablesAreWrittenAndChecked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "programs.md")
	assert.NilError(t, os.WriteFile(path, []byte(marks), 0o600))
	assert.Error(t, CheckTables(path, small(t)), "programs.md: tables out of date: go generate ./... writes it anew")
	assert.NilError(t, WriteTables(path, small(t)))
	assert.NilError(t, CheckTables(path, small(t)))
	assert.ErrorIs(t, CheckTables(path+"x", small(t)), os.ErrNotExist)
	assert.ErrorIs(t, WriteTables(path+"x", small(t)), os.ErrNotExist)
}
