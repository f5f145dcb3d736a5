package tofu

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/checks/fakestate"
	"fediversity.eu/slipway/methods/tofu/lock"
	"fediversity.eu/slipway/targets/report"
)

// walks is how many interleavings each test run draws; -fuzz=FuzzProtocol draws more.
const walks = 2000

// FuzzProtocol walks whole runs, two at a time, over one backend: all is the real code
// but the processes of OpenTofu. Each byte decides what happens next, zero being that
// all goes well; so a failure that the fuzzer makes smaller has fewer faults. Whatever
// happens: no object is unknown to every file, no state is written over one that it
// does not go on from, no lock of a run that lives is removed, no two runs make things
// at once, and there is a way out that the refusals name.
func FuzzProtocol(f *testing.F) {
	for seed := range uint64(walks) {
		f.Add(drawn(seed))
	}
	f.Fuzz(func(t *testing.T, choices []byte) {
		t.Parallel()
		w := newWalk(t, choices)
		defer w.close()
		w.stray()
		w.home()
	})
}

func drawn(seed uint64) []byte {
	random := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // the same in every run
	choices := make([]byte, 60+random.UintN(100))
	for i := range choices {
		choices[i] = byte(random.UintN(256)) //nolint:gosec // below 256
	}
	return choices
}

// walk is one interleaving.
type walk struct {
	*fakestate.Backend

	t       *testing.T
	choices []byte
	calm    bool // nothing fails any more
	down    bool // the backend is yet to be brought up by the deployment
	way     string
	manner  string

	events chan event
	places []*site
	runs   map[string]*walker // by their names in the addresses
	moving *walker
	person person
	world  *world
	trace  []string
}

// site is a folder for states, on some host, and what its operator says next.
type site struct {
	root  string
	path  string
	moved int
	host  lock.Place
	keys  Keys
	verb  string
	run   *walker
	done  bool // its last run ended well
}

// walker is one run.
type walker struct {
	name    string
	place   *site
	engine  *Engine
	verb    string
	at      *point // where it waits
	run     *run   // once its OpenTofu works
	applier *applier
	reached bool // the backend has answered it
	told    bool // it was told just now whose the lock is, or what the state is
	stale   bool // a cache gave it an older state once
	dead    bool
	ended   bool
	err     error
}

// point is where a run waits for what happens next: a request, or a step of its OpenTofu.
type point struct {
	what    string
	request *http.Request // nil for a step
	decided chan decision
}

type event struct {
	walker *walker
	at     *point // nil when the run has ended
}

// decision is what becomes of a point.
type decision int

const (
	proceed decision = iota
	loseRequest
	loseAnswer
	unavailable
	serveStale
	killBefore
	killAfter
	sayYes
	killTofu
)

func newWalk(t *testing.T, choices []byte) *walk {
	w := &walk{t: t, choices: choices, events: make(chan event), runs: map[string]*walker{}}
	w.world = newWorld(w)
	w.way = fakestate.Ways()[w.choose(3)]
	w.Backend = fakestate.New(w.way)
	if w.way != fakestate.Lax { // who vouches for a lock that is neither named nor compared may break any
		w.manner = []string{"", fakestate.Echo, fakestate.Mute}[max(0, w.choose(8)-5)]
	}
	w.Conflicts(w.manner)
	w.Break(w.answer)
	w.down = w.choose(4) == 3
	here, err := lock.Here()
	assert.NilError(t, err)
	there := here
	there.Host, there.Boot = "elsewhere", "another-boot"
	root := scratch(t)
	for i, host := range [][]lock.Place{{here, here}, {here, there}, {here, here, there}}[w.choose(3)] {
		w.places = append(w.places, &site{root: root, path: filepath.Join(root, fmt.Sprint("place", i)), host: host, verb: Apply, keys: Keys{Phase: w.first()}})
	}
	w.tell("%s backend, conflicts %q, %d places, down %t", w.way, w.manner, len(w.places), w.down)
	return w
}

