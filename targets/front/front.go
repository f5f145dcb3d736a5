// Package front is where a command line becomes a run: the hook of a magefile
// and the main of a binary. Names, signals and exit codes are decided here, and
// are the same whichever way a program was called.
package front

import (
	"context"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/term"

	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/program"
	"fediversity.eu/slipway/targets/report"
)

// Front is what can be called: the programs of a registry, and tasks beside
// them.
type Front struct {
	Registry func() (*program.Registry, error)
	Tasks    []Task
	// Targets are further targets of the magefile, which the binary does not run:
	// completion offers them after the word mage.
	Targets []Target
	// Helper is what else this binary may have been started as, by itself and
	// under another name: it is asked before anything is read. Whoever has the
	// method tf gives methods/tofu/supervisor.Main. It may be nil.
	Helper func(args []string) (code int, ours bool)
	// Binary gives the path of a binary of all programs that stays where it is, for
	// apps and shells. A binary is one itself and may leave it nil; a magefile is
	// not.
	Binary func(ctx context.Context, environment env.Environment, log *report.Log) (string, error)
}

// helped runs the helper, if this process is one.
func (f Front) helped(args []string) (report.Code, bool) {
	if f.Helper == nil {
		return 0, false
	}
	code, ours := f.Helper(args)
	return report.Code(code), ours
}

// Task is something that can be called and is no program: it deploys nothing.
type Task struct {
	Name        string // "checks-all"; the Mage target "checks:all" means it too
	Description string // one line
	Keys        []any  // structs of the keys it reads, for its help
	Run         func(ctx context.Context, call Call) error
}

// Target is a target that only Mage knows.
type Target struct {
	Name        string // "checks:all"
	Description string // one line
}

// Call is what a task is given.
type Call struct {
	Environment env.Environment
	Log         *report.Log
	Out         io.Writer
}

// Target is the Mage target of the task.
func (t Task) Target() string {
	space, rest, ok := strings.Cut(t.Name, "-")
	if !ok {
		return t.Name
	}
	return program.Target(space, space+"-"+rest)
}

func (f Front) task(name string) (Task, bool) {
	for _, t := range f.Tasks {
		if strings.EqualFold(t.Name, name) || strings.EqualFold(t.Target(), name) {
			return t, true
		}
	}
	return Task{}, false
}

// streams are the ones of this process. A terminal gets lines alone when results
// go into a pipe: whoever reads them there may write to the same terminal, and
// knows nothing of what moves on it.
func streams() program.Streams {
	s := program.Streams{Out: os.Stdout, Err: os.Stderr}
	out, err := os.Stdout.Stat()
	piped := err == nil && out.Mode()&os.ModeNamedPipe != 0
	if fd := int(os.Stderr.Fd()); !piped && term.IsTerminal(fd) {
		s.Size = func() (int, int) {
			columns, rows, err := term.GetSize(fd)
			if err != nil {
				return 0, 0 // it does not say
			}
			return columns, rows
		}
	}
	return s
}

// Run runs one program or task, for a target that Mage's own main runs. The
// error says its own exit code; Mage prints it.
func Run(ctx context.Context, f Front, name string) error {
	_, session, err := f.open(ctx, env.Process())
	if err != nil {
		return report.Wrap(err)
	}
	defer session.Close()
	return report.Wrap(f.run(ctx, session, []program.Call{{Name: name}}))
}

// open makes the session of this process.
func (f Front) open(ctx context.Context, environment env.Environment) (*program.Registry, *program.Session, error) {
	registry, err := f.Registry()
	if err != nil {
		return nil, nil, err
	}
	session, err := registry.NewSession(ctx, environment, streams())
	return registry, session, err
}

// run runs programs and tasks in order, and stops at the first that does not end
// well. Every name is looked up and every coordinate is read before anything
// starts.
func (f Front) run(ctx context.Context, session *program.Session, calls []program.Call) error {
	isTask := func(call program.Call) bool { return f.isTask(call.Name) }
	if err := session.Check(ctx, slices.DeleteFunc(slices.Clone(calls), isTask)...); err != nil {
		return err
	}
	for len(calls) > 0 {
		n := slices.IndexFunc(calls, isTask)
		var err error
		switch n {
		case 0:
			n, err = 1, f.runTask(ctx, session, calls[0].Name)
		case -1:
			n = len(calls)
			fallthrough
		default:
			err = session.Run(ctx, calls[:n]...)
		}
		if err != nil {
			return err
		}
		calls = calls[n:]
	}
	return nil
}

func (f Front) runTask(ctx context.Context, session *program.Session, name string) error {
	t, _ := f.task(name)
	log, began := session.Log().For(t.Name), time.Now()
	log.Start()
	err := session.Delivered(t.Run(ctx, Call{Environment: session.Environment(), Log: log, Out: session.Out()}))
	if err != nil {
		log.Troublef("%s", err)
		err = &report.Exit{Code: report.CodeOf(err), Err: err, Told: true}
	}
	code := report.CodeOf(err)
	words := code.String()
	if err == nil {
		words = report.Done
	}
	log.End(report.Outcome{Code: code, Words: words, Took: time.Since(began)})
	return err
}

func (f Front) isTask(name string) bool {
	_, ok := f.task(name)
	return ok
}

// explain says of an error what was not said yet, and what to do.
func explain(log *report.Log, err error) {
	if !report.Told(err) {
		log.Troublef("%s", err)
	}
	for _, hint := range report.Advice(err) {
		log.Infof("hint: %s", hint)
	}
}

// plainly is the log of what goes wrong before there is a session.
func plainly() *report.Log { return program.Speak(context.Background(), env.Process(), os.Stderr) }
