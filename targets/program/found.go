package program

import (
	"context"
	"slices"
	"strings"

	"fediversity.eu/slipway/effects/address"
	"fediversity.eu/slipway/groups"
	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/report"
)

// found gives the environment of an effect the addresses that the machines of its
// group were found to have in this session, or else in the runs whose records it was
// given: one that was made in them had none before. They count where nobody named
// any, neither the caller nor the group.
func (n *node) found(ctx context.Context, log *report.Log) (env.Environment, error) {
	environment := n.environment
	key, reads := addressesKey(n.task.Coordinates())
	if n.program.Kind != Standalone || !reads {
		return environment, nil
	}
	group := n.declared
	for _, machine := range group.Machines {
		alone := len(group.Machines) == 1
		if named, err := address.Of(ctx, environment, machine, alone); err != nil || len(named) > 0 {
			continue // the effect itself says what is wrong
		}
		own, teller := address.Reachable(n.session.addressesOf(group, machine)), "its deployment"
		if len(own) == 0 {
			own, teller = address.Reachable(n.recorded[machine.Name]), "the record of its deployment"
		}
		if len(own) == 0 {
			continue
		}
		text := strings.Join(own, ",")
		log.Infof("%s has the address %s, as %s tells", machine.Name, text, teller)
		given, err := environment.Give(env.For{Machine: machine.Name, Alone: alone}, key, text)
		if err != nil {
			return environment, err
		}
		environment = given
	}
	return environment, nil
}

// addressesKey finds the key of a machine's addresses among what a task reads.
func addressesKey(coordinates []any) (env.Key, bool) {
	own, err := env.Declared(address.Keys{})
	if err != nil {
		return env.Key{}, false
	}
	all, err := env.Declared(coordinates...)
	return own[0], err == nil && slices.ContainsFunc(all, func(k env.Key) bool { return k.Name == own[0].Name })
}

// addressesOf is what the runs of a machine that ended in this session found.
func (s *Session) addressesOf(group groups.Group, machine groups.Machine) []string {
	var all []string
	for _, n := range s.nodes {
		if n.program.Group == group.Name && n.program.Machine == machine.Name && n.record != nil {
			all = append(all, n.record.Addresses...)
		}
	}
	slices.Sort(all)
	return all
}
