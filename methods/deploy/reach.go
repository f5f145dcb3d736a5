package deploy

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"fediversity.eu/slipway/internal/bounded"
	"fediversity.eu/slipway/methods"
	"fediversity.eu/slipway/methods/nixos"
	"fediversity.eu/slipway/methods/remote"
	"fediversity.eu/slipway/targets/report"
	"fediversity.eu/slipway/targets/task"
)

// Way is how to find out where a machine is, and what opens it.
type Way interface {
	// Coordinates are the keys that it reads.
	Coordinates() []any
	// Check looks at them before anything starts.
	Check() error
	// Find says how to reach a machine that is there.
	Find(ctx context.Context, run *task.Run) (Reached, error)
	// Up makes the machine be there first, where that is in its power.
	Up(ctx context.Context, run *task.Run) (Reached, error)
}

// Reached is a machine that can be connected to.
type Reached struct {
	Target remote.Target
	URL    string // where its service answers; empty if it has none
	// Addresses are those that are known of it beside the one in Target, or with it.
	Addresses []string
}

// Reach is the way to the machine of a deployment.
type Reach struct {
	Way        Way
	Deployment methods.Deployment
}

// dial connects to the machine as it is.
func (r Reach) dial(ctx context.Context, run *task.Run) (*remote.Conn, error) {
	reached, err := r.Way.Find(ctx, run)
	if err != nil {
		return nil, err
	}
	return r.connect(ctx, run, reached)
}

// up makes the machine be there, then connects.
func (r Reach) up(ctx context.Context, run *task.Run) (*remote.Conn, Reached, error) {
	reached, err := r.Way.Up(ctx, run)
	if err != nil {
		return nil, reached, err
	}
	conn, err := r.connect(ctx, run, reached)
	return conn, reached, err
}

func (r Reach) connect(ctx context.Context, run *task.Run, reached Reached) (*remote.Conn, error) {
	done := run.Record.Time("connect")
	conn, err := remote.Dial(ctx, reached.Target)
	done()
	if err != nil {
		return nil, err
	}
	for _, note := range conn.Notes() {
		run.Log.Warnf("%s", note)
	}
	run.Log.Infof("%s %s is %s", r.Deployment.Group.Name, r.Deployment.Machine.Name, conn)
	return conn, nil
}

// asRoot runs scripts on a machine as root, whoever logged in: only root sees
// every journal.
type asRoot struct{ conn *remote.Conn }

func (h asRoot) Output(ctx context.Context, script string, args ...string) ([]byte, error) {
	out := bounded.Buffer{Limit: remote.OutputLimit}
	err := h.conn.Run(ctx, remote.Command{Script: script, Args: args, Stdout: &out, Root: true})
	return out.Bytes(), err
}

// inspect asks the machine about itself and refuses one that can't be deployed
// to.
func (r Reach) inspect(ctx context.Context, conn *remote.Conn, run *task.Run) (nixos.Machine, error) {
	machine, err := nixos.Inspect(ctx, conn)
	if err != nil {
		return machine, err
	}
	run.Record.Running = machine.Current
	tellReverted(run, machine)
	return machine, machine.Accept(r.Deployment.Machine.Platform())
}

// tellReverted says that the machine went back by itself, if it did since the
// last change.
func tellReverted(run *task.Run, machine nixos.Machine) {
	r := machine.Reverted
	if r == nil || run.Record.Reverted != nil {
		return
	}
	run.Log.Warnf("%s", wayBack(machine))
	run.Record.Reverted = &report.Reverted{From: r.From, To: r.To, Why: r.Why, At: r.At, Failed: machine.Current != r.To}
}

// wayBack tells in one line how a machine went back by itself, or that it did not
// arrive.
func wayBack(machine nixos.Machine) string {
	r := machine.Reverted
	if machine.Current == r.To {
		return strings.TrimSpace(r.String())
	}
	return fmt.Sprintf("at %s the machine was to go back by itself from %s to %s, and did not: %s; the switch back ended with exit code %d, and %s runs",
		r.At, r.From, r.To, r.Why, r.Code, orNone(machine.Current))
}

// fencedOff is the end of a run that lost the machine's lock to another one.
func fencedOff(err error, changed bool) error {
	if !changed {
		return &report.Fault{
			Code: report.Busy, What: "change the machine", Why: err,
			Hint: "this run stood still, or was cut off, for longer than its lock lasts; nothing was changed; try again when the other run has ended",
		}
	}
	return &report.Fault{
		Code: report.Unknown, What: "change the machine", Why: err,
		Hint: "this run stood still, or was cut off, for longer than its lock lasts; the other run settles what was left; verify says how the machine is",
	}
}

// classify gives an error of the connection its exit code: refused where the
// machine or we turned the contact down before anything happened, and unknown
// where contact was not made or was lost. After a change nothing is refused any
// more.
func classify(err error, changed bool) error {
	if errors.Is(err, nixos.ErrFenced) {
		return fencedOff(err, changed)
	}
	var fault *report.Fault
	var contact *remote.Error
	if err == nil || errors.As(err, &fault) || !errors.As(err, &contact) {
		return err
	}
	told := &report.Fault{Code: report.Unknown, What: contact.Class.String(), Why: err, Hint: contact.Hint}
	if strings.Contains(err.Error(), told.What) {
		told.What = "talk to the machine" // the error has the class in it: once is enough
	}
	if changed {
		return told
	}
	switch contact.Class { //nolint:exhaustive // the others are about the network
	case remote.HostKeyUnknown, remote.HostKeyChanged, remote.HostKeyWrongType, remote.HostKeyRevoked,
		remote.Unauthenticated, remote.SessionRefused, remote.ForwardRefused, remote.ShellRefused, remote.SudoRefused:
		told.Code = report.Refused
	}
	return told
}
