package program

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"fediversity.eu/slipway/effects/address"
	"fediversity.eu/slipway/groups"
	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/report"
)

// recall reads the records that an effect is given, of runs that were processes of
// their own. What was named and tells nothing is an error: taken for machines without
// addresses, it would take what is published of them away.
func (n *node) recall(ctx context.Context, environment env.Environment, scope env.For) error {
	if _, reads := addressesKey(n.task.Coordinates()); n.program.Kind != Standalone || !reads {
		return nil
	}
	var keys address.Keys
	if err := environment.Load(ctx, scope, &keys); err != nil {
		return err
	}
	n.recorded = map[string][]string{}
	var faults []error
	for _, path := range keys.Records {
		record, err := report.ReadRecord(string(path))
		if err != nil {
			faults = append(faults, fmt.Errorf("RECORDS: %w", err))
		} else if err := n.learn(record); err != nil {
			faults = append(faults, fmt.Errorf("RECORDS: %s: %w", path, err))
		}
	}
	return errors.Join(faults...)
}

// learn takes the addresses of the machines of the node's group from a record, or
// from the members of one.
func (n *node) learn(record *report.Record) error {
	own := deployments(record, n.declared)
	if len(own) == 0 {
		return fmt.Errorf("is the record of %s, which deployed no machine of %s", record.Program, n.declared.Name)
	}
	var faults []error
	for _, r := range own {
		known := n.recorded[r.Machine]
		switch {
		case r.ExitCode != report.Healthy && r.ExitCode != report.RebootNeeded:
			faults = append(faults, fmt.Errorf("%s ended %s, and may not tell where %s is", r.Program, r.Outcome, r.Machine))
		case len(r.Addresses) > 0 && len(known) > 0 && !slices.Equal(known, r.Addresses):
			faults = append(faults, fmt.Errorf("%s found %s at %v, and another run at %v; name the record of the last", r.Program, r.Machine, r.Addresses, known))
		case len(r.Addresses) > 0:
			n.recorded[r.Machine] = r.Addresses
		}
	}
	return errors.Join(faults...)
}

// deployments lists what a record has of runs that deployed machines of a group.
func deployments(record *report.Record, group groups.Group) []*report.Record {
	if record == nil {
		return nil
	}
	var list []*report.Record
	for _, m := range record.Members {
		list = append(list, deployments(m, group)...)
	}
	_, known := machineOf(group, record.Machine)
	if known && record.Group == group.Name && record.Method != "" {
		list = append(list, record)
	}
	return list
}
