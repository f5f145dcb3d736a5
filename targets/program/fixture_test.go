package program

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/groups"
	"fediversity.eu/slipway/methods"
	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/task"
)

// fake is a method that deploys nothing and keeps what it was asked for.
type fake struct {
	name        string
	description string
	verbs       func(groups.Placement) []task.Verb
	keys        func() []any                                             // coordinates of a task
	forVerb     func(verb string) []any                                  // further ones of a verb
	do          func(ctx context.Context, task *work, r *task.Run) error // nil does nothing, well

	mu     sync.Mutex
	events []string // "start web apply", "end web apply"
}

var _ methods.Method = (*fake)(nil)

// newFake is a method with three verbs, whatever the placement.
func newFake(name string) *fake {
	return &fake{name: name, description: "deploys nothing", verbs: verbs(task.Apply, "destroy", "plan")}
}

func verbs(names ...string) func(groups.Placement) []task.Verb {
	var list []task.Verb
	for _, name := range names {
		list = append(list, task.Verb{Name: name, Description: name + "s"})
	}
	return func(groups.Placement) []task.Verb { return list }
}

func (f *fake) Name() string                         { return f.name }
func (f *fake) Description() string                  { return f.description }
func (f *fake) Verbs(p groups.Placement) []task.Verb { return f.verbs(p) }
func (f *fake) Task(d methods.Deployment, v string) task.Task {
	t := &work{method: f, machine: d.Machine.Name, verb: v}
	if f.keys != nil {
		t.keys = f.keys()
	}
	if f.forVerb != nil {
		t.keys = append(t.keys, f.forVerb(v)...)
	}
	return t
}

func (f *fake) note(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.events = append(f.events, fmt.Sprintf(format, args...))
}

// seen is what happened up to now.
func (f *fake) seen() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.events)
}

// starts lists the machines whose tasks were started, sorted.
func (f *fake) starts() []string {
	var started []string
	for _, event := range f.seen() {
		if words := strings.Fields(event); words[0] == "start" {
			started = append(started, words[1])
		}
	}
	slices.Sort(started)
	return started
}

// task is one run of a verb of a fake.
type work struct {
	method  *fake
	machine string
	verb    string
	keys    []any
}

func (t *work) Coordinates() []any { return t.keys }

func (t *work) Run(ctx context.Context, run *task.Run) error {
	t.method.note("start %s %s", t.machine, t.verb)
	defer t.method.note("end %s %s", t.machine, t.verb)
	if t.method.do == nil {
		return nil
	}
	return t.method.do(ctx, t, run)
}

// hostKeys are coordinates with one that every machine needs.
type hostKeys struct {
	Host  env.Host   `env:"FAKE_HOST,required" scope:"machine" desc:"name or address of the machine"`
	Port  env.Port   `env:"FAKE_PORT,default=22" desc:"port of its server"`
	Token env.Secret `env:"FAKE_TOKEN" desc:"what opens the machine"`
}

func withHostKeys() []any { return []any{&hostKeys{}} }

// machine is a published machine with all that a declaration must have.
func machine(name string, needs ...string) groups.Machine {
	return groups.Machine{
		Name: name, Description: "a machine", Modules: []string{name + ".nix"}, Placement: groups.External{}, Needs: needs,
	}
}

func internal(name string, needs ...string) groups.Machine {
	m := machine(name, needs...)
	m.Internal = true
	return m
}

// group is a group with all that a declaration must have.
func group(name string, ways []string, machines ...groups.Machine) groups.Group {
	return groups.Group{Name: name, Description: "machines of a test", Methods: ways, Machines: machines}
}

// noSystem makes the system of a machine, which is its name.
func noSystem(d methods.Deployment) task.Task {
	return &work{method: newFake("system"), machine: d.Machine.Name}
}

func registryOf(t testing.TB, ways []methods.Method, declared ...groups.Group) *Registry {
	t.Helper()
	r, err := New(declared, ways, noSystem)
	assert.NilError(t, err)
	return r
}

// worlds counts worlds: Mage remembers dependencies by name for as long as the
// process lives, and tests are many in one.
var worlds atomic.Int64

// world is a registry of one group with one method, "ssh".
type world struct {
	t        *testing.T
	group    string
	ssh      *fake
	registry *Registry
}

func newWorld(t *testing.T, machines ...groups.Machine) *world {
	t.Helper()
	w := &world{t: t, group: fmt.Sprintf("g%d", worlds.Add(1)), ssh: newFake("ssh")}
	w.registry = registryOf(t, []methods.Method{w.ssh}, group(w.group, []string{"ssh"}, machines...))
	return w
}

// name is the name of a program of the world's group.
func (w *world) name(rest string) string { return w.group + "-" + rest }

// outcome is what a session left behind.
type outcome struct {
	err error
	out string // results
	log string // events
}

// run runs programs of the group in a session of their own.
func (w *world) run(ctx context.Context, variables map[string]string, rests ...string) outcome {
	w.t.Helper()
	var names []string
	for _, rest := range rests {
		names = append(names, w.name(rest))
	}
	return w.runNames(ctx, variables, names...)
}

func (w *world) runNames(ctx context.Context, variables map[string]string, names ...string) outcome {
	w.t.Helper()
	return w.runCalls(ctx, variables, callsOf(names...)...)
}

func (w *world) runCalls(ctx context.Context, variables map[string]string, calls ...Call) outcome {
	w.t.Helper()
	var out, log bytes.Buffer
	session, err := w.registry.NewSession(ctx, env.Map(variables), Streams{Out: &out, Err: &log})
	assert.NilError(w.t, err)
	err = session.Run(ctx, calls...)
	session.Close()
	return outcome{err: err, out: out.String(), log: log.String()}
}

// callsOf are calls without arguments.
func callsOf(names ...string) []Call {
	var calls []Call
	for _, name := range names {
		calls = append(calls, Call{Name: name})
	}
	return calls
}

// rows is what the table of an aggregate says of one member.
func (o outcome) rows(member string) string {
	for line := range strings.Lines(o.log) {
		words := strings.Fields(line)
		if len(words) > 1 && words[1] == member {
			return strings.Join(words[2:], " ")
		}
	}
	return ""
}
