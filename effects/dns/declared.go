package dns

import (
	"context"
	"errors"
	"net/netip"
	"time"

	"fediversity.eu/slipway/effects/address"
	"fediversity.eu/slipway/groups"
	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/report"
	"fediversity.eu/slipway/targets/task"
)

// declared is the zones of a group, as far as they are known before any server is
// asked.
type declared struct {
	group groups.Group
	keys  Keys
	tools ToolKeys
	// These are only declared: each machine has its own, and they are read from the
	// environment when they are needed, since machines that are made in the same run
	// get their addresses in it.
	machine   MachineKeys
	addresses address.Keys
	cache     env.Cache
}

// Coordinates are the keys of zones that nobody has to serve.
func (d *declared) Coordinates() []any {
	return []any{&d.keys, &d.tools, &d.machine, &d.addresses, &d.cache}
}

// zones renders the zones, with everything that is wrong with them in one error.
// Early, before anything has run, a machine without an address may still get one,
// and is taken to have some.
func (d *declared) zones(ctx context.Context, environment env.Environment, early bool) ([]zone, error) {
	nodes := make([]node, 0, len(d.group.Machines))
	var faults []error
	for i, machine := range d.group.Machines {
		var keys MachineKeys
		alone := len(d.group.Machines) == 1
		own, err := address.Of(ctx, environment, machine, alone)
		faults = append(faults, err, environment.Load(ctx, env.For{Machine: machine.Name, Alone: alone}, &keys))
		n := node{machine: machine, addresses: own, hostKeys: keys.HostKey}
		if early && len(n.addresses) == 0 {
			n.assume(i)
		}
		nodes = append(nodes, n)
	}
	zones, err := render(d.group, string(d.keys.Domain), nodes)
	return zones, errors.Join(env.Join(faults...), err)
}

// assume gives a machine, one of several, addresses that nobody has (RFC 5737,
// RFC 3849).
func (n *node) assume(i int) {
	six := netip.MustParseAddr("2001:db8::").As16()
	six[14], six[15] = byte(i>>8), byte(i)
	n.addresses = []netip.Addr{netip.AddrFrom4([4]byte{192, 0, 2, byte(i)}), netip.AddrFrom16(six)}
	n.assumed = true
}

// Check renders the zones, to see whether they can be.
func (d *declared) Check(environment env.Environment) error {
	_, err := d.zones(context.Background(), environment, true) // nothing in it waits for anybody
	return err
}

// Check says everything that is wrong with the zones that a group declares, as
// far as it shows without coordinates: each machine is taken to have addresses.
func (*Effect) Check(group groups.Group) error {
	nodes := make([]node, 0, len(group.Machines))
	var faults []error
	for i, machine := range group.Machines {
		if _, err := address.Declared(machine); err != nil {
			faults = append(faults, err)
		}
		n := node{machine: machine}
		n.assume(i)
		nodes = append(nodes, n)
	}
	_, err := render(group, "example.org", nodes)
	return errors.Join(errors.Join(faults...), err)
}

// served is the zones of a group together with who serves them.
type served struct {
	declared
	server ServerKeys
	guard  GuardKeys
}

// Coordinates are the keys of zones and of those who serve them.
func (s *served) Coordinates() []any {
	return append(s.declared.Coordinates(), &s.server, &s.guard)
}

// Check renders the zones, and looks at the coordinates of their server.
func (s *served) Check(environment env.Environment) error {
	_, unknown := s.server.find()
	zones, err := s.zones(context.Background(), environment, true) // as above
	if err == nil {
		err = s.guard.check(zones)
	}
	return errors.Join(unknown, err)
}

// open renders the zones and lays them out for OctoDNS.
func (s *served) open(ctx context.Context, run *task.Run) ([]zone, *workspace, error) {
	done := run.Record.Time("render")
	zones, err := s.zones(ctx, run.Environment, false)
	done()
	if err != nil {
		return nil, nil, report.Refuse("render the zones", err, "")
	}
	p, err := s.server.find()
	if err != nil {
		return nil, nil, &report.Fault{Code: report.Usage, What: "find the provider", Why: err}
	}
	raiseTTLs(run.Log, zones, p)
	commands, err := s.tools.find(ctx, run.Environment, run.Log.In("setup"), s.server.Package)
	if err != nil {
		return nil, nil, err
	}
	w, err := newWorkspace(zones, p.config(&s.server))
	if err != nil {
		return nil, nil, err
	}
	w.commands, w.provider, w.env = commands, p, childEnvironment(run.Environment, s.server.variables())
	w.limit, w.log = time.Duration(s.server.Timeout), run.Log
	return zones, w, nil
}

// compared opens the zones and looks at what their servers hold of them. The
// workspace is to be closed where there is no error.
func (s *served) compared(ctx context.Context, run *task.Run) ([]zone, *workspace, changes, error) {
	zones, w, err := s.open(ctx, run)
	if err != nil {
		return nil, nil, changes{}, err
	}
	var c changes
	if err = nothing(zones); err == nil {
		defer run.Record.Time("look")()
		c, err = w.look(ctx, zones)
	}
	if err != nil {
		w.Close()
		return nil, nil, changes{}, err
	}
	run.Record.Zones = c.record()
	return zones, w, c, nil
}

// nothing refuses zones that would all be empty.
func nothing(zones []zone) error {
	if count(zones) > 0 {
		return nil
	}
	return report.Refuse("render the zones", errors.New("they would hold nothing"), "give the machines addresses (WEB_ADDRESSES for web), or the zones records of their own")
}

// raiseTTLs keeps to the least time that a provider has, and says so.
func raiseTTLs(log *report.Log, zones []zone, p provider) {
	raised := 0
	for _, z := range zones {
		for i := range z.records {
			if z.records[i].ttl < p.leastTTL {
				z.records[i].ttl = p.leastTTL
				raised++
			}
		}
	}
	if raised > 0 {
		log.Warnf("%d records get a TTL of %d s, the least that %s has", raised, p.leastTTL, p.name)
	}
}

func count(zones []zone) (records int) {
	for _, z := range zones {
		records += len(z.records)
	}
	return records
}
