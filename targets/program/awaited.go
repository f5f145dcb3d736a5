package program

import (
	"context"
	"fmt"
	"strings"

	"fediversity.eu/slipway/effects/address"
	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/report"
	"fediversity.eu/slipway/targets/task"
)

// awaited lists the machines of an effect's group that were planned in this session,
// would be made, and have no address before. What the effect would do about them no
// plan can show: one that took them for machines without an address would show what
// apply does not do.
func (n *node) awaited(ctx context.Context, environment env.Environment) []string {
	const plan = "plan"
	if _, reads := addressesKey(n.task.Coordinates()); n.program.Kind != Standalone || n.program.Verb != plan || !reads {
		return nil
	}
	var names []string
	for _, machine := range n.declared.Machines {
		own, err := address.Of(ctx, environment, machine, len(n.declared.Machines) == 1)
		if err == nil && len(own) == 0 && n.session.wouldMake(n.program.Group, machine.Name) {
			names = append(names, machine.Name)
		}
	}
	return names
}

// wouldMake tells whether a run of this session found that a machine is not there.
func (s *Session) wouldMake(group, machine string) bool {
	for _, n := range s.nodes {
		if n.program.Group == group && n.program.Machine == machine && n.record != nil && n.record.Awaited {
			return true
		}
	}
	return false
}

// run runs the node's task, or says why that has to wait for machines.
func (n *node) run(ctx context.Context, run *task.Run) error {
	names := n.awaited(ctx, run.Environment)
	if len(names) == 0 {
		return n.task.Run(ctx, run)
	}
	run.Record.Plan = &report.Plan{Changes: true}
	_, err := fmt.Fprintf(run.Out, "not planned: %s not made yet, and will have an address only then\n", are(names))
	return err
}

func are(names []string) string {
	if len(names) == 1 {
		return names[0] + " is"
	}
	return strings.Join(names, ", ") + " are"
}
