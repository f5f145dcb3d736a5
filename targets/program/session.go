package program

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"fediversity.eu/slipway/effects"
	"fediversity.eu/slipway/groups"
	"fediversity.eu/slipway/internal/plaintext"
	"fediversity.eu/slipway/internal/source"
	"fediversity.eu/slipway/methods"
	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/report"
	"fediversity.eu/slipway/targets/task"
)

// Keys are the coordinates that every program reads.
type Keys struct {
	Parallelism env.Count `env:"PARALLELISM,default=10" scope:"run" desc:"how many machines an aggregate works on at once"`
	Progress    string    `env:"PROGRESS,default=auto" scope:"run" oneof:"auto,plain,json" desc:"how events are shown: live on a terminal and as lines elsewhere, always as lines, or as one JSON object a line"`
	Report      env.Path  `env:"REPORT" scope:"run" desc:"file to write the record of the run to, as JSON"`
	ReportHTML  env.Path  `env:"REPORT_HTML" scope:"run" desc:"file to write a page about the run to, as HTML that needs nothing else"`
	NoColor     env.Text  `env:"NO_COLOR" scope:"run" desc:"set to anything, it takes the colours off a terminal"`
}

// Session runs programs of a registry in one process: each at most once,
// however many ask for it.
type Session struct {
	id          string
	registry    *Registry
	environment env.Environment
	log         *report.Log
	out         io.Writer
	results     *report.Delivery // where out ends
	keys        Keys
	malformed   error  // what is wrong with keys, to be told with all else that is
	flush       func() // hands on what was kept back of results
	close       func()
	abandon     func()
	slots       chan struct{}
	shelf       *source.Shelf    // of module sources
	checked     map[string]error // groups of which they hold layers
	nodes       map[string]*node
}

// Streams are where a session writes.
type Streams struct {
	Out io.Writer // results
	Err io.Writer // events
	// Size gives the columns and rows of Err when that is a terminal, and is nil
	// elsewhere.
	Size func() (columns, rows int)
}

// NewSession reads the keys that every program has; what is wrong with them is told
// when programs are checked, together with what is wrong with theirs. Whatever its
// programs write has the secrets of their coordinates taken out.
func (r *Registry) NewSession(ctx context.Context, environment env.Environment, to Streams) (*Session, error) {
	s := &Session{id: rand.Text(), registry: r, environment: environment, nodes: map[string]*node{}}
	s.malformed = environment.Load(ctx, env.For{Alone: true}, &s.keys)
	if broken, ok := errors.AsType[*env.DeclarationError](s.malformed); ok {
		return nil, broken
	}
	unwritable, err := s.keys.checkFiles()
	if err != nil {
		return nil, err
	}
	s.malformed = env.Join(s.malformed, unwritable)
	s.open(to)
	s.slots = make(chan struct{}, int(s.keys.Parallelism))
	s.shelf, s.checked = source.NewShelf(environment, s.log), map[string]error{}
	return s, nil
}

// open decides how the session speaks.
func (s *Session) open(to Streams) {
	redactor := s.environment.Redactor()
	var sink report.Sink
	s.abandon = func() {}
	s.results = report.NewDelivery(to.Out)
	switch {
	case s.keys.Progress == "json":
		sink = report.JSON(to.Err)
	case s.keys.Progress == "auto" && to.Size != nil && !s.environment.DumbTerminal():
		terminal := report.NewTerminal(to.Err, report.Screen{Size: to.Size, Colours: s.keys.NoColor == ""})
		results := terminal.Results(s.results)
		clean := plaintext.NewWriter(results)
		out := redactor.Writer(clean)
		sink, s.out, s.abandon = terminal, out, terminal.Abandon
		s.flush = func() { _, _, _ = out.Flush(), clean.Flush(), results.Flush() }
		s.close = func() {
			terminal.Close()
			s.flush()
		}
	default:
		sink = report.Plain(to.Err)
	}
	if s.out == nil {
		clean := plaintext.NewWriter(s.results)
		out := redactor.Writer(clean)
		s.out, s.flush = out, func() { _, _ = out.Flush(), clean.Flush() }
		s.close = s.flush
	}
	s.log = report.NewLog(report.Redacted(sink, redactor.String))
}

