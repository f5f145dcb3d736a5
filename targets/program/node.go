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
	layers      []report.Layer      // that its task was made of
	layered     bool                // not all of them are baked into the program
	declared    groups.Group        // what its task was made of
	environment env.Environment     // as its group sees it, with the arguments, where it has a task
	recorded    map[string][]string // addresses by machine, of an effect that is given records

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
	return n.run(ctx, &task.Run{
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
		failed = append(failed, &report.Owned{Program: m.program.Name, Err: m.err})
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
