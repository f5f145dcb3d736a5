package program

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/magefile/mage/mg"

	"fediversity.eu/slipway/effects"
	"fediversity.eu/slipway/groups"
	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/report"
	"fediversity.eu/slipway/targets/task"
)

// node is one program of a session, which runs it at most once.
type node struct {
	session     *Session
	program     Program
	task        task.Task // nil for an aggregate
	members     []*member // of an aggregate
	loaded      bool
	label       string // before its results, where it is one of several members of an aggregate
	arguments   []string
	layers      []report.Layer  // that its task was made of
	layered     bool            // not all of them are baked into the program
	declared    groups.Group    // what its task was made of
	environment env.Environment // as its group sees it, with the arguments, where it has a task

	once    sync.Once
	release func() // of its slot, where it has one
	err     error
	record  *report.Record
}

// Run runs the program, or gives the outcome of the run that was. It never
// panics: Mage takes a dependency that panicked for one that succeeded when it
// is asked for again.
func (n *node) Run(ctx context.Context) error {
	n.end(ctx, n.attempt)
	return report.Wrap(n.err)
}

// end gives the node its outcome, unless it has one, and says it.
func (n *node) end(ctx context.Context, attempt func(context.Context) error) {
	n.once.Do(func() {
		log := n.session.log.For(n.program.Name)
		n.record = &report.Record{
			Program: n.program.Name, Group: n.program.Group, Method: n.program.Method,
			Effect: n.program.Effect, Machine: n.program.Machine, Verb: n.program.Verb, Started: time.Now(),
			Layers: n.layers,
		}
		n.record.Tell(log)
		n.err = told(ctx, attempt(ctx))
		n.record.Close(n.err)
		if n.neverStarted() {
			n.record.Outcome = report.NotStarted
		}
		if n.program.Aggregate() {
			n.table(log)
		}
		if n.err != nil && !n.neverStarted() {
			log.Troublef("%s", n.err)
		}
		log.End(n.ended())
		if n.release != nil {
			n.release() // after its end was said: events show how many run at once
		}
	})
}

// told is the error of a node, which says it itself. What does not end well
// after an interruption was interrupted, whatever it says.
func told(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	code := report.CodeOf(err)
	if stop, ok := errors.AsType[*report.Interruption](context.Cause(ctx)); ok {
		code = stop.Code()
	}
	_, unsaid := err.(*notStartedError) //nolint:errorlint // the node itself; the table of an aggregate says it
	return &report.Exit{Code: code, Err: err, Told: !unsaid}
}

func (n *node) attempt(ctx context.Context) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic: %v\n%s", v, debug.Stack())
		}
	}()
	log := n.session.log.For(n.program.Name)
	if n.program.Aggregate() {
		log.Start(names(n.members)...)
		return n.aggregate(ctx)
	}
	// Only leaves take a slot: an aggregate that held one could starve the
	// members it waits for.
	select {
	case n.session.slots <- struct{}{}:
		n.release = func() { <-n.session.slots }
	case <-ctx.Done():
	}
	if ctx.Err() != nil {
		return &notStartedError{context.Cause(ctx)}
	}
	log.Start()
	if n.layered {
		for _, line := range report.Layers(n.layers) {
			log.In("layers").Infof("%s", line)
		}
	}
	out := n.session.out
	if n.label != "" {
		own := &labelled{label: n.label, to: out}
		defer func() {
			if failed := own.Flush(); err == nil {
				err = failed
			}
		}()
		out = own
	}
	environment, err := n.found(ctx, log)
	if err != nil {
		return err
	}
	return n.task.Run(ctx, &task.Run{
		Program: n.program.Name, Environment: environment, Log: log, Out: out, Record: n.record,
	})
}

// notStartedError is the fate of a program whose needs were not met.
type notStartedError struct{ cause error }

func (e *notStartedError) Error() string { return "not started: " + e.cause.Error() }
func (e *notStartedError) Unwrap() error { return e.cause }

