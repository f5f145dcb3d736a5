package tofu

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"fediversity.eu/slipway/methods/tofu/backend"
	"fediversity.eu/slipway/methods/tofu/ledger"
	"fediversity.eu/slipway/methods/tofu/state"
)

// world is what is really there, and which version of the state followed which.
type world struct {
	w       *walk
	objects map[string]string // what exists: addresses by their ids
	makers  map[string]string // names of runs by the ids of what they made
	made    int
	parents map[string]string         // of versions; a seed has its lineage
	written int                       // versions so far
	read    map[string][]state.Object // by the text of a state
	infos   map[string]backend.LockInfo
	taken   map[string]*walker // who asked for a lock
	stored  int                // how many states the backend has taken
	has     string             // the state that the backend had
	held    string             // the lock
}

func newWorld(w *walk) *world {
	return &world{
		w: w, read: map[string][]state.Object{}, objects: map[string]string{}, makers: map[string]string{}, parents: map[string]string{}, infos: map[string]backend.LockInfo{}, taken: map[string]*walker{},
	}
}

// asks notes who asks for which lock.
func (o *world) asks(r *walker, asked *http.Request) {
	if asked.Method != "LOCK" {
		return
	}
	text, _ := io.ReadAll(asked.Body)
	asked.Body = io.NopCloser(strings.NewReader(string(text)))
	var info backend.LockInfo
	if json.Unmarshal(text, &info) == nil {
		o.infos[info.ID], o.taken[info.ID] = info, r
	}
}

// check holds what happened since it was called last to the rule.
func (w *walk) check() {
	w.t.Helper()
	o := w.world
	for _, next := range w.Stored()[o.stored:] {
		o.stored++
		if !o.follows(next, o.has) {
			w.broken("%s wrote a state that does not go on from the one that was there:\n%s\nover\n%s", w.moving.name, next, o.has)
		}
		o.has = next
	}
	if now := w.State(); now != o.has {
		if before := existing(w, o.has); len(before) > 0 {
			w.broken("%s removed a state that holds %v", w.moving.name, before)
		}
		o.has = now
	}
	if now := w.Locked(); now != o.held {
		if r := o.taken[o.held]; o.held != "" && r != nil && !r.dead && !r.ended && r != w.moving || o.held == w.person.lock && o.held != "" {
			w.broken("%s removed the lock of %s", w.moving.name, o.held)
		}
		o.held = now
	}
	var at []string
	for _, r := range w.runs {
		if !r.dead && !r.ended && r.applier != nil && r.run.lock != nil {
			at = append(at, r.name)
		}
	}
	if len(at) > 1 {
		w.broken("%v make things at once", at)
	}
	if lost := w.unknown(); len(lost) > 0 {
		w.broken("no file knows %v", lost)
	}
}

// version is what an applier calls a state, or its lineage where it is a seed.
func version(s *state.State) string {
	if v, ok := s.Outputs["version"]; ok {
		return string(v.Value)
	}
	return s.Lineage
}

// follows reports whether a state goes on from another.
func (o *world) follows(next, before string) bool {
	if before == "" {
		return true
	}
	s, err := state.Parse([]byte(next))
	if err != nil {
		return false
	}
	t, err := state.Parse([]byte(before))
	if err != nil || s.Lineage != t.Lineage {
		return false
	}
	for v := version(s); v != ""; v = o.parents[v] {
		if v == version(t) {
			return true
		}
	}
	return false
}

// existing are the objects of a state that exist.
func existing(w *walk, text string) []string {
	made, known := w.world.read[text]
	if !known {
		if s, err := state.Parse([]byte(text)); err == nil {
			made = s.Made()
		}
		w.world.read[text] = made
	}
	var ids []string
	for _, o := range made {
		if w.world.objects[o.ID] == o.Address {
			ids = append(ids, o.ID)
		}
	}
	return ids
}

// unknown are the objects of which neither the backend nor any file tells.
func (w *walk) unknown() []string {
	left := maps.Clone(w.world.objects)
	tells := func(known []string) {
		for _, id := range known {
			delete(left, id)
		}
	}
	tells(existing(w, w.world.has))
	for _, p := range w.places {
		if len(left) > 0 {
			tells(w.knownIn(p, nil))
		}
	}
	return slices.Sorted(maps.Keys(left))
}

// knownIn are the objects of which the files of a place tell, or told a run there.
func (w *walk) knownIn(p *site, run *run) []string {
	forms := []string{"journal/*.json", "run-*/configuration/errored.tfstate"}
	if run == nil {
		forms = append(forms, "aside-*/*")
	}
	var known []string
	for _, form := range forms {
		files, _ := filepath.Glob(filepath.Join(p.path, form))
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err == nil {
				known = append(known, existing(w, string(text))...)
			}
		}
	}
	for _, m := range w.recorded(p) {
		if run != nil && m.Run == run.id.Nonce {
			continue
		}
		for id, address := range w.world.objects {
			if address == m.Address && (m.ID == id || m.Unknown) {
				known = append(known, id)
			}
		}
	}
	return known
}

func (w *walk) recorded(p *site) []ledger.Object {
	l, err := ledger.Read(p.path)
	if err != nil {
		return nil
	}
	return l.Missing(nil)
}

// create makes an object. It must not be there already as far as the place could know.
func (o *world) create(r *walker, address string) string {
	o.made++
	id := "o" + strconv.Itoa(o.made)
	if r.run.lock == nil && r.reached {
		o.w.t.Errorf("%s takes a backend that answered it for one that is not there", r.name)
	}
	known := o.w.knownIn(r.place, r.run)
	if !r.stale && r.run.lock != nil {
		known = append(known, existing(o.w, o.w.State())...)
	}
	for _, there := range known {
		if o.objects[there] == address {
			o.w.t.Errorf("%s makes %s a second time: %s is known", r.name, address, there)
		}
	}
	o.objects[id], o.makers[id] = address, r.run.id.Nonce
	return id
}
