package verdict

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"fediversity.eu/slipway/targets/report"
)

// Watch is the watch over a machine while it is changed.
type Watch struct {
	base   Sample
	faults []Finding      // of the baseline
	texts  map[key]string // checksums of the units that have them
	bus    *bus           // nil where there is none
	heard  int            // how many events of it the last look knew
	slow   bool           // a look takes long

	declared map[key]declaration // of the services of the baseline
	log      *report.Log
}

// lookLimit bounds one look; a machine that does not answer for so long is out
// of contact. An emulated machine on a busy host was seen to take 16 s.
const lookLimit = 2 * time.Minute

// listenMost is how long a look may take on a machine that is listened to.
// systemd tells its listeners of every property of every unit that changes, and
// of all units with each reload: on an emulated machine, that made a switch take
// three times as long.
const listenMost = 2 * time.Second

// Observe takes the baseline of a machine that is about to be changed, and
// listens from now on to what its systemd does. The context bounds the whole
// watch; Close ends it.
func Observe(ctx context.Context, host Host, log *report.Log) (*Watch, error) {
	w := &Watch{log: log}
	began := time.Now()
	if err := w.baseline(ctx, host); err != nil {
		return nil, unknown(ctx, err)
	}
	took := time.Since(began)
	taken := time.Now()
	if took > listenMost {
		w.slow = true
		log.Infof("the machine is slow (a look took %s): its journal is read instead of listening to systemd", rough(took))
		return w, nil
	}
	err := w.listen(ctx, host, func() time.Duration { return w.base.Now + time.Since(taken) })
	if ctx.Err() != nil {
		w.Close()
		return nil, context.Cause(ctx)
	}
	if err != nil {
		log.Infof("systemd can't be listened to, its journal is read instead: %s", err)
	}
	return w, nil
}

// listen opens the bus, unless it takes the only session that the server allows.
func (w *Watch) listen(ctx context.Context, host Host, clock func() time.Duration) error {
	b, err := listen(ctx, host, clock)
	if err != nil {
		return err
	}
	b.begin(w.base)
	within, cancel := context.WithTimeoutCause(ctx, busLimit, errors.New("the server allows no session beside it"))
	defer cancel()
	if _, err := host.Output(within, ":"); err != nil {
		b.close()
		return err
	}
	w.bus = b
	return nil
}

func (w *Watch) baseline(ctx context.Context, host Host) error {
	ctx, cancel := context.WithTimeoutCause(ctx, lookLimit, fmt.Errorf("no answer within %s", lookLimit))
	defer cancel()
	v, err := oneLook(ctx, host)
	if err != nil {
		return err
	}
	for _, f := range v.findings(false) {
		if f.Class != Remark {
			w.faults = append(w.faults, f)
		}
	}
	w.faults = append(w.faults, v.unproved()...)
	w.base = v.now
	stale, err := outdated(ctx, host, w.base, w.base.Ran)
	if err != nil {
		return err
	}
	w.faults = append(w.faults, stale...)
	if w.texts, err = texts(ctx, host, w.base, unitsOf(w.faults)); err != nil {
		return err
	}
	w.declared, err = declarations(ctx, host, processes(w.base))
	return err
}

// Close ends the listening.
func (w *Watch) Close() {
	if w.bus != nil {
		w.bus.close()
	}
}

// oneLook takes a sample, and what the journal has of restarts of late. One that
// can't be read leaves it at the sample.
func oneLook(ctx context.Context, host Host) (view, error) {
	out, journalErr := host.Output(ctx, restartsScript)
	if errors.Is(journalErr, ErrContact) {
		return view{}, journalErr
	}
	sample, err := look(ctx, host)
	if err != nil {
		return view{}, err
	}
	events := slices.DeleteFunc(parseEvents(string(out)), func(e event) bool { return e.kind == finished })
	return newView(nil, sample, events, sample.Now-recent), nil
}

// Judge judges the machine when the change is done. The connection may be
// another one than that of the baseline, and the machine may have been rebooted
// in between: then what runs must prove itself anew, and what was broken before is
// as old as ever.
func (w *Watch) Judge(ctx context.Context, host Host, o Options) (Verdict, error) {
	if w.bus != nil && !w.bus.alive() {
		w.log.Infof("the connection that listened was lost; the journal fills the gap")
	}
	watching := &watching{host: host, options: o, log: w.log, see: func(ctx context.Context) (view, error) { return w.look(ctx, host) }}
	watching.class = func(ctx context.Context, v *view, findings []Finding) ([]Finding, error) {
		more, err := w.outdated(ctx, host, v.now)
		if err != nil {
			return nil, err
		}
		findings = sorted(withOutdated(findings, more))
		if err := w.compare(ctx, host, v.now, findings); err != nil {
			return nil, err
		}
		return w.quiet(ctx, host, v, findings)
	}
	if w.bus != nil && w.bus.alive() {
		watching.wake = w.bus.wake
	}
	v, verdict, err := watching.judge(ctx)
	if err == nil && w.base.Boot != v.now.Boot {
		w.log.Infof("the machine was rebooted since the baseline")
	}
	return verdict, err
}

// Stirred reports whether a unit may have died or not started since the last look at
// the machine, so that another one is worth its time. Where a look takes long, none is.
func (w *Watch) Stirred() bool {
	switch {
	case w.slow:
		return false
	case w.bus == nil, !w.bus.alive():
		return true
	}
	return slices.ContainsFunc(w.bus.heard()[w.heard:], event.mayBeIll)
}

