package deploy

import (
	"context"
	"errors"

	"fediversity.eu/slipway/targets/task"
)

// ErrNotThere is a machine that Slipway boots and that does not run: known for
// certain, unlike one that can't be reached.
var ErrNotThere = errors.New("the machine is not there")

// Seen is a machine as one look found it.
type Seen struct {
	Reached    Reached
	Toplevel   string // that runs
	Generation int    // of the system profile; 0 means none
	Proved     bool   // what runs was judged healthy, and is what the machine boots
	Reboot     bool   // only a reboot brings in all of it
}

// Look looks at a machine, and changes nothing.
func Look(ctx context.Context, run *task.Run, reach Reach, owner OwnerKeys) (Seen, error) {
	reached, err := reach.Way.Find(ctx, run)
	if err != nil {
		return Seen{}, err
	}
	conn, err := reach.connect(ctx, run, reached)
	if err != nil {
		return Seen{}, classify(err, false)
	}
	defer func() { _ = conn.Close() }()
	machine, err := reach.inspect(ctx, conn, run)
	if err != nil {
		return Seen{}, classify(err, false)
	}
	if err := reach.whose(machine, owner); err != nil {
		return Seen{}, err
	}
	return Seen{
		Reached: reached, Toplevel: machine.Current, Generation: machine.Generation,
		Proved: machine.Current != "" && machine.Runs(machine.Current), Reboot: len(machine.Reboot) > 0,
	}, nil
}
