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
}

// Task is something that can be called and is no program: it deploys nothing.
type Task struct {
	Name        string // "checks-all"; the Mage target "checks:all" means it too
	Description string // one line
	Keys        []any  // structs of the keys it reads, for its help
	Run         func(ctx context.Context, call Call) error
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

// streams are the ones of this process.
func streams() program.Streams {
	s := program.Streams{Out: os.Stdout, Err: os.Stderr}
	if fd := int(os.Stderr.Fd()); term.IsTerminal(fd) {
		s.Width = func() int {
			width, _, err := term.GetSize(fd)
			if err != nil {
				return 80 //nolint:mnd // what a terminal has that does not say
			}
			return width
		}
	}
	return s
}

// Run runs one program or task, for a target that Mage's own main runs. The
// error says its own exit code; Mage prints it.
func Run(ctx context.Context, f Front, name string) error {
	session, err := f.open(ctx, env.Process())
	if err != nil {
		return report.Wrap(err)
	}
	defer session.Close()
	return report.Wrap(f.run(ctx, session, []string{name}))
}

// open makes the session of this process.
func (f Front) open(ctx context.Context, environment env.Environment) (*program.Session, error) {
	registry, err := f.Registry()
	if err != nil {
		return nil, err
	}
	return registry.NewSession(ctx, environment, streams())
}

// run runs programs and tasks by their names, in order, and stops at the first
// that does not end well. Every name is looked up and every coordinate is read
// before anything starts.
func (f Front) run(ctx context.Context, session *program.Session, names []string) error {
	if err := session.Check(ctx, f.programs(names)...); err != nil {
		return err
	}
	for len(names) > 0 {
		if t, ok := f.task(names[0]); ok {
			if err := t.Run(ctx, Call{Environment: session.Environment(), Log: session.Log().For(t.Name), Out: session.Out()}); err != nil {
				return err
			}
			names = names[1:]
			continue
		}
		n := 0
		for n < len(names) && !f.isTask(names[n]) {
			n++
		}
		if err := session.Run(ctx, names[:n]...); err != nil {
			return err
		}
		names = names[n:]
	}
	return nil
}

func (f Front) isTask(name string) bool {
	_, ok := f.task(name)
	return ok
}

// programs are those of names that are no tasks.
func (f Front) programs(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), f.isTask)
}

// explain says an error to a person or a program that reads events: what, where
// and why, and what to do.
func explain(log *report.Log, err error) {
	log.Troublef("%s", err)
	for _, hint := range report.Hints(err) {
		log.Infof("hint: %s", hint)
	}
}

// plainly is the log of what goes wrong before there is a session.
func plainly() *report.Log { return report.NewLog(report.Plain(os.Stderr)) }
