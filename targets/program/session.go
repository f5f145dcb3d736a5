package program

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"fediversity.eu/slipway/methods"
	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/report"
)

// Keys are the coordinates that every program reads.
type Keys struct {
	Parallelism env.Count `env:"PARALLELISM,default=10" desc:"how many machines an aggregate works on at once"`
	Progress    string    `env:"PROGRESS,default=auto" oneof:"auto,plain,json" desc:"how events are shown: live on a terminal and as lines elsewhere, always as lines, or as one JSON object a line"`
	Report      env.Path  `env:"REPORT" desc:"file to write the record of the run to, as JSON"`
}

// Session runs programs of a registry in one process: each at most once,
// however many ask for it.
type Session struct {
	id          string
	registry    *Registry
	environment env.Environment
	log         *report.Log
	out         io.Writer
	keys        Keys
	flush       func()
	slots       chan struct{}
	nodes       map[string]*node
}

// Streams are where a session writes.
type Streams struct {
	Out io.Writer // results
	Err io.Writer // events
	// Width gives the columns of Err when that is a terminal, and is nil elsewhere.
	Width func() int
}

// NewSession reads the keys that every program has. Whatever its programs
// write has the secrets of their coordinates taken out.
func (r *Registry) NewSession(ctx context.Context, environment env.Environment, to Streams) (*Session, error) {
	s := &Session{id: rand.Text(), registry: r, environment: environment, nodes: map[string]*node{}}
	if err := environment.Load(ctx, env.For{Alone: true}, &s.keys); err != nil {
		return nil, &report.Fault{Code: report.Usage, What: "read the coordinates", Why: err}
	}
	if s.keys.Report != "" {
		if _, err := os.Stat(filepath.Dir(string(s.keys.Report))); err != nil {
			return nil, &report.Fault{Code: report.Usage, What: "read the coordinates", Why: fmt.Errorf("REPORT: %w", err), Hint: "REPORT names a file in a folder that is there"}
		}
	}
	errs := environment.Redactor().Writer(to.Err)
	out := environment.Redactor().Writer(to.Out)
	s.out, s.flush = out, func() { _, _ = out.Flush(), errs.Flush() }
	switch {
	case s.keys.Progress == "json":
		s.log = report.NewLog(report.JSON(errs))
	case s.keys.Progress == "auto" && to.Width != nil:
		s.log = report.NewLog(report.Terminal(errs, to.Width))
	default:
		s.log = report.NewLog(report.Plain(errs))
	}
	s.slots = make(chan struct{}, int(s.keys.Parallelism))
	return s, nil
}

// Log is where the session's events go.
func (s *Session) Log() *report.Log { return s.log }

// Environment is where its coordinates come from.
func (s *Session) Environment() env.Environment { return s.environment }

// Out is where its results go.
func (s *Session) Out() io.Writer { return s.out }

// Close hands on what was kept back because a secret may have begun there.
func (s *Session) Close() { s.flush() }

// Run runs the named programs one after another and stops at the first that
// does not end healthy. All names and all coordinates are checked before any
// program starts: unknown names and every missing or malformed key are one
// error with exit code 2.
func (s *Session) Run(ctx context.Context, names ...string) error {
	record := &report.Record{Program: strings.Join(names, " "), Started: time.Now()}
	nodes, err := s.check(ctx, names)
	for _, n := range nodes {
		if err != nil {
			break
		}
		err = n.Run(ctx)
		s.summary(n)
		record.Add(n.record)
		record.Changed = record.Changed || n.record.Changed
	}
	record.Close(err)
	if len(names) == 1 && len(record.Members) == 1 {
		record = record.Members[0]
	}
	return s.write(record, err)
}

// write puts the record where REPORT says, and returns how the run ended.
func (s *Session) write(record *report.Record, err error) error {
	if s.keys.Report == "" {
		return err
	}
	return errors.Join(err, record.Write(string(s.keys.Report), s.environment.Redactor().String))
}

// Check looks the named programs up and reads their coordinates, and says at
// once what is wrong with any of them. Run does the same first.
func (s *Session) Check(ctx context.Context, names ...string) error {
	record := &report.Record{Program: strings.Join(names, " "), Started: time.Now()}
	if _, err := s.check(ctx, names); err != nil {
		record.Close(err)
		return s.write(record, err)
	}
	return nil
}

