package verdict

import (
	"context"
	"fmt"
	"time"

	"fediversity.eu/slipway/targets/report"
)

// watching looks at a machine until nothing that it sees can still change the
// verdict.
type watching struct {
	host    Host
	options Options
	log     *report.Log
	see     func(context.Context) (view, error)
	class   func(context.Context, *view, []Finding) ([]Finding, error)
	wake    <-chan struct{} // tells that something has happened; nil where nobody listens

	told string
	seen map[key]Fault
}

const (
	slowLook = time.Second            // a machine whose look takes longer is slow
	pace     = 500 * time.Millisecond // between looks where nobody listens
	eased    = 2 * time.Second        // between looks where somebody does
	breath   = 200 * time.Millisecond // what happens at once is looked at once
)

// judge looks until all is settled, or until the time is up.
func (w *watching) judge(ctx context.Context) (view, Verdict, error) {
	began := time.Now()
	probes := probe(ctx, w.host, w.options.Probes)
	defer func() { probes.stop(nil); <-probes.ended }()
	var first, calm, limit time.Duration
	for {
		looked := time.Now()
		v, err := w.look(ctx)
		if err != nil {
			return v, Verdict{}, err
		}
		took := time.Since(looked)
		if first == 0 {
			first, calm, limit = v.now.Now, settling, v.now.Now+w.options.Limit
			if took > slowLook {
				calm *= 2
			}
		}
		v.first, v.calm, v.limit = first, calm, limit
		waits := v.waits()
		final := time.Since(began) >= w.options.Limit
		if waits.over() || final {
			verdict, err := w.settle(ctx, &v, final)
			if err != nil {
				return v, Verdict{}, err
			}
			ill := !verdict.Healthy()
			switch {
			case ill:
				probes.stop(errEnough)
			case final:
				probes.stop(errTimeUp)
			}
			if ill || final || probes.over() {
				verdict.Probes = probes.result()
				return v, verdict, explain(ctx, w.host, verdict.Findings)
			}
		}
		w.tell(waits, v.findings(false))
		next := pace
		if w.wake != nil {
			next = eased
		}
		if waits.until > 0 && !waits.open {
			next = min(next, waits.until-v.now.Now)
		}
		next = max(min(next, w.options.Limit-time.Since(began)), 0)
		if err := w.pause(ctx, max(next, took/2), max(breath, took), probes); err != nil {
			return v, Verdict{}, err
		}
	}
}

func (w *watching) look(ctx context.Context) (view, error) {
	within, cancel := context.WithTimeoutCause(ctx, lookLimit, fmt.Errorf("no answer within %s", lookLimit))
	defer cancel()
	v, err := w.see(within)
	switch {
	case err == nil:
		return v, nil
	case ctx.Err() != nil:
		return v, context.Cause(ctx)
	}
	return v, unknown(ctx, err)
}

// settle makes a verdict of what was seen, the probes aside.
func (w *watching) settle(ctx context.Context, v *view, final bool) (Verdict, error) {
	o := w.options
	findings, err := w.class(ctx, v, v.findings(final))
	if err != nil {
		return Verdict{}, unknown(ctx, err)
	}
	for i, f := range findings {
		if f.Class != Remark && o.tolerates(f.Unit.Name) {
			findings[i].Class = Tolerated
		}
	}
	verdict := Verdict{Findings: findings, Units: len(v.now.Units), Idle: o.idle(v.now.Units, findings), baseline: o.Baseline}
	if o.System != "" && v.now.System != o.System {
		verdict.Machine = append(verdict.Machine, fmt.Sprintf("%s runs instead of %s", v.now.System, o.System))
	}
	verdict.Machine = append(verdict.Machine, o.Switch.unexplained(findings)...)
	return verdict, nil
}

// tell says what is waited for, and each fault as soon as it is seen.
func (w *watching) tell(waits pending, findings []Finding) {
	for _, f := range findings {
		if id := f.Unit.key(); f.Class != Remark && w.seen[id] != f.Fault {
			if w.seen == nil {
				w.seen = map[key]Fault{}
			}
			w.seen[id] = f.Fault
			w.log.Warnf("seen: %s", f)
		}
	}
	names := list(waits.units)
	if len(waits.units) == 0 {
		names = "the probes"
	}
	if names != w.told {
		w.told = names
		w.log.Infof("watching %s", names)
	}
}

// pause waits for a time, and less where something happens.
func (w *watching) pause(ctx context.Context, most, least time.Duration, probes *probing) error {
	timer := time.NewTimer(most)
	defer timer.Stop()
	ended := probes.ended
	if probes.over() {
		ended = nil
	}
	select {
	case <-timer.C:
		return nil
	case <-ended:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-w.wake:
	}
	// What happens comes in bunches.
	timer.Reset(min(least, most))
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
