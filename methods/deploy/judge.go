package deploy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"fediversity.eu/slipway/groups"
	"fediversity.eu/slipway/methods/remote"
	"fediversity.eu/slipway/methods/verdict"
	"fediversity.eu/slipway/targets/report"
	"fediversity.eu/slipway/targets/task"
)

// options say how a machine is judged that ought to run a toplevel.
func (k VerdictKeys) options(machine groups.Machine, toplevel string) verdict.Options {
	return verdict.Options{
		Limit: time.Duration(k.Limit), Baseline: verdict.Baseline(k.Baseline), Tolerate: k.Tolerate,
		Probes: machine.Probes, System: toplevel,
	}
}

// check looks at the coordinates before anything starts.
func (k VerdictKeys) check() error {
	if err := verdict.CheckTolerate(k.Tolerate); err != nil {
		return &report.Fault{Code: report.Usage, What: "read the coordinates", Why: fmt.Errorf("VERDICT_TOLERATE: %w", err)}
	}
	return nil
}

// judge ends a run: units, probes, the running system and what the switch said
// must all agree. Without a watch the machine was not changed, and one look is
// enough. The record has the last verdict of a run.
func judge(ctx context.Context, conn *remote.Conn, run *task.Run, watch *verdict.Watch, o verdict.Options) error {
	log := run.Log.In("verdict")
	run.Record.Units, run.Record.Probes = nil, nil
	done := run.Record.Time("verdict")
	var v verdict.Verdict
	var err error
	if watch == nil {
		v, err = verdict.Look(ctx, judged(conn), o, log)
	} else {
		v, err = watch.Judge(ctx, judged(conn), o)
	}
	done()
	if err != nil {
		return err
	}
	record(run, v)
	for _, answer := range v.Probes {
		run.Record.Probes = append(run.Record.Probes, answer.Record())
	}
	for _, name := range v.Idle {
		log.Warnf("VERDICT_TOLERATE: %q is no unit of the machine", name)
	}
	for _, finding := range v.Remarks() {
		log.Warnf("%s", finding)
	}
	if err := v.Err(); err != nil {
		return err
	}
	log.Infof("healthy (%s)", v.Seen())
	return nil
}

// record puts what was found into the record of a run.
func record(run *task.Run, v verdict.Verdict) {
	run.Record.Units = nil
	for _, finding := range v.Findings {
		run.Record.Units = append(run.Record.Units, finding.Record())
	}
}

// judgeAgain looks once more at a machine that was found healthy, where something has
// happened on it since: what died a moment later is seen, and nobody waits for it. Its
// probes were answered, and what its switch said was weighed.
func judgeAgain(ctx context.Context, conn *remote.Conn, run *task.Run, watch *verdict.Watch, o verdict.Options) error {
	if !watch.Stirred() {
		return nil
	}
	o.Probes, o.Switch = nil, verdict.Switch{}
	defer run.Record.Time("verdict")()
	v, err := watch.Judge(ctx, judged(conn), o)
	if errors.Is(err, verdict.ErrContact) && ctx.Err() == nil {
		run.Log.In("verdict").Warnf("the machine can't be looked at once more: %v", err)
		return nil // it was found healthy
	}
	if err != nil {
		return err
	}
	record(run, v)
	return v.Err()
}

// judged is a machine as its verdict sees it: as root, with what failed in
// between told from what failed there.
type judgedHost struct {
	asRoot
}

func judged(conn *remote.Conn) verdict.Host { return judgedHost{asRoot{conn}} }

// Output runs a script.
func (h judgedHost) Output(ctx context.Context, script string, args ...string) ([]byte, error) {
	out, err := h.asRoot.Output(ctx, script, args...)
	return out, contact(err)
}

// Attach runs a script with input and output connected.
func (h judgedHost) Attach(ctx context.Context, script string, in io.Reader, out io.Writer) error {
	return contact(h.conn.Run(ctx, remote.Command{Script: script, Stdin: in, Stdout: out, Root: true, Grace: time.Second}))
}

// DialContext connects from the machine.
func (h judgedHost) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := h.conn.DialContext(ctx, network, address)
	if failed, ok := errors.AsType[*remote.Error](err); ok {
		switch failed.Class { //nolint:exhaustive // the others are about the way to the machine
		case remote.ConnectionRefused, remote.Unreachable, remote.Unresolved:
			return nil, fmt.Errorf("%s: %s", address, failed.Class)
		}
	}
	return conn, contact(err)
}

// contact marks an error of the connection, which says nothing about the
// machine.
func contact(err error) error {
	if _, ok := errors.AsType[*remote.Error](err); ok {
		return fmt.Errorf("%w: %w", verdict.ErrContact, err)
	}
	return err
}
