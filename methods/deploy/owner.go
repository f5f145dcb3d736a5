package deploy

import (
	"context"
	"fmt"

	"fediversity.eu/slipway/methods/nixos"
	"fediversity.eu/slipway/targets/report"
)

// name is what a machine's mark calls the deployment.
func (r Reach) name() string { return r.Deployment.Group.Name + "-" + r.Deployment.Machine.Name }

// whose refuses a machine that is another deployment's, unless it is taken over
// from that one by name.
func (r Reach) whose(machine nixos.Machine, keys OwnerKeys) error {
	mark := machine.Mark
	if mark.Owner == "" || mark.Owner == r.name() || mark.Owner == keys.TakeOver {
		return nil
	}
	return report.Refuse("reach "+r.name(),
		fmt.Errorf("the machine is %s: %s left its mark at %s", mark.Owner, mark.Program, mark.At),
		"check the address; where the machine is to be "+r.name()+" from now on, apply with TAKE_OVER="+mark.Owner)
}

// mark leaves the deployment's mark on the machine, which it has brought to its
// system.
func (c *change) mark(ctx context.Context) error {
	mark := nixos.Mark{Owner: c.reach.name(), Program: c.Program}
	switch before := c.machine.Mark.Owner; before {
	case mark.Owner:
		return nil
	case "":
		c.Log.Infof("the machine is %s from now on", mark.Owner)
	default:
		c.Log.Warnf("the machine is %s from now on, and no longer %s", mark.Owner, before)
	}
	if err := mark.Leave(ctx, c.conn, c.fence); err != nil {
		return err
	}
	c.machine.Mark = mark
	return nil
}
