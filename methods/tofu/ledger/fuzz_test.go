package ledger

import (
	"os"
	"path/filepath"
	"testing"

	"gotest.tools/v3/assert"
)

// FuzzRead reads whatever a disk could give: what it tells of can be forgotten, and stays
// forgotten.
func FuzzRead(f *testing.F) {
	const first = `{"type":"slipway_run","run":"r","at":"2026-01-02T03:04:05Z"}` + "\n"
	for _, text := range []string{
		"", "\n", "null\n", first, first + event("apply_start", "create", "t.a", ""), first + event("apply_complete", "create", "t.a", "1"),
		first + event("apply_complete", "create", "t.a", ""), first + `{"type":"slipway_forgotten","all":true}` + "\n" + `{"type":"apply_st`,
		first + event("apply_start", "create", "t.a", "") + `{"type":"slipway_doubted","hook":{"resource":{"addr":"t.a"}}}` + "\n" + string(End()),
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		dir := t.TempDir()
		assert.NilError(t, os.WriteFile(filepath.Join(dir, "events-r.jsonl"), text, 0o600))
		l, err := Read(dir)
		assert.NilError(t, err)
		for _, run := range l.Runs {
			assert.NilError(t, l.Forget(run, true))
		}
		again, err := Read(dir)
		assert.NilError(t, err)
		assert.Equal(t, len(l.Missing(nil)), 0)
		assert.Equal(t, len(again.Missing(nil)), 0, "%v", again.Missing(nil))
	})
}
