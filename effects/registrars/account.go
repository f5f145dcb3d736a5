package registrars

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"time"

	"fediversity.eu/slipway/effects/registrars/account"
	"fediversity.eu/slipway/groups"
	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/report"
	"fediversity.eu/slipway/targets/task"
)

// access is a task that opens accounts.
type access struct {
	evaluation *evaluation
	limits     AccountKeys
	asking     AskKeys
	accounts   []named
	opened     map[string]account.Account // by registrar
	pause      time.Duration              // 0 means accountPause
	now        func() time.Time           // nil means time.Now
}

// named are the credentials for one registrar.
type named struct {
	name string
	credentials
}

// Coordinates are those of the delegations, and the credentials for the registrars
// that may be meant.
func (a *access) Coordinates() []any {
	if a.accounts == nil {
		for _, r := range table {
			if a.evaluation.some(func(d groups.Delegation) bool { return d.Registrar == "" || d.Registrar == r.name }) {
				a.accounts = append(a.accounts, named{r.name, r.credentials()})
			}
		}
	}
	structs := append(a.evaluation.coordinates(), &a.limits, &a.asking)
	for _, c := range a.accounts {
		structs = append(structs, c.keys)
	}
	return structs
}

// Check evaluates the delegations, and looks at the credentials that they need.
func (a *access) Check(env.Environment) error {
	list, err := a.evaluation.evaluate()
	if err != nil {
		return err
	}
	var faults []error
	var checked []string
	for _, w := range list {
		if slices.Contains(checked, w.registrar.name) {
			continue
		}
		checked = append(checked, w.registrar.name)
		faults = append(faults, a.credentials(w.registrar.name).check(w.registrar.name))
	}
	if err := env.Join(faults...); err != nil {
		return &report.Fault{Code: report.Usage, What: "read the credentials", Why: err}
	}
	return nil
}

func (a *access) credentials(registrar string) credentials {
	for _, c := range a.accounts {
		if c.name == registrar {
			return c.credentials
		}
	}
	return credentials{}
}

// check says what is missing of the credentials, and what is wrong with them.
func (c credentials) check(registrar string) error {
	keys, err := env.Declared(c.keys)
	if err != nil {
		return err
	}
	held := c.held()
	problems := &env.Problems{}
	for _, name := range held.Lacks() {
		for _, k := range keys {
			if k.Name == name {
				problems.List = append(problems.List, env.Problem{
					Name: name, Variable: name, What: "missing, and the registrar is " + registrar, Valid: k.Type, Description: k.Description,
				})
			}
		}
	}
	if len(problems.List) > 0 {
		return problems
	}
	return errors.Join(held.Check(), checkAddress(held.Address()))
}

// checkAddress refuses to send credentials in the clear to another host.
func checkAddress(text string) error {
	parsed, err := url.Parse(text)
	if err != nil {
		return errors.New("the address of the API is none")
	}
	host, err := netip.ParseAddr(parsed.Hostname())
	if parsed.Scheme == "https" || parsed.Hostname() == "localhost" || err == nil && host.IsLoopback() {
		return nil
	}
	return fmt.Errorf("%s: credentials go only over https", text)
}

// open opens the account for a delegation, or gives the one that is open: logging in
// once for each domain may be refused, and a one-time password serves once.
func (a *access) open(w wanted) account.Account {
	name := w.registrar.name
	if a.opened[name] == nil {
		if a.opened == nil {
			a.opened = map[string]account.Account{}
		}
		a.opened[name] = a.credentials(name).open(account.Options{Limit: time.Duration(a.limits.Limit), Pause: a.pause, Now: a.now})
	}
	return a.opened[name]
}

// each does something for every delegation, whatever comes of the others, and says
// which of them it speaks of.
func each(run *task.Run, list []wanted, do func(w wanted) error) error {
	var failed []error
	var codes []report.Code
	for _, w := range list {
		for _, doubt := range w.doubts {
			run.Log.Warnf("%s", doubt)
		}
		if err := do(w); err != nil {
			failed, codes = append(failed, err), append(codes, report.CodeOf(err))
		}
	}
	code := report.Worst(codes...)
	if code == report.Refused && run.Record.Changed {
		code = report.Failed // for the run as a whole, it is not so that nothing was changed
	}
	if len(failed) == 0 || len(failed) == 1 && code == codes[0] {
		return errors.Join(failed...)
	}
	return &report.Fault{Code: code, What: fmt.Sprintf("%d of %d domains", len(failed), len(list)), Why: errors.Join(failed...)}
}

// classify says which exit code a failure leads to. Before a change a registrar that
// says no has refused; after one, the run has failed half-way.
func classify(ctx context.Context, err error, what string, changed bool) error {
	failed, ok := errors.AsType[*account.Error](err)
	if !ok || ctx.Err() != nil {
		return err
	}
	if _, told := errors.AsType[*report.Fault](err); told {
		return err
	}
	fault := &report.Fault{Code: report.Refused, What: what, Why: err}
	if changed {
		fault.Code = report.Failed
	}
	switch failed.Class {
	case account.Unavailable:
		fault.Code, fault.Hint = report.Unknown, "plan tells what is there, once the registrar answers"
	case account.Malformed:
		fault.Code, fault.Hint = report.Unknown, "the registrar's API may have changed; what it holds is not known"
	case account.Denied:
		fault.Hint = "look at the credentials for " + failed.Registrar + ", and at what they may do"
	case account.Missing:
		fault.Hint = "look at whose domain it is, and at the account at " + failed.Registrar
	case account.Invalid:
		fault.Hint = "what the registrar says is the reason"
	}
	return fault
}