// aggregate runs the members, each when what it needs has ended healthy, and
// ends with the worst of their codes. What was not started for want of another
// adds nothing to that of the other.
func (n *node) aggregate(ctx context.Context) error {
	_ = depend(ctx, n.members) // each member's own outcome is read below
	var failed []error
	var codes []report.Code
	outcomes := map[string]int{}
	for _, m := range n.members {
		m.record.Needs = names(m.needs)
		n.record.Add(m.record)
		n.record.Changed = n.record.Changed || m.record.Changed
		if m.err == nil {
			continue
		}
		failed = append(failed, m.err)
		outcomes[m.outcome()]++
		if !m.blames {
			codes = append(codes, report.CodeOf(m.err))
		}
	}
	if len(failed) == 0 {
		return nil
	}
	return &report.Exit{
		Code: report.Worst(codes...), Err: &membersError{of: len(n.members), outcomes: outcomes, errs: failed},
	}
}

// membersError is how an aggregate fails. Its text counts: what went wrong with
// each member was said when it did, and stands in the table.
type membersError struct {
	of       int
	outcomes map[string]int
	errs     []error
}

func (e *membersError) Error() string {
	var counts []string
	for _, outcome := range slices.Sorted(maps.Keys(e.outcomes)) {
		counts = append(counts, fmt.Sprintf("%d %s", e.outcomes[outcome], outcome))
	}
	return fmt.Sprintf("%d of %d did not end healthy: %s", len(e.errs), e.of, strings.Join(counts, ", "))
}

func (e *membersError) Unwrap() []error { return e.errs }

// member is a node within an aggregate, where other members come before it. It
// is a dependency as Mage knows it.
type member struct {
	*node
	aggregate *node
	needs     []*member
	blames    bool // it was not started because of one of its needs
}

var _ mg.Fn = (*member)(nil)

// Name is the identity by which Mage runs a dependency once.
func (m *member) Name() string { return m.program.Name }

// ID tells the dependencies of one aggregate and session from those of another:
// Mage would run each of them once in a process, whichever is asked for it.
func (m *member) ID() string { return m.session.id + " " + m.aggregate.program.Name }

// Run runs the member after what it needs, unless it was run already.
func (m *member) Run(ctx context.Context) error {
	if err := depend(ctx, m.needs); err != nil {
		m.end(ctx, func(context.Context) error {
			m.blames = true
			return &notStartedError{blamed(m.needs, err)}
		})
	}
	return m.node.Run(ctx)
}

// depend makes members Mage dependencies of the caller and waits for all of
// them. Mage reports a failed dependency by a panic.
func depend(ctx context.Context, members []*member) (err error) {
	if len(members) == 0 {
		return nil
	}
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("%v", v)
		}
	}()
	deps := make([]any, 0, len(members))
	for _, m := range members {
		deps = append(deps, m)
	}
	mg.CtxDeps(ctx, deps...)
	return nil
}

// blamed names which of the needs was not met; of one that was not started for want
// of another, that other.
func blamed(needs []*member, otherwise error) error {
	var names []string
	seen := map[*member]bool{}
	var look func(needs []*member)
	look = func(needs []*member) {
		for _, need := range needs {
			if need.err == nil || seen[need] {
				continue
			}
			seen[need] = true
			if need.blames {
				look(need.needs)
				continue
			}
			names = append(names, need.program.Name+" ended "+need.outcome())
		}
	}
	look(needs)
	if len(names) == 0 {
		return otherwise
	}
	return errors.New(strings.Join(names, ", "))
}

// outcome is how the node ended, in a word or two.
func (n *node) outcome() string {
	if n.neverStarted() {
		return report.NotStarted
	}
	return report.Words(n.err)
}

// neverStarted tells whether the node's needs were not met: the table of an
// aggregate says that, and the node itself nothing.
func (n *node) neverStarted() bool {
	exit, ok := n.err.(*report.Exit) //nolint:errorlint // the node itself, not one that it blames
	if !ok {
		return false
	}
	_, ok = exit.Err.(*notStartedError) //nolint:errorlint // as above
	return ok
}

