package program

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/magefile/mage/mg"

	"fediversity.eu/slipway/groups"
	"fediversity.eu/slipway/methods"
	"fediversity.eu/slipway/targets/report"
)

// node is one program in the graph of a session, and a dependency as Mage
// knows it: run at most once in a process, whoever depends on it.
type node struct {
	session *Session
	program Program
	task    methods.Task // nil for an aggregate
	members []*node      // of an aggregate
	needs   []*node      // what must end healthy before this one starts
	loaded  bool

	once   sync.Once
	err    error
	record *report.Record
}

var _ mg.Fn = (*node)(nil)

// Name and ID are the identity by which Mage runs a dependency once.
func (n *node) Name() string { return n.program.Name }

// ID is empty: the name says it all.
func (n *node) ID() string { return "" }

// Run runs the program, or gives the outcome of the run that was. It never
// panics: Mage takes a dependency that panicked for one that succeeded when it
// is asked for again.
func (n *node) Run(ctx context.Context) error {
	n.once.Do(func() {
		n.record = &report.Record{
			Program: n.program.Name, Group: n.program.Group, Method: n.program.Method,
			Machine: n.program.Machine, Verb: n.program.Verb, Started: time.Now(),
		}
		n.err = n.attempt(ctx)
		n.record.Close(n.err)
	})
	return report.Wrap(n.err)
}

// notStarted is the fate of a program whose needs were not met.
type notStartedError struct{ cause error }

func (e *notStartedError) Error() string { return "not started: " + e.cause.Error() }
func (e *notStartedError) Unwrap() error { return e.cause }

func (n *node) attempt(ctx context.Context) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic: %v\n%s", v, debug.Stack())
		}
	}()
	if n.program.Aggregate() {
		return n.aggregate(ctx)
	}
	if err := depend(ctx, n.needs); err != nil {
		return &notStartedError{blamed(n.needs, err)}
	}
	if ctx.Err() != nil {
		return &notStartedError{context.Cause(ctx)}
	}
	// Only leaves take a slot: an aggregate that held one could starve the
	// members it waits for.
	select {
	case n.session.slots <- struct{}{}:
		defer func() { <-n.session.slots }()
	case <-ctx.Done():
		return &notStartedError{context.Cause(ctx)}
	}
	return n.task.Run(ctx, &methods.Run{
		Program: n.program.Name, Environment: n.session.environment,
		Log: n.session.log.For(n.program.Name), Out: n.session.out, Record: n.record,
	})
}

func (n *node) aggregate(ctx context.Context) error {
	_ = depend(ctx, n.members) // each member's own outcome is read below
	var failed []error
	codes := make([]report.Code, 0, len(n.members))
	for _, member := range n.members {
		n.record.Add(member.record)
		codes = append(codes, report.CodeOf(member.err))
		if member.err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", member.program.Name, member.err))
		}
		n.record.Changed = n.record.Changed || member.record.Changed
	}
	if len(failed) == 0 {
		return nil
	}
	return &report.Exit{
		Code: report.Worst(codes...),
		Err:  fmt.Errorf("%d of %d: %w", len(failed), len(n.members), errors.Join(failed...)),
	}
}

// depend makes nodes Mage dependencies of the caller and waits for all of them.
// Mage reports a failed dependency by a panic.
func depend(ctx context.Context, nodes []*node) (err error) {
	if len(nodes) == 0 {
		return nil
	}
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("%v", v)
		}
	}()
	deps := make([]any, 0, len(nodes))
	for _, n := range nodes {
		deps = append(deps, n)
	}
	mg.CtxDeps(ctx, deps...)
	return nil
}

// blamed names which of the needs was not met.
func blamed(needs []*node, otherwise error) error {
	var names []string
	for _, need := range needs {
		if need.err != nil {
			names = append(names, fmt.Sprintf("%s ended %s", need.program.Name, report.CodeOf(need.err)))
		}
	}
	if len(names) == 0 {
		return otherwise
	}
	return errors.New(strings.Join(names, ", "))
}

// nodeOf gives the node of a program, with its members and what they need.
func (s *Session) nodeOf(p Program) *node {
	if n, ok := s.nodes[p.Name]; ok {
		return n
	}
	n := &node{session: s, program: p}
	s.nodes[p.Name] = n
	if !p.Aggregate() {
		n.task = s.registry.taskOf(p)
		return n
	}
	group := s.registry.groupOf(p.Group)
	byMachine := map[string]*node{}
	for _, machine := range membersOf(group, p.Kind) {
		if member, ok := s.member(p, group, machine); ok {
			byMachine[machine.Name] = member
			n.members = append(n.members, member)
		}
	}
	if p.Kind == Combined {
		for machine, need := range edges(group, p.Verb == destroy) {
			for _, other := range need {
				if byMachine[machine] != nil && byMachine[other] != nil {
					byMachine[machine].needs = append(byMachine[machine].needs, byMachine[other])
				}
			}
		}
	}
	return n
}

// member gives the node of an aggregate's verb on one machine, if the machine
// has that verb.
func (s *Session) member(p Program, group groups.Group, machine groups.Machine) (*node, bool) {
	method := p.Method
	if method == "" {
		method = group.Methods[0]
	}
	verbs := s.registry.methods[method].Verbs(machine.Placement)
	i := slices.IndexFunc(verbs, func(v methods.Verb) bool { return v.Name == p.Verb })
	if i < 0 {
		return nil, false
	}
	return s.nodeOf(s.registry.deploymentOf(group, machine, method, verbs[i])), true
}

// destroy is the verb that takes a graph apart from its far end.
const destroy = "destroy"

// edges lists, for each machine of a group, the machines that come before it:
// what it needs, and every internal machine before the published ones.
func edges(group groups.Group, backwards bool) map[string][]string {
	before := map[string][]string{}
	add := func(machine, first string) {
		if backwards {
			machine, first = first, machine
		}
		if !slices.Contains(before[machine], first) {
			before[machine] = append(before[machine], first)
		}
	}
	for _, machine := range group.Machines {
		for _, need := range machine.Needs {
			add(machine.Name, need)
		}
		if machine.Internal {
			continue
		}
		for _, other := range group.Machines {
			if other.Internal && !reaches(group, other.Name, machine.Name) {
				add(machine.Name, other.Name)
			}
		}
	}
	return before
}

// reaches tells whether from needs to, directly or not: an internal machine
// that needs a published one can't come before it.
func reaches(group groups.Group, from, to string) bool {
	machine, _ := machineOf(group, from)
	for _, need := range machine.Needs {
		if need == to || reaches(group, need, to) {
			return true
		}
	}
	return false
}

// leaves lists the nodes that have tasks: the node itself, or its members.
func (n *node) leaves() []*node {
	if n.task != nil {
		return []*node{n}
	}
	return n.members
}