// scratch is a folder in memory where there is such: files are synced very often.
func scratch(t *testing.T) string {
	dir, err := os.MkdirTemp("/dev/shm", "slipway-walk-") //nolint:usetesting // TempDir is on a disk
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func (w *walk) first() string {
	if w.down {
		return bootstrap
	}
	return cold
}

func (w *walk) close() {
	for _, r := range w.runs {
		for !r.ended {
			w.kill(r)
			w.move(r, killBefore)
		}
	}
	w.Close()
	if w.t.Failed() {
		w.t.Logf("the walk was:\n%s", strings.Join(w.trace, "\n"))
	}
}

// choose is one of n, and 0 when nothing is left to choose by.
func (w *walk) choose(n int) int {
	if n == 1 || w.calm || len(w.choices) == 0 {
		return 0
	}
	c := int(w.choices[0])
	w.choices = w.choices[1:]
	return c % n
}

func (w *walk) tell(format string, args ...any) {
	w.trace = append(w.trace, fmt.Sprintf(format, args...))
}

// Take is the log of every run.
func (w *walk) Take(e report.Event) { w.tell("        %s: %s", e.Step, e.Text) }

// broken ends a walk with what it broke.
func (w *walk) broken(format string, args ...any) {
	w.t.Helper()
	w.t.Fatalf(format, args...)
}

// stray lets runs begin, go on, fail and be killed until nothing is left to choose by.
func (w *walk) stray() {
	for len(w.choices) > 0 {
		var running []*walker
		var idle []*site
		for _, p := range w.places {
			if p.run != nil {
				running = append(running, p.run)
			} else {
				idle = append(idle, p)
			}
		}
		switch c := w.choose(16); {
		case w.moving != nil && w.moving.believes(w.way):
			w.move(w.moving, w.decide(w.moving))
		case len(running) == 0, len(idle) > 0 && (c == 1 || w.down && c < 5):
			w.start(idle[w.choose(len(idle))])
		case c == 5, c < 9 && w.person.lock != "":
			w.person.act(w)
		default:
			r := running[w.choose(len(running))]
			w.move(r, w.decide(r))
		}
		w.check()
	}
}

// home lets everybody end without a fault, and sees that the ways out that are named
// lead out.
func (w *walk) home() {
	w.calm = true
	w.person.leave(w)
	for _, p := range w.places {
		w.end(p)
	}
	const patience = 12
	for range patience {
		open := 0
		for _, p := range w.places {
			p.done = false
			w.start(p)
			w.end(p)
			if !p.done {
				open++
			}
		}
		if open == 0 {
			assert.Equal(w.t, w.Locked(), "", "nobody works any more")
			return
		}
	}
	w.broken("no way out was found in %d rounds", patience)
}

func (w *walk) end(p *site) {
	for p.run != nil {
		w.move(p.run, proceed)
		w.check()
	}
}

// believes reports whether a run is about to do what the backend does unseen, by what it
// was told a moment ago: nobody can close that gap from outside.
func (r *walker) believes(way string) bool {
	if r.at == nil || !r.told {
		return false
	}
	return way == fakestate.Lax && r.at.what == "UNLOCK" || way == fakestate.GitLab && r.at.what == http.MethodDelete
}

// decide draws what becomes of the point at which a run waits. What changes something
// fails more often.
func (w *walk) decide(r *walker) decision {
	of := 40
	switch {
	case r.at.request == nil:
		return []decision{proceed, killBefore, killTofu}[max(0, w.choose(20)-17)]
	case r.at.what == http.MethodPost, r.at.what == http.MethodDelete, r.at.what == "UNLOCK":
		of = 16
	}
	switch d := decision(w.choose(of)); {
	case d > sayYes,
		d == sayYes && r.at.what != http.MethodPost,
		d == serveStale && (r.stale || r.at.what != http.MethodGet):
		return proceed
	default:
		return d
	}
}
