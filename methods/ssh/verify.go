package ssh

import (
	"context"
	"time"

	"fediversity.eu/slipway/methods"
	"fediversity.eu/slipway/methods/verdict"
)

// verify judges a machine as it is.
type verify struct {
	reach   *reach
	verdict VerdictKeys
}

func (v *verify) Coordinates() []any { return append(v.reach.coordinates(), &v.verdict) }

func (v *verify) Run(ctx context.Context, run *methods.Run) error {
	err := v.run(ctx, run)
	return classify(err, run.Record.Changed)
}

func (v *verify) run(ctx context.Context, run *methods.Run) error {
	conn, err := v.reach.dial(ctx, run)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	machine, err := v.reach.inspect(ctx, conn)
	if err != nil {
		return err
	}
	run.Record.Toplevel, run.Record.Generation = machine.Current, machine.Generation
	run.Log.Infof("%s runs", machine.Current)
	return judge(ctx, conn, run, verdict.Window{Limit: time.Duration(v.verdict.Limit)}, 0)
}
