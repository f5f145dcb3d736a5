package rundir

import (
	"os"
	"path/filepath"
	"testing"

	"gotest.tools/v3/assert"
)

// FuzzLeftovers reads whatever a loss of power could leave: it is refused, or each version
// is one that can be noted and is then known.
func FuzzLeftovers(f *testing.F) {
	const marker = `{"run":"r","host":"h","dir":"/d","at":"2026-01-02T03:04:05Z"}`
	f.Add([]byte(three), []byte(marker), []byte(`{"lineage":"l","serial":3,"sha256":"x"}`))
	f.Add([]byte(three), []byte("null"), []byte("\n{\n"))
	f.Add([]byte(""), []byte(""), []byte(`{"lineage":"l","ser`))
	f.Add([]byte(`{"version":4,"lineage":"../..","serial":18446744073709551615}`), []byte("{}"), []byte("null"))
	f.Fuzz(func(t *testing.T, version, marker, known []byte) {
		d := open(t, filepath.Join(t.TempDir(), "state"), "one")
		defer func() { assert.NilError(t, d.Close(false)) }()
		for path, text := range map[string][]byte{
			filepath.Join(d.journal(), "l-3.json"): version, filepath.Join(d.journal(), markerName): marker, d.known(): known,
		} {
			assert.NilError(t, os.WriteFile(path, text, 0o600))
		}
		left, _, err := d.Leftovers()
		if err != nil {
			assert.Assert(t, d.Kept() != "", "it is left for a person")
			return
		}
		assert.Equal(t, len(left), 1)
		assert.NilError(t, d.Know(left[0].State))
		found, err := d.Known(left[0].State)
		assert.NilError(t, err)
		assert.Assert(t, found)
	})
}
