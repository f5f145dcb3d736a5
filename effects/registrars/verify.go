package registrars

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"fediversity.eu/slipway/effects/registrars/authority"
	"fediversity.eu/slipway/effects/registrars/delegation"
	"fediversity.eu/slipway/effects/registrars/dnssec"
	"fediversity.eu/slipway/internal/wait"
	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/report"
	"fediversity.eu/slipway/targets/task"
)

// verify asks the servers of the parent zone and of the domain until they agree with
// each other and with what is declared.
type verify struct {
	evaluation *evaluation
	asking     AskKeys
	parent     ParentKeys
	pause      time.Duration // 0 means serverPause
}

func (v *verify) Coordinates() []any {
	return append(v.evaluation.coordinates(), &v.asking, &v.parent)
}

// Check evaluates the delegations.
func (v *verify) Check(env.Environment) error {
	_, err := v.evaluation.evaluate()
	return err
}

func (v *verify) Run(ctx context.Context, run *task.Run) error {
	list, err := v.evaluation.evaluate()
	if err != nil {
		return err
	}
	return each(run, list, func(w wanted) error { return v.one(ctx, run, w) })
}

// disagreement is what a look at the servers found.
type disagreement struct{ findings }

func (d *disagreement) Error() string { return d.err().Error() }

func (v *verify) one(ctx context.Context, run *task.Run, w wanted) error {
	defer run.Record.Time("verify")()
	pause := v.pause
	if pause == 0 {
		pause = serverPause
	}
	said := ""
	waiting := wait.For{What: "parent and child of " + w.Domain + " to agree", Limit: time.Duration(v.parent.Limit), Interval: pause}
	// A query has its own limit, and is not cut short by this one: what a slow host
	// had no time to ask is not unknown.
	err := waiting.Until(ctx, func(context.Context) error {
		f := v.look(ctx, w)
		if len(f.wrong)+len(f.unknown) > 0 {
			d := &disagreement{f}
			if said != d.Error() && ctx.Err() == nil {
				said = d.Error()
				run.Log.Infof("%s: not yet:\n%s", w.Domain, said)
			}
			return d
		}
		for _, text := range f.minor {
			run.Log.Warnf("%s", text)
		}
		return nil
	})
	found, ok := errors.AsType[*disagreement](err)
	switch {
	case err == nil:
		run.Log.Infof("%s: parent and child agree, and it is as declared", w.Domain)
		return nil
	case !ok || ctx.Err() != nil:
		return err
	case len(found.wrong) == 0:
		return &report.Fault{Code: report.Unknown, What: "verify " + w.Domain, Why: err, Hint: "a server that gives no answer may agree or not"}
	}
	return report.Fail("verify "+w.Domain, err, "a registry may take hours; DELEGATION_TIMEOUT says how long is waited")
}

// look asks everybody once.
func (v *verify) look(ctx context.Context, w wanted) findings {
	var f findings
	answers, err := parents(ctx, v.asking.asker(), v.parent.Parent, w.Domain)
	if err != nil {
		f.unknown = append(f.unknown, err.Error())
	}
	below := collect(&f, children(ctx, v.asking.asker(), w.Delegation))
	for _, s := range collect(&f, answers) {
		judgeParent(&f, w.Delegation, s, below)
	}
	for _, s := range below {
		if !same(s.says.Servers, w.Servers) {
			f.blame(s.server, "has other name servers in %s: %s; there should be %s", w.Domain, list(s.says.Servers), list(w.Servers))
		}
		anchored(&f, w.Delegation, s)
	}
	return f
}

// judgeParent holds what a server of the parent zone says to what is declared.
// Registries derive digests as they like, so it is keys that count.
func judgeParent(f *findings, want delegation.Delegation, s seen[authority.Parent], below []seen[authority.Child]) {
	says := s.says
	if len(says.Servers) == 0 {
		f.blame(s.server, "does not delegate %s", want.Domain)
		return
	}
	if !same(says.Servers, want.Servers) {
		f.blame(s.server, "delegates %s elsewhere: to %s; it should be %s", want.Domain, list(says.Servers), list(want.Servers))
	}
	for _, host := range want.Hosts {
		if !slices.Contains(says.Servers, host.Name) || says.Both {
			continue // not a name server, or none whose address it would tell
		}
		if glue, _ := says.Host(host.Name); glue.String() != host.String() {
			f.blame(s.server, "has the address %s; it should be %s", glue, host)
		}
	}
	var of []string
	for _, ds := range says.DS {
		if !vouchedFor(want, ds, below) {
			of = append(of, fmt.Sprint(ds.Tag))
		}
	}
	if len(of) > 0 {
		f.blame(s.server, "has a DS of a key that is not declared: %s", strings.Join(of, ", "))
	}
	for _, k := range want.Keys {
		if !slices.ContainsFunc(says.DS, func(ds dnssec.DS) bool { return ds.Of(want.Domain, k) }) {
			f.blame(s.server, "has no DS of the key %d", k.Tag())
		}
	}
	for _, ds := range want.DS {
		if !slices.ContainsFunc(says.DS, ds.Equal) && len(want.Keys) == 0 {
			f.blame(s.server, "does not have the DS %d", ds.Tag)
		}
	}
}

// vouchedFor tells whether a DS is of what is declared: of a key, or of a key that a
// declared DS is of too.
func vouchedFor(want delegation.Delegation, ds dnssec.DS, below []seen[authority.Child]) bool {
	if slices.ContainsFunc(want.DS, ds.Equal) || slices.ContainsFunc(want.Keys, func(k dnssec.Key) bool { return ds.Of(want.Domain, k) }) {
		return true
	}
	for _, s := range below {
		for _, k := range s.says.Keys {
			if ds.Of(want.Domain, k) && want.Trusts(k) {
				return true
			}
		}
	}
	return false
}
