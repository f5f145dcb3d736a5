package tofu

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/checks/fakestate"
	"fediversity.eu/slipway/methods/tofu/state"
	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/report"
)

// moment is what a run that is killed leaves: its folder and the backend.
type moment struct {
	b     *bench
	state []byte
	dir   string
}

// moment remembers what there is now. Of a folder that a run works in it is the
// names that count.
func (b *bench) moment() moment {
	m := moment{b: b, dir: filepath.Join(b.t.TempDir(), "state")}
	if text := b.State(); text != "" {
		m.state = []byte(text)
	}
	from := string(b.dir)
	assert.Check(b.t, os.CopyFS(filepath.Join(m.dir, "journal"), os.DirFS(filepath.Join(from, "journal"))))
	entries, err := os.ReadDir(from)
	assert.Check(b.t, err)
	for _, e := range entries {
		to := filepath.Join(m.dir, e.Name())
		switch {
		case strings.HasPrefix(e.Name(), "run-"):
			assert.Check(b.t, os.Mkdir(to, 0o700))
		case strings.HasPrefix(e.Name(), "events-"), e.Name() == "known":
			text, err := os.ReadFile(filepath.Join(from, e.Name()))
			assert.Check(b.t, err)
			assert.Check(b.t, os.WriteFile(to, text, 0o600))
		}
	}
	return m
}

// again makes it so that the next run finds just this. The lock would be taken back,
// were the run's process, this test, gone.
func (m moment) again() {
	m.b.Set(m.state, nil)
	m.b.dir = env.Path(m.dir)
}

// TestAFirstRunThatEndsAtAWrite has the run fail or be killed at each of the writes
// by which its state gets into the backend. The next one goes on from there, and makes
// nothing twice.
func TestAFirstRunThatEndsAtAWrite(t *testing.T) {
	const refused, before, after = "is refused", "is killed before", "is killed after"
	for _, phase := range []string{cold, bootstrap} {
		for name, key := range map[string]env.Secret{"in clear": {}, "encrypted": encryption("a passphrase that is long enough")} {
			keys := Keys{Phase: phase, Encryption: key}
			// first is a first run. In the bootstrap the backend comes up while it works.
			first := func(b *bench, write func(n int) (*fakestate.Answer, bool)) (writes int, err error) {
				locks := 0
				b.Break(func(r *http.Request, _ int) (*fakestate.Answer, bool) {
					if r.Method == "LOCK" {
						if locks++; phase == bootstrap && locks <= 4 { // with the last look
							return &fakestate.Answer{}, false
						}
					}
					if r.Method == http.MethodPost && write != nil {
						writes++
						return write(writes)
					}
					return nil, false
				})
				e := b.engine(keys)
				quick(e)
				_, err = e.Apply(t.Context(), objects(2))
				b.Break(nil)
				return writes, err
			}
			writes, err := first(newBench(t, fakestate.GitLab), func(int) (*fakestate.Answer, bool) { return nil, false })
			assert.NilError(t, err)
			assert.Assert(t, writes > 0)
			from := 1
			if key.IsSet() {
				from = writes // what it costs to derive the key is long
			}
			for n := from; n <= writes; n++ {
				for _, what := range []string{refused, before, after} {
					t.Run(fmt.Sprintf("%s %s %s write %d", phase, name, what, n), func(t *testing.T) {
						b := newBench(t, fakestate.GitLab)
						var then *moment
						_, err := first(b, func(i int) (*fakestate.Answer, bool) {
							switch {
							case what == refused && i >= n:
								return &fakestate.Answer{Status: http.StatusRequestEntityTooLarge}, false
							case what == before && i == n:
								m := b.moment()
								then = &m
							case what == after && i == n:
								return &fakestate.Answer{Status: http.StatusOK, Then: func() { m := b.moment(); then = &m }}, true
							}
							return nil, false
						})
						if what == refused {
							assert.Equal(t, report.CodeOf(err), report.Failed, "%v", err)
							m := b.moment()
							then = &m
						} else {
							assert.NilError(t, err)
						}
						then.again()

						result, err := b.engine(keys).Apply(t.Context(), objects(2))
						assert.NilError(t, err)
						made := 0 // by the run that failed
						if phase == cold && n == 1 {
							made = 2 // it was about to begin
						}
						assert.Equal(t, result.Plan.Add, made, "nothing is made twice")
						assert.Equal(t, len(result.Objects), 2)
						kind, s := b.judged()
						assert.Equal(t, kind, state.Sound)
						assert.Equal(t, s.Serial, result.Serial)
						assert.Equal(t, b.Locked(), "")
						left, err := os.ReadDir(filepath.Join(string(b.dir), "journal"))
						assert.NilError(t, err)
						assert.Equal(t, len(left), 0)

						again, err := b.engine(Keys{Encryption: key, Lineage: result.Lineage}).Apply(t.Context(), objects(2))
						assert.NilError(t, err)
						assert.Assert(t, !again.Plan.Changed)
					})
				}
			}
		}
	}
}

// TestABackendThatAnsweredIsThere is of a backend that is lost sight of once it has given
// its lock: a first run must not take it for one that is yet to be made.
func TestABackendThatAnsweredIsThere(t *testing.T) {
	for name, answer := range map[string]fakestate.Answer{"cut off": {}, "a proxy without a backend": {Status: http.StatusBadGateway}} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, fakestate.Strict)
			b.cold(2)
			before := b.State()
			b.Break(func(_ *http.Request, n int) (*fakestate.Answer, bool) {
				if n != 2 { // the probe of the lock
					return nil, false
				}
				return &answer, false
			})
			e := b.engine(Keys{Phase: bootstrap, Dir: env.Path(filepath.Join(t.TempDir(), "elsewhere"))})
			quick(e)
			_, err := e.Apply(t.Context(), objects(3))
			assert.Equal(t, report.CodeOf(err), report.Failed, "%v", err)
			assert.ErrorContains(t, err, "probe the lock")
			assert.Equal(t, b.State(), before)
			assert.Equal(t, b.Locked(), "")
		})
	}
}