// ended is how and when the node ended.
func (n *node) ended() report.Outcome {
	return report.Outcome{Code: n.record.ExitCode, Words: n.record.Outcome, Took: n.record.Ended.Sub(n.record.Started)}
}

// names are those of the programs of members.
func names(members []*member) []string {
	list := make([]string, 0, len(members))
	for _, m := range members {
		list = append(list, m.program.Name)
	}
	return list
}

// nodeOf gives the node of a program, with its members and what they need.
func (s *Session) nodeOf(p Program) *node {
	if n, ok := s.nodes[p.Name]; ok {
		return n
	}
	n := &node{session: s, program: p}
	s.nodes[p.Name] = n
	if !p.Aggregate() {
		n.task, n.declared = s.registry.taskOf(p), s.registry.groupOf(p.Group)
		return n
	}
	byName := map[string]*member{}
	for _, leaf := range s.registry.Members(p) {
		m := &member{node: s.nodeOf(leaf), aggregate: n}
		byName[leaf.Name] = m
		n.members = append(n.members, m)
	}
	for _, m := range n.members {
		switch {
		case len(s.registry.groupOf(p.Group).Parts) > 0: // two groups may have the same effect
			m.label = m.program.Group + " " + m.program.subject()
		case len(n.members) > 1 && m.label == "":
			m.label = m.program.subject()
		}
	}
	for name, before := range s.registry.Needs(p) {
		for _, other := range before {
			byName[name].needs = append(byName[name].needs, byName[other])
		}
	}
	return n
}

// destroy is the verb that takes a graph apart from its far end.
const destroy = "destroy"

// edges lists, for each machine and effect of a group, what comes before it: what
// a machine needs, and every internal machine before the published ones; every
// machine before the effects, and each of these before the next, but for those that
// prepare, which come before all machines.
func edges(group groups.Group, standalone []effects.Effect, backwards bool) map[string][]string {
	before := map[string][]string{}
	add := func(machine, first string) {
		if backwards {
			machine, first = first, machine
		}
		if !slices.Contains(before[machine], first) {
			before[machine] = append(before[machine], first)
		}
	}
	var followers []effects.Effect
	for _, effect := range standalone {
		if _, prepares := effect.(effects.Preparer); prepares {
			for _, machine := range group.Machines {
				add(machine.Name, effect.Name())
			}
			continue
		}
		for _, machine := range group.Machines {
			add(effect.Name(), machine.Name)
		}
		for _, other := range followers {
			add(effect.Name(), other.Name())
		}
		followers = append(followers, effect)
	}
	all := allNeeds(group)
	for _, machine := range group.Machines {
		for _, need := range machine.Needs {
			add(machine.Name, need)
		}
		if machine.Internal {
			continue
		}
		for _, other := range group.Machines {
			// An internal machine that needs a published one can't come before it.
			if other.Internal && !all[other.Name][machine.Name] {
				add(machine.Name, other.Name)
			}
		}
	}
	return before
}

// allNeeds gives what each machine of a group needs, directly or not.
func allNeeds(group groups.Group) map[string]map[string]bool {
	direct := map[string][]string{}
	for _, machine := range group.Machines {
		direct[machine.Name] = machine.Needs
	}
	all := map[string]map[string]bool{}
	var of func(name string) map[string]bool
	of = func(name string) map[string]bool {
		if known, ok := all[name]; ok {
			return known
		}
		needs := map[string]bool{}
		all[name] = needs
		for _, need := range direct[name] {
			needs[need] = true
			maps.Copy(needs, of(need))
		}
		return needs
	}
	for name := range direct {
		of(name)
	}
	return all
}

// leaves lists the nodes that have tasks: the node itself, or its members.
func (n *node) leaves() []*node {
	if n.task != nil {
		return []*node{n}
	}
	list := make([]*node, 0, len(n.members))
	for _, m := range n.members {
		list = append(list, m.node)
	}
	return list
}
