//go:build checks

package integrations

import (
	"path/filepath"
	"regexp"
	"testing"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/checks/fakestate"
	"fediversity.eu/slipway/targets/report"
)

var aside = regexp.MustCompile(`STATE_ASIDE=(\S+)`)

// TestLeftovers kills a run while it makes objects, lets another with a folder of its
// own work on, and then comes back to what the first one left: it is not written over
// what the other wrote, and nothing is made twice by it.
func TestLeftovers(t *testing.T) {
	for _, way := range fakestate.Ways() {
		t.Run(way, func(t *testing.T) {
			t.Parallel() // most of it is waiting
			w := newWorld(t, way)
			w.things(2)
			w.must(cold, "apply")
			w.things(6)
			w.hold()
			first := w.start(nil, "apply")
			w.done(2)
			first.kill()
			first.wait()
			w.let()
			w.quiet()

			w.must(settings{"STATE_DIR": filepath.Join(w.dir, "another")}, "apply")
			w.sound(6)
			before := w.State()

			o := w.run(nil, "apply")
			assert.Equal(t, o.code, report.Refused, "%s", o.stderr)
			assert.Equal(t, w.State(), before)
			assert.Equal(t, w.Locked(), "")
			there := w.there()
			name := aside.FindStringSubmatch(o.stderr)
			assert.Assert(t, name != nil, o.stderr)
			assert.Equal(t, w.run(nil, "apply").code, report.Refused, "and so every time")

			// What only the leftover tells of is still asked for.
			o = w.run(settings{"STATE_ASIDE": name[1]}, "apply")
			assert.Equal(t, o.code, report.Refused, "%s", o.stderr)
			assert.Assert(t, contains(o.stderr, "a killed run made what is in no state"), o.stderr)
			kept, err := filepath.Glob(filepath.Join(w.dir, "state", "aside-*", "*.tfstate"))
			assert.NilError(t, err)
			assert.Assert(t, len(kept) > 0)
			assert.Equal(t, w.State(), before)
			assert.DeepEqual(t, w.there(), there)
		})
	}
}
