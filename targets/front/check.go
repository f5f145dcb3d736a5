package front

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"fediversity.eu/slipway/internal/child"
	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/program"
	"fediversity.eu/slipway/targets/report"
)

// check tells whether programs would be accepted as the environment is: the same
// names, arguments and coordinates are looked at as before a run, and so are module
// sources, which are fetched; nothing is begun with, and no record is written.
func (f Front) check(words []string) report.Code {
	if len(words) == 0 {
		return usage(errors.New("check: no program named"))
	}
	if i := slices.IndexFunc(words, f.isTask); i >= 0 {
		return usage(fmt.Errorf("check: %s reads no coordinates of a deployment", words[i]))
	}
	ctx, stop := withSignals(context.Background(), child.KillAll)
	defer stop()
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
	var text []byte
	for _, call := range calls {
		p, _ := registry.Find(call.Name)
		text = fmt.Appendf(text, "%s: accepted\n", program.Call{Name: p.Name, Arguments: call.Arguments})
	}
	_, _ = session.Out().Write(text) // whether it arrived is asked next
	if err := session.Delivered(nil); err != nil {
		explain(session.Log(), err)
		return report.CodeOf(err)
	}
	return report.Healthy
}
