package ssh

import (
	"context"
	"fmt"

	"fediversity.eu/slipway/methods/remote"
	"fediversity.eu/slipway/methods/verdict"
	"fediversity.eu/slipway/targets/report"
	"fediversity.eu/slipway/targets/task"
)

// judge ends a run: the units must be well, and what the switch said must agree
// with them.
func judge(ctx context.Context, conn *remote.Conn, run *task.Run, window verdict.Window, switchCode int) error {
	done := run.Record.Time("verdict")
	v, err := verdict.Watch(ctx, asRoot{conn}, window, run.Log.In("verdict"))
	done()
	if err != nil {
		return err
	}
	for _, finding := range v.Findings {
		run.Record.Units = append(run.Record.Units, finding.Record())
	}
	if err := v.Err(); err != nil {
		return err
	}
	if switchCode != 0 {
		return &report.Fault{
			Code: report.Unhealthy, What: "judge the machine",
			Why:  fmt.Errorf("the switch reported failed units (exit code %d), but none is failed now", switchCode),
			Hint: "its output above names them; verify looks again",
		}
	}
	run.Log.In("verdict").Infof("healthy (%d units)", v.Units)
	return nil
}