// Speak gives a log for what goes wrong before there is a session, in the form
// that PROGRESS asks for.
func Speak(ctx context.Context, environment env.Environment, to io.Writer) *report.Log {
	var keys struct {
		Progress string `env:"PROGRESS" desc:"how events are shown"`
	}
	if err := environment.Load(ctx, env.For{Alone: true}, &keys); err == nil && keys.Progress == "json" {
		return report.NewLog(report.JSON(to))
	}
	return report.NewLog(report.Plain(to))
}

// Log is where the session's events go.
func (s *Session) Log() *report.Log { return s.log }

// Environment is where its coordinates come from.
func (s *Session) Environment() env.Environment { return s.environment }

// Out is where its results go.
func (s *Session) Out() io.Writer { return s.out }

// Delivered is how a run ended, given how its work did: one that went well and
// whose results could not be written, as on a full disk, failed. A reader that went
// away has had enough, and changes nothing.
func (s *Session) Delivered(err error) error {
	if err != nil {
		return err
	}
	s.flush()
	if lost := s.results.Lost(); lost != nil {
		return report.Fail("write the results", lost, "what was to be done is done; standard output took no more")
	}
	return nil
}

// Close hands on what was kept back because a secret may have begun there, and
// takes off a terminal what moves.
func (s *Session) Close() { s.close() }

// Abandon leaves a terminal as Close does, and waits for nobody: the process is
// about to end.
func (s *Session) Abandon() { s.abandon() }

// Run runs programs one after another and stops at the first that does not end
// healthy. All names and all coordinates are checked before any program starts:
// unknown names and every missing or malformed key are one error with exit
// code 2. What went wrong later was said when it did, and the error is Told.
func (s *Session) Run(ctx context.Context, calls ...Call) error {
	record := newRecord(calls)
	nodes, err := s.check(ctx, calls)
	for _, n := range nodes {
		err = n.Run(ctx)
		record.Add(n.record)
		record.Changed = record.Changed || n.record.Changed
		if err != nil {
			break
		}
	}
	done := err == nil
	err = s.Delivered(err)
	record.Close(err)
	if len(calls) == 1 && len(record.Members) == 1 {
		record = record.Members[0]
		if done && err != nil {
			record.Close(err)
		}
	}
	return s.write(record, err)
}

func newRecord(calls []Call) *report.Record {
	names := make([]string, 0, len(calls))
	for _, call := range calls {
		names = append(names, call.Name)
	}
	return &report.Record{Program: strings.Join(names, " "), Started: time.Now()}
}

// Check looks the programs up and reads their coordinates, and says at once what
// is wrong with any of them. Run does the same first.
func (s *Session) Check(ctx context.Context, calls ...Call) error {
	record := newRecord(calls)
	if err := s.Accept(ctx, calls...); err != nil {
		record.Close(err)
		return s.write(record, err)
	}
	return nil
}

// Accept is Check for whoever only asks: it writes no record.
func (s *Session) Accept(ctx context.Context, calls ...Call) error {
	_, err := s.check(ctx, calls)
	return err
}

func (s *Session) check(ctx context.Context, calls []Call) ([]*node, error) {
	found, err := s.registry.resolve(calls)
	if err != nil {
		return nil, err
	}
	nodes, err := s.prepare(ctx, found)
	if err != nil {
		return nil, err
	}
	return nodes, nil
}