// look takes a sample, and what happened until then. What was heard before a
// reboot says nothing of what is there now.
func (w *Watch) look(ctx context.Context, host Host) (view, error) {
	events, err := w.events(ctx, host)
	if err != nil {
		return view{}, err
	}
	sample, err := look(ctx, host)
	if err == nil && sample.Boot != w.base.Boot && w.bus != nil {
		w.Close()
		w.bus = nil
		return w.look(ctx, host)
	}
	return newView(&w.base, sample, events, w.base.Now), err
}

// events gives what happened since the baseline, from the bus where that missed
// nothing, and otherwise from the journal.
func (w *Watch) events(ctx context.Context, host Host) ([]event, error) {
	if w.bus != nil && w.bus.alive() {
		events := w.bus.heard()
		w.heard = len(events)
		return events, nil
	}
	var events []event
	if w.base.Cursor != "" {
		var err error
		if events, err = readJournal(ctx, host, w.base); errors.Is(err, ErrContact) {
			return nil, err
		}
	}
	if len(events) == 0 && w.bus != nil {
		events = w.bus.heard() // of a machine without a journal, what there is
	}
	return events, nil
}

// compare classes what was found: what the baseline had in the same unit is old,
// unless that served all the same: to be down is news then.
func (w *Watch) compare(ctx context.Context, host Host, now Sample, findings []Finding) error {
	had := map[key]Finding{}
	for _, f := range w.faults {
		had[f.Unit.key()] = f
	}
	so := func(f Finding) bool {
		before, ok := had[f.Unit.key()]
		return ok && (before.Fault == f.Fault || !before.Unit.serves())
	}
	var both []Unit
	for _, f := range findings {
		if so(f) {
			both = append(both, f.Unit)
		}
	}
	present, err := texts(ctx, host, now, both)
	if err != nil {
		return err
	}
	for i, f := range findings {
		id := f.Unit.key()
		switch {
		case f.Class == Remark:
		case f.Unit.Default && f.Unit.ofMachine() && f.isDown():
			// Of a machine that was not up, nothing is proved.
			findings[i].Class = New
		case so(f) && present[id] == w.texts[id]:
			findings[i].Class = Old
		default:
			findings[i].Class = New
		}
	}
	return nil
}

// unproved gives the units that died a moment ago, and that have not yet shown
// that they live: if they die again, that is as old.
func (v *view) unproved() []Finding {
	var all []Finding
	for _, u := range v.now.Units {
		c := v.course(u)
		switch {
		case v.loops(u, c), c.periodic(u), v.dueTooLate(u):
		case u.beingRestarted(), u.Active == "active" && c.restarts > 0 && c.last > 0 && v.life(u) <= c.proven():
			all = append(all, Finding{Unit: u, Fault: RestartLoop})
		}
	}
	return all
}

// quiet adds what had failed before the change and is not failed now: a
// switch resets all failed states, also of what it does not start again. Such a
// unit may be unloaded by now; it is gone only if its text is.
func (w *Watch) quiet(ctx context.Context, host Host, v *view, findings []Finding) ([]Finding, error) {
	var reset []Finding
	for _, f := range w.faults {
		id := f.Unit.key()
		now, there := v.units[id]
		if f.Fault != FailedUnit || slices.ContainsFunc(findings, func(other Finding) bool { return other.Unit.key() == id && !other.isDown() }) {
			continue
		}
		if !there || (now.Load == "loaded" && now.Active == "inactive" && (now.Invocation == f.Unit.Invocation || now.Invocation == "")) {
			reset = append(reset, f)
		}
	}
	now, err := texts(ctx, host, v.now, unitsOf(reset))
	if err != nil {
		return nil, err
	}
	var all []Finding
	all = findings
	for _, f := range reset {
		if id := f.Unit.key(); now[id] == w.texts[id] {
			f.Fault, f.Class = Reset, Old
			all = append(slices.DeleteFunc(all, func(other Finding) bool { return other.Unit.key() == id }), f)
		}
	}
	return all, nil
}

// Look judges a machine that this run did not change. One look is enough where
// nothing is on its way and nothing was restarted just now.
func Look(ctx context.Context, host Host, o Options, log *report.Log) (Verdict, error) {
	watching := &watching{host: host, options: o, log: log, see: func(ctx context.Context) (view, error) {
		v, err := oneLook(ctx, host)
		v.changed = o.Changed
		return v, err
	}}
	watching.class = func(ctx context.Context, v *view, findings []Finding) ([]Finding, error) {
		more, err := outdated(ctx, host, v.now, v.now.Ran)
		if err != nil {
			return nil, err
		}
		findings = sorted(withOutdated(findings, more))
		for i, f := range findings {
			if f.Class != Remark {
				findings[i].Class = Present
			}
		}
		return findings, nil
	}
	_, verdict, err := watching.judge(ctx)
	return verdict, err
}

func unitsOf(findings []Finding) []Unit {
	var units []Unit
	for _, f := range findings {
		units = append(units, f.Unit)
	}
	return units
}

func unknown(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return err
	}
	return &report.Fault{
		Code: report.Unknown, What: "look at the units", Why: err,
		Hint: "whether the machine is healthy is not known; verify looks again",
	}
}

// list is names for a sentence, few of them.
func list(names []string) string {
	const most = 5
	if len(names) > most {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", len(names)-most)
	}
	return strings.Join(names, ", ")
}
