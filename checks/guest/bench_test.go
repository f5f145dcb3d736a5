//go:build checks

package guest

import (
	"path/filepath"
	"testing"

	"gotest.tools/v3/assert"
)

// How long it takes from nothing to a guest whose sshd lets us in, and away
// again. Run with -benchtime=5x.

func BenchmarkGuestContainer(b *testing.B) { benchmark(b, Options{Kind: Container}) }
func BenchmarkGuestRestored(b *testing.B)  { benchmark(b, Options{Kind: VM}) }
func BenchmarkGuestCold(b *testing.B)      { benchmark(b, Options{Kind: VM, Cold: true}) }

func benchmark(b *testing.B, o Options) {
	b.Helper()
	if missing := Missing(o.Kind); len(missing) > 0 {
		b.Skipf("missing: %s", missing[0])
	}
	o.Name, o.Cache = "bench", userCache(b)
	assert.NilError(b, Prepare(b.Context(), o))
	for b.Loop() {
		o.Dir = filepath.Join(b.TempDir(), "guest")
		g, err := Boot(b.Context(), o)
		assert.NilError(b, err)
		assert.NilError(b, g.Close())
	}
}