// prepare makes the tasks of programs and fills their coordinates, each once. The
// plain form of a machine's own keys counts in a run of one machine alone.
func (s *Session) prepare(ctx context.Context, programs []called) ([]*node, error) {
	nodes := make([]*node, 0, len(programs))
	var leaves []*node
	var problems, unusable []error
	if s.malformed != nil {
		problems = append(problems, s.malformed)
	}
	every := map[string]bool{}
	for _, c := range programs {
		n := s.nodeOf(c.program)
		if n.arguments != nil && !slices.Equal(n.arguments, c.arguments) {
			unusable = append(unusable, fmt.Errorf("%s: a run has it once, and it was given two sets of arguments", c.program.Name))
		}
		n.arguments = append([]string{}, c.arguments...)
		nodes = append(nodes, n)
		leaves = append(leaves, n.leaves()...)
	}
	spans := map[string]bool{}
	for _, c := range programs {
		spans[c.program.Group] = true
	}
	for _, leaf := range leaves {
		every[leaf.program.Group+" "+leaf.program.Machine] = true
		spans[leaf.program.Group] = true
	}
	var declared []any
	owners := map[string]bool{} // of forms of keys
	hints := []string{"slipway help PROGRAM shows every key that a program reads"}
	for _, leaf := range leaves {
		if leaf.loaded {
			continue
		}
		leaf.loaded = true
		owners[leaf.program.Machine], owners[leaf.program.Group] = true, true
		scope := s.registry.scopeOf(leaf.program, len(every) == 1, len(spans) > 1)
		leaf.environment = s.environment.Within(scope.Group)
		unclear, barred := leaf.layer(ctx, scope)
		switch { // what the program reads follows from its layers
		case barred != nil && len(problems) > 0:
			return nil, &report.Fault{Code: report.Usage, What: "read the coordinates", Why: errors.Join(env.Join(problems...), barred), Hint: strings.Join(hints, "; ")}
		case barred != nil:
			return nil, barred
		}
		declared = append(declared, &source.Keys{})
		declared = append(declared, leaf.task.Coordinates()...)
		malformed, refused := leaf.load(ctx, scope)
		malformed = env.Join(unclear, malformed)
		if malformed != nil {
			problems = append(problems, malformed)
			if len(s.registry.Arguments(leaf.program)) > 0 && leaf.label == "" {
				hints = append(hints, "usage: slipway "+s.registry.Usage(leaf.program))
			}
		}
		if refused != nil {
			unusable = append(unusable, fmt.Errorf("%s: %w", leaf.program.Name, refused))
		}
	}
	if len(problems) > 0 {
		// What is missing may be there under a name with a slip in it.
		if err := s.warnOfTypos(append(declared, &s.keys), owners); err != nil {
			return nil, err
		}
		return nil, &report.Fault{Code: report.Usage, What: "read the coordinates", Why: env.Join(problems...), Hint: strings.Join(hints, "; ")}
	}
	if err := errors.Join(unusable...); err != nil {
		return nil, &report.Fault{Code: report.Usage, What: "check the coordinates", Why: err, Hint: "nothing was started"}
	}
	if len(declared) == 0 {
		return nodes, nil // all of them were prepared before
	}
	return nodes, s.warnOfTypos(append(declared, &s.keys), owners)
}

// scopeOf says for whom the keys of a program are read: it is alone where its run has
// no other machine, and may be among programs of other groups.
func (r *Registry) scopeOf(p Program, alone, among bool) env.For {
	return env.For{
		Machine: p.Machine, Alone: alone,
		Group: env.Group{Name: p.Group, Sole: len(r.groupOf(p.Group).Machines) == 1, Among: among},
	}
}

// load fills the coordinates of a leaf. It says what is missing or malformed, or
// why the task can't use them.
func (n *node) load(ctx context.Context, scope env.For) (malformed, refused error) {
	environment, err := n.give(n.environment, scope)
	n.environment = environment
	if err := env.Join(err, environment.Load(ctx, scope, n.task.Coordinates()...)); err != nil {
		return err, nil
	}
	refused = n.recall(ctx, environment, scope)
	if checker, ok := n.task.(task.Checker); ok {
		refused = errors.Join(refused, checker.Check(environment))
	}
	return nil, refused
}

func (s *Session) warnOfTypos(declared []any, owners map[string]bool) error {
	keys, err := env.Declared(declared...)
	if err != nil {
		return fmt.Errorf("declared keys: %w", err)
	}
	names := make([]string, 0, len(owners))
	for name := range owners {
		names = append(names, name)
	}
	for _, typo := range s.environment.Typos(keys, names) {
		s.log.Warnf("%s", typo)
	}
	return nil
}

// taskOf makes the task of a program that is no aggregate.
func (r *Registry) taskOf(p Program) task.Task {
	return r.taskIn(p, r.groupOf(p.Group))
}

// taskIn makes it of a group whose declarations come from elsewhere.
func (r *Registry) taskIn(p Program, group groups.Group) task.Task {
	if p.Kind == Standalone {
		i := slices.IndexFunc(r.effects, func(e effects.Effect) bool { return e.Name() == p.Effect })
		return r.effects[i].Task(group, p.Verb)
	}
	machine, _ := machineOf(group, p.Machine)
	d := methods.Deployment{Group: group, Machine: machine}
	if p.Kind == System {
		return r.system(d)
	}
	return r.methods[p.Method].Task(d, p.Verb)
}
