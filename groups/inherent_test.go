package groups

import (
	"testing"

	"gotest.tools/v3/assert"
)

func TestDatabasesAndMountsAreChecked(t *testing.T) {
	for _, c := range []struct {
		name string
		what interface{ Check() error }
		err  string // empty: fine
	}{
		{"a database", Database{Name: "forge_1"}, ""},
		{"a database with an owner", Database{Name: "forge", Owner: "forgejo"}, ""},
		{"no name", Database{}, `database: name "" is no lower-case identifier`},
		{"a name in need of quotation marks", Database{Name: "Forge-1"}, `database: name "Forge-1"`},
		{"an owner that is SQL", Database{Name: "forge", Owner: `x"; drop`}, "database: owner"},
		{"a mount", Mount{Path: "operator/forge"}, ""},
		{"a mount of another type", Mount{Path: "operator/keys", Type: "transit"}, ""},
		{"no path", Mount{}, `mount: path ""`},
		{"a path that climbs", Mount{Path: "a/../b"}, `mount: path "a/../b"`},
		{"a path with a slash at its end", Mount{Path: "a/"}, `mount: path "a/"`},
		{"a version that is none", Mount{Path: "a", Version: 3}, "mount: version 3"},
		{"a version of what has none", Mount{Path: "a", Type: "transit", Version: 2}, "of kv alone"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := c.what.Check()
			if c.err == "" {
				assert.NilError(t, err)
				return
			}
			assert.ErrorContains(t, err, c.err)
		})
	}
	assert.Equal(t, Database{Name: "a"}.Role(), "a")
	assert.Equal(t, Mount{}.Kind(), "kv")
}