func (s *Session) check(ctx context.Context, names []string) ([]*node, error) {
	programs, err := s.registry.resolve(names)
	if err != nil {
		return nil, err
	}
	nodes, err := s.prepare(ctx, programs)
	if err != nil {
		return nil, err
	}
	return nodes, nil
}

// Resolve says of every unknown name which are close; nil when all are known.
func (r *Registry) Resolve(names ...string) error {
	_, err := r.resolve(names)
	return err
}

// resolve finds the programs of names, or says of every unknown one which are
// close.
func (r *Registry) resolve(names []string) ([]Program, error) {
	programs := make([]Program, 0, len(names))
	var unknown []error
	for _, name := range names {
		if p, ok := r.Find(name); ok {
			programs = append(programs, p)
			continue
		}
		text := fmt.Sprintf("unknown program %q", name)
		if near := r.Close(name); len(near) > 0 {
			text += "; close are " + strings.Join(near, ", ")
		}
		unknown = append(unknown, errors.New(text))
	}
	if err := errors.Join(unknown...); err != nil {
		return nil, &report.Fault{
			Code: report.Usage, What: "look up the programs", Why: err,
			Hint: "slipway list shows every program",
		}
	}
	return programs, nil
}

// prepare makes the tasks of programs and fills their coordinates, each once. The
// plain form of a machine's own keys counts in a run of one machine alone.
func (s *Session) prepare(ctx context.Context, programs []Program) ([]*node, error) {
	nodes := make([]*node, 0, len(programs))
	var leaves []*node
	every := map[string]bool{}
	for _, p := range programs {
		n := s.nodeOf(p)
		nodes = append(nodes, n)
		leaves = append(leaves, n.leaves()...)
	}
	for _, leaf := range leaves {
		every[leaf.program.Group+" "+leaf.program.Machine] = true
	}
	var problems, unusable []error
	var declared []any
	machines := map[string]bool{}
	for _, leaf := range leaves {
		if leaf.loaded {
			continue
		}
		leaf.loaded = true
		machines[leaf.program.Machine] = true
		declared = append(declared, leaf.task.Coordinates()...)
		scope := env.For{Machine: leaf.program.Machine, Alone: len(every) == 1}
		if err := s.environment.Load(ctx, scope, leaf.task.Coordinates()...); err != nil {
			problems = append(problems, err)
		} else if checker, ok := leaf.task.(methods.Checker); ok {
			if err := checker.Check(s.environment); err != nil {
				unusable = append(unusable, fmt.Errorf("%s: %w", leaf.program.Name, err))
			}
		}
	}
	if len(problems) > 0 {
		return nil, &report.Fault{
			Code: report.Usage, What: "read the coordinates", Why: env.Join(problems...),
			Hint: "slipway help PROGRAM shows every key that a program reads",
		}
	}
	if err := errors.Join(unusable...); err != nil {
		return nil, &report.Fault{Code: report.Usage, What: "check the coordinates", Why: err, Hint: "nothing was started"}
	}
	if len(declared) == 0 {
		return nodes, nil // all of them were prepared before
	}
	return nodes, s.warnOfTypos(append(declared, &s.keys), machines)
}

func (s *Session) warnOfTypos(declared []any, machines map[string]bool) error {
	keys, err := env.Declared(declared...)
	if err != nil {
		return fmt.Errorf("declared keys: %w", err)
	}
	names := make([]string, 0, len(machines))
	for name := range machines {
		names = append(names, name)
	}
	for _, typo := range s.environment.Typos(keys, names) {
		s.log.Warnf("%s", typo)
	}
	return nil
}

// taskOf makes the task of a program that is no aggregate.
func (r *Registry) taskOf(p Program) methods.Task {
	group := r.groupOf(p.Group)
	machine, _ := machineOf(group, p.Machine)
	d := methods.Deployment{Group: group, Machine: machine}
	if p.Kind == System {
		return r.system(d)
	}
	return r.methods[p.Method].Task(d, p.Verb)
}

// Keys lists the keys that a program reads, its members' included.
func (r *Registry) Keys(p Program) ([]env.Key, error) {
	s := &Session{registry: r, nodes: map[string]*node{}}
	declared := []any{&Keys{}}
	for _, leaf := range s.nodeOf(p).leaves() {
		declared = append(declared, leaf.task.Coordinates()...)
	}
	return env.Declared(declared...)
}
