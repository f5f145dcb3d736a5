package front

import (
	"context"
	"errors"
	"fmt"

	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/program"
	"fediversity.eu/slipway/targets/report"
)

// check tells whether programs would be accepted as the environment is: the same
// names, arguments and coordinates are looked at as before a run, nothing is
// started, and no record is written.
func (f Front) check(words []string) report.Code {
	if len(words) == 0 {
		return usage(errors.New("check: no program named"))
	}
	ctx := context.Background()
	registry, session, err := f.open(ctx, env.Process())
	if err != nil {
		explain(plainly(), err)
		return report.CodeOf(err)
	}
	defer session.Close()
	calls := registry.Calls(words, func(string) bool { return false })
	if err := session.Accept(ctx, calls...); err != nil {
		explain(session.Log(), err)
		return report.CodeOf(err)
	}
	for _, call := range calls {
		p, _ := registry.Find(call.Name)
		_, _ = fmt.Fprintf(session.Out(), "%s: accepted\n", program.Call{Name: p.Name, Arguments: call.Arguments})
	}
	return report.Healthy
}
