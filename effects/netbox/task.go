package netbox

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"fediversity.eu/slipway/effects/address"
	"fediversity.eu/slipway/groups"
	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/report"
	"fediversity.eu/slipway/targets/task"
)

// coordinates are what a run is given: of the NetBox, of the inventory, and of
// each machine.
type coordinates struct {
	group     groups.Group
	keys      Keys
	inventory InventoryKeys
	machine   address.Keys // only declared: each machine has its own
}

// Coordinates are the keys of a run that compares.
func (c *coordinates) Coordinates() []any { return []any{&c.keys, &c.inventory, &c.machine} }

// Check looks at the coordinates before anything starts.
func (c *coordinates) Check(environment env.Environment) error {
	_, err := c.addresses(context.Background(), environment) // no secrets among them, so nothing waits
	return errors.Join(c.checkServer(), err)
}

// addresses reads those of each machine. They are read again when they are needed:
// machines that are made in the same run get them in it.
func (c *coordinates) addresses(ctx context.Context, environment env.Environment) (map[string]address.List, error) {
	all := map[string]address.List{}
	holders := map[netip.Addr]string{}
	var faults []error
	for _, m := range c.group.Machines {
		own, err := address.Of(ctx, environment, m, len(c.group.Machines) == 1)
		faults = append(faults, err)
		for _, a := range own {
			if other, taken := holders[a]; taken {
				faults = append(faults, fmt.Errorf("%s is the address of both %s and %s", a, other, m.Name))
			}
			holders[a] = m.Name
		}
		all[m.Name] = own
	}
	return all, env.Join(faults...)
}

// checkServer looks at what any run needs.
func (c *coordinates) checkServer() error {
	if slug(c.keys.tag(c.group.Name)) == "" {
		return errors.New("NETBOX_TAG: has no letter and no digit")
	}
	_, err := newClient(string(c.keys.URL), c.keys.Token, string(c.keys.CA))
	return err
}

// talk has do talk with NetBox within the time that a run may take.
func (c *coordinates) talk(ctx context.Context, run *task.Run, what string, do func(ctx context.Context, c *client, tag *thing) error) error {
	client, err := newClient(string(c.keys.URL), c.keys.Token, string(c.keys.CA))
	if err != nil {
		return &report.Fault{Code: report.Usage, What: "check the coordinates", Why: err}
	}
	defer client.close()
	if inPlain(string(c.keys.URL)) {
		run.Log.Warnf("NETBOX_URL is not https: the token crosses the network unencrypted")
	}
	limited, cancel := context.WithTimeoutCause(ctx, time.Duration(c.keys.Timeout), &timeoutError{c.keys.Timeout})
	defer cancel()
	tag := newTag(c.keys.tag(c.group.Name), c.group.Name)
	err = client.lookAtTag(limited, tag)
	if err == nil {
		err = do(limited, client, tag)
	}
	return classify(limited, what+" "+strings.TrimRight(string(c.keys.URL), "/"), err, run.Record.Changed)
}

// compared finds the way from what NetBox holds to what the group wants.
func (c *coordinates) compared(ctx context.Context, run *task.Run, client *client, tag *thing) (*changes, error) {
	defer run.Record.Time("look")()
	own, err := c.addresses(ctx, run.Environment)
	if err != nil {
		return nil, &report.Fault{Code: report.Usage, What: "read the addresses of the machines", Why: err}
	}
	w := want(c.group, c.inventory, own, tag, client.api())
	left, err := client.look(ctx, w)
	if err != nil {
		return nil, err
	}
	changes := compare(w, left, bool(c.inventory.Prune))
	if err := client.guard(ctx, changes.deletes, tag.key()); err != nil {
		return nil, err
	}
	run.Record.Inventory = changes.counts()
	return changes, nil
}

// plan shows what apply would change, and asks NetBox for nothing but lists.
type plan struct{ *coordinates }

func (p *plan) Run(ctx context.Context, run *task.Run) error {
	return p.talk(ctx, run, "plan the inventory in", func(ctx context.Context, client *client, tag *thing) error {
		changes, err := p.compared(ctx, run, client, tag)
		if err != nil {
			return err
		}
		return changes.write(run.Out)
	})
}
