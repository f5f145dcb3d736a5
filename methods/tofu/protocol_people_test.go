package tofu

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"fediversity.eu/slipway/methods/tofu/backend"
	"fediversity.eu/slipway/methods/tofu/ledger"
	"fediversity.eu/slipway/methods/tofu/state"
	"fediversity.eu/slipway/targets/report"
)

// person works with plain OpenTofu, whose locks tell nothing of their holder.
type person struct {
	lock  string
	count int
}

func (p *person) act(w *walk) {
	switch {
	case p.lock == "" && w.Locked() == "" && !w.down:
		p.count++
		p.lock = "person-" + strconv.Itoa(p.count)
		w.tell("a person takes the lock")
		w.Set(body(w.State()), &backend.LockInfo{ID: p.lock, Who: "ann@host", Created: time.Now()})
		w.world.held = p.lock
	case p.lock != "" && w.State() != "" && w.choose(3) == 1:
		s, err := state.Parse([]byte(w.State()))
		if err != nil {
			w.broken("%v", err)
		}
		w.tell("the person writes the state")
		next := grow(w.world, s)
		w.Set(next, &backend.LockInfo{ID: p.lock, Who: "ann@host", Created: time.Now()})
		w.world.has = string(next)
	case p.lock != "":
		p.leave(w)
	}
}

func (p *person) leave(w *walk) {
	if p.lock == "" {
		return
	}
	w.tell("the person gives the lock back")
	p.lock, w.world.held = "", ""
	w.Set(body(w.State()), nil)
}

// grow is a state in which a person has put a new thing in place of the one before.
func grow(o *world, s *state.State) []byte {
	const address = "thing.of_a_person"
	var kept []state.Object
	for _, x := range s.Made() {
		if x.Address == address {
			delete(o.objects, x.ID)
			continue
		}
		kept = append(kept, x)
	}
	o.made++
	id := "o" + strconv.Itoa(o.made)
	o.objects[id] = address
	return o.render(s, append(kept, state.Object{Address: address, ID: id}))
}

var (
	takeoverHint = regexp.MustCompile(`STATE_LOCK_TAKEOVER=([^ ;,]+) takes`)
	asideHint    = regexp.MustCompile(`STATE_ASIDE=([^ ;,]+)`)
	abandonHint  = regexp.MustCompile(`STATE_ABANDON=([^ ;,]+)`)
)

// advise has the operator of a place do as the last run said.
func (w *walk) advise(r *walker) {
	p := r.place
	hints := strings.Join(report.Hints(r.err), "\n")
	before := p.keys
	p.keys, p.verb = Keys{Phase: before.Phase}, Apply
	if r.err == nil {
		p.done, p.keys.Phase = true, "steady"
		if r.verb == Destroy {
			p.keys.Phase = cold
		}
		return
	}
	if w.choose(4) == 1 {
		return // nobody reads them
	}
	if m := takeoverHint.FindStringSubmatch(hints); m != nil && w.over(m[1]) {
		p.keys.Takeover = m[1]
	} else if strings.Contains(hints, "STATE_LOCK_TAKEOVER=ID") && w.over(w.Locked()) {
		p.keys.Takeover = w.Locked() // the backend's own log says it
	}
	if m := asideHint.FindStringSubmatch(hints); m != nil {
		p.keys.Aside = m[1]
	}
	if all := abandonHint.FindAllStringSubmatch(hints, -1); all != nil {
		w.abandon(p, all[len(all)-1][1], before.Abandon, hints) // those of unknown fate are named last
	}
	switch {
	case strings.Contains(hints, "STATE_PHASE=cold"):
		p.keys.Phase = cold
	case strings.Contains(hints, "STATE_PHASE=bootstrap") && w.down:
		p.keys.Phase = bootstrap
	case strings.Contains(hints, "leave STATE_PHASE unset"):
		p.keys.Phase = "steady"
	}
	if strings.Contains(hints, "run destroy") {
		p.verb = Destroy
	}
}

// over reports whether the run that took a lock is.
func (w *walk) over(id string) bool {
	if id == "own" {
		id = w.Locked()
	}
	r := w.world.taken[id]
	return r != nil && (r.dead || r.ended)
}

// abandon removes what a run left, but for what the next run takes in.
func (w *walk) abandon(p *site, run, before, hints string) {
	takesIn := strings.Contains(hints, "STATE_ORPHANS=import")
	p.keys.Abandon = run
	if takesIn && !strings.Contains(hints, "of unknown fate") {
		p.keys.Abandon = before // of a bootstrap
	}
	if takesIn {
		p.keys.Orphans = importOrphans
	}
	s, _ := state.Parse([]byte(w.State()))
	l, err := ledger.Read(p.path)
	if err != nil {
		return // it is of another place
	}
	for _, m := range l.Missing(s) {
		if m.Run != run || takesIn && !m.Unknown {
			continue
		}
		for id, address := range w.world.objects {
			if address == m.Address && w.world.makers[id] == run && (m.Unknown || m.ID == id) && !slices.Contains(existing(w, w.State()), id) {
				w.tell("%s is removed by hand", id)
				delete(w.world.objects, id)
			}
		}
	}
}
