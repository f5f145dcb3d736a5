package tofu

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"fediversity.eu/slipway/checks/fakestate"
	"fediversity.eu/slipway/methods/tofu/backend"
	"fediversity.eu/slipway/methods/tofu/binary"
	"fediversity.eu/slipway/methods/tofu/lock"
	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/report"
)

// start begins a run of a place.
func (w *walk) start(p *site) {
	name := fmt.Sprint("run", len(w.runs))
	if !w.calm && w.choose(6) == 5 {
		p.verb = Destroy
	}
	keys := w.Keys()
	for _, address := range []*env.URL{&keys.Address, &keys.Lock, &keys.Unlock} {
		*address = env.URL(w.URL + "/" + name)
	}
	p.keys.Dir = env.Path(p.path)
	r := &walker{name: name, place: p, verb: p.verb, engine: &Engine{
		Tofu: &binary.Tofu{Path: "/nowhere/tofu", Version: "1.12.6"}, Log: report.NewLog(w), Backend: keys, Keys: p.keys, Place: p.host,
		Environment: env.Map(map[string]string{"CACHE_DIR": filepath.Join(p.root, "cache")}),
		pace:        backend.Pace{Try: time.Hour, Pauses: []time.Duration{0, 0}, Lag: []time.Duration{0, 0}},
	}}
	w.runs[name], p.run = r, r
	w.tell("%s begins: %s in %s, phase %q aside %q abandon %q takeover %q orphans %q", name, r.verb, filepath.Base(p.path), p.keys.Phase, p.keys.Aside, p.keys.Abandon, p.keys.Takeover, p.keys.Orphans)
	w.moving = r
	go func() {
		a := &applier{w: w, r: r}
		_, r.err = r.engine.change(context.Background(), Deployment{Name: "web"}, r.verb, a.work)
		w.events <- event{walker: r}
	}()
	w.wait()
}

// move lets a run go on to its next point.
func (w *walk) move(r *walker, d decision) {
	at := r.at
	w.tell("%s: %s: %s", r.name, at.what, [...]string{"", "the request is lost", "the answer is lost", "503", "an older state", "killed before", "killed after", "200 by a proxy", "its OpenTofu is killed"}[d])
	if d == killBefore {
		w.kill(r)
	}
	w.moving, r.at, r.told = r, nil, (at.what == "LOCK" || at.what == http.MethodGet) && d == proceed
	at.decided <- d
	w.wait()
}

// wait waits until the run that goes on waits for a decision, or has ended.
func (w *walk) wait() {
	e := <-w.events
	if e.at != nil {
		e.walker.at = e.at
		return
	}
	r := e.walker
	r.ended = true
	r.place.run = nil
	w.bury(r)
	if !r.dead {
		w.tell("%s ends: %v", r.name, r.err)
		w.advise(r)
	}
}

// pass has a run wait for a decision.
func (w *walk) pass(r *walker, at *point) decision {
	if r.dead {
		return killBefore
	}
	at.decided = make(chan decision)
	w.events <- event{r, at}
	return <-at.decided
}

// answer decides what becomes of a request.
func (w *walk) answer(asked *http.Request, _ int) (*fakestate.Answer, bool) {
	r := w.runs[strings.TrimPrefix(asked.URL.Path, "/")]
	cut := &fakestate.Answer{} // the connection
	d := w.pass(r, &point{what: asked.Method, request: asked})
	w.world.asks(r, asked)
	switch {
	case r.dead, w.down, d == loseRequest:
		return cut, false
	case d == proceed:
		r.reached = true
		return nil, false
	case d == loseAnswer:
		return cut, true
	case d == unavailable:
		return &fakestate.Answer{Status: http.StatusServiceUnavailable}, false
	case d == sayYes:
		return &fakestate.Answer{Status: http.StatusOK}, false
	case d == killAfter:
		return &fakestate.Answer{Then: func() { w.kill(r) }}, true
	case d == serveStale:
		stored := w.Stored()
		if len(stored) < 2 || w.State() == "" {
			return nil, false
		}
		r.stale = true
		return &fakestate.Answer{Status: http.StatusOK, Body: stored[len(stored)-2]}, false
	}
	return nil, false
}

// kill ends a run as SIGKILL does: nothing of what it does from now on counts. Its
// folder gets another name, under which the next run finds it, so that it touches
// nothing any more.
func (w *walk) kill(r *walker) {
	if r.dead {
		return
	}
	r.dead = true
	p := r.place
	p.moved++
	old := p.path
	p.path = fmt.Sprintf("%s.%d", strings.TrimSuffix(p.path, filepath.Ext(p.path)), p.moved)
	if err := os.Rename(old, p.path); err != nil && !errors.Is(err, os.ErrNotExist) {
		w.t.Error(err)
	}
	if r.applier != nil {
		r.applier.survive()
	}
}

// bury lets the process that took a lock be one that is gone.
func (w *walk) bury(r *walker) {
	if r.run == nil && w.world.taken[w.Locked()] != r {
		return
	}
	held := w.Locked()
	id, ours := lock.Parse(held)
	if !ours || w.world.taken[held] != r {
		return
	}
	id.PID, id.Start = 1<<22+1, 7
	info := w.world.infos[held]
	info.ID = id.String()
	w.world.taken[info.ID], w.world.infos[info.ID] = r, info
	w.Set(body(w.State()), &info)
}

// body is a state as fakestate takes it.
func body(text string) []byte {
	if text == "" {
		return nil
	}
	return []byte(text)
}
