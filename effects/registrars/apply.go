package registrars

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"fediversity.eu/slipway/effects/registrars/account"
	"fediversity.eu/slipway/effects/registrars/delegation"
	"fediversity.eu/slipway/internal/wait"
	"fediversity.eu/slipway/targets/report"
	"fediversity.eu/slipway/targets/task"
)

// apply changes what differs.
type apply struct{ access }

func (a *apply) Run(ctx context.Context, run *task.Run) error {
	list, err := a.evaluation.evaluate()
	if err != nil {
		return err
	}
	return each(run, list, func(w wanted) error {
		c := &change{apply: a, run: run, account: a.open(w), wanted: w, want: w.stated()}
		before := c.account.Changes()
		err := c.do(ctx)
		changed := c.account.Changes() > before // of this domain; others have the same account
		run.Record.Changed = run.Record.Changed || changed
		return classify(ctx, err, "delegate "+w.Domain, changed)
	})
}

// change is the change of one domain.
type change struct {
	*apply
	run     *task.Run
	account account.Account
	wanted  wanted
	want    delegation.Delegation
}

func (c *change) do(ctx context.Context) error {
	have, err := c.read(ctx)
	if err != nil {
		return err
	}
	if len(delegation.Steps(have, c.want)) == 0 {
		c.run.Log.Infof("no changes: %s is delegated as declared", c.want.Domain)
		return nil
	}
	if err := guard(ctx, c.asking.asker(), c.run.Log, have, c.want); err != nil {
		return err
	}
	for _, kind := range delegation.Kinds() {
		steps := of(kind, delegation.Steps(have, c.want))
		if len(steps) == 0 {
			continue
		}
		for _, step := range steps {
			c.run.Log.Infof("%s: %s:\n%s", c.want.Domain, kind, strings.Join(step.Lines, "\n"))
			if err := c.step(ctx, have, step); err != nil {
				return fmt.Errorf("%s: %w", kind, err)
			}
		}
		if have, err = c.settle(ctx, kind); err != nil {
			return fmt.Errorf("%s: %w", kind, err)
		}
	}
	if left := delegation.Steps(have, c.want); len(left) > 0 {
		return report.Fail("delegate "+c.want.Domain, fmt.Errorf("it differs again: %s", strings.Join(lines(left), ", ")),
			"somebody else seems to change the domain")
	}
	return nil
}

func (c *change) read(ctx context.Context) (delegation.Delegation, error) {
	defer c.run.Record.Time("read")()
	have, err := c.account.Read(ctx, c.want.Domain)
	if err == nil && len(have.Servers) == 0 && have.Signed() {
		c.run.Log.Warnf("%s has no name servers at %s, and keys", c.want.Domain, c.wanted.registrar.name)
	}
	return have, err
}

func (c *change) step(ctx context.Context, have delegation.Delegation, step delegation.Step) error {
	defer c.run.Record.Time(step.Kind.String())()
	switch step.Kind {
	case delegation.SetHost:
		return c.account.SetHost(ctx, c.want.Domain, step.Host, step.Known)
	case delegation.SetServers:
		return c.account.SetServers(ctx, c.want)
	case delegation.Unsign, delegation.SetKeys:
		return c.account.SetKeys(ctx, have, c.want)
	default:
		return c.account.RemoveHost(ctx, c.want.Domain, step.Host.Name)
	}
}

// settle waits until the registrar shows what it took: what comes next may need it.
func (c *change) settle(ctx context.Context, kind delegation.Kind) (delegation.Delegation, error) {
	defer c.run.Record.Time("settle")()
	var have delegation.Delegation
	pause := c.pause
	if pause == 0 {
		pause = accountPause
	}
	waiting := wait.For{What: c.wanted.registrar.name + " to show what it took", Limit: time.Duration(c.limits.Limit), Interval: pause}
	// A look has its own limit, and is not cut short by this one.
	err := waiting.Until(ctx, func(context.Context) error {
		var err error
		if have, err = c.account.Read(ctx, c.want.Domain); err != nil {
			return wait.Stop(err)
		}
		if left := of(kind, delegation.Steps(have, c.want)); len(left) > 0 {
			return fmt.Errorf("still to come: %s", strings.Join(lines(left), ", "))
		}
		return nil
	})
	if late, ok := errors.AsType[*wait.TimeoutError](err); ok && ctx.Err() == nil {
		if _, failed := errors.AsType[*account.Error](err); !failed {
			err = &report.Fault{
				Code: report.Unknown, What: "delegate " + c.want.Domain, Why: fmt.Errorf("pending: %w", late),
				Hint: "the registrar took the change and does it later; run apply again then, for what comes after it",
			}
		}
	}
	return have, err
}

// of gives the steps of one kind.
func of(kind delegation.Kind, steps []delegation.Step) []delegation.Step {
	var list []delegation.Step
	for _, step := range steps {
		if step.Kind == kind {
			list = append(list, step)
		}
	}
	return list
}

// lines gives the lines of steps.
func lines(steps []delegation.Step) []string {
	var list []string
	for _, step := range steps {
		list = append(list, step.Lines...)
	}
	return list
}
