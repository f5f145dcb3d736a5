package front

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/groups"
	"fediversity.eu/slipway/internal/child"
	"fediversity.eu/slipway/internal/disposition"
	"fediversity.eu/slipway/methods"
	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/program"
	"fediversity.eu/slipway/targets/report"
	"fediversity.eu/slipway/targets/task"
)

// The tests run this test binary as if it were the program, since a front reads
// the process's arguments, takes its signals and gives its exit code.

// Roles of the test binary, by the variable of that name.
const (
	roleKey    = "FRONT_TEST_ROLE"
	asMain     = "main"   // the main of a binary
	asMage     = "mage"   // a magefile, whose own main is reached with leftToMage
	asBroken   = "broken" // the main of a binary whose declarations have faults
	leftToMage = 99
)

func TestMain(m *testing.M) {
	switch os.Getenv(roleKey) {
	case asMain:
		os.Exit(int(Main(fixture(), os.Args)))
	case asMage:
		Hook(fixture())
		os.Exit(leftToMage)
	case asBroken:
		broken := fixture()
		broken.Registry = func() (*program.Registry, error) { return nil, errors.New("declarations: two faults") }
		os.Exit(int(Main(broken, os.Args)))
	}
	disposition.Default()
	os.Exit(m.Run())
}

// fixture is a front with two machines and two tasks.
func fixture() Front {
	machine := func(name string) groups.Machine {
		return groups.Machine{Name: name, Description: "a machine", Modules: []string{"x.nix"}, Placement: groups.External{}}
	}
	declared := []groups.Group{{
		Name: "hosting-provider", Description: "machines of a test", Methods: []string{"ssh"},
		Machines: []groups.Machine{machine("web"), machine("db")},
	}}
	return Front{
		Registry: func() (*program.Registry, error) {
			return program.New(declared, []methods.Method{way{}}, func(d methods.Deployment) task.Task { return &work{d: d} })
		},
		Targets: []Target{{Name: "checks:all", Description: "runs all"}, {Name: "programs:list", Description: "lists them"}},
		Binary:  func(context.Context, env.Environment, *report.Log) (string, error) { return os.Executable() },
		Tasks: []Task{
			{
				Name: "checks-all", Description: "runs every check", Keys: []any{struct {
					Parts env.Text `env:"CHECKS_PARTS" desc:"parts that must be there"`
				}{}},
				Run: func(_ context.Context, call Call) error {
					call.Log.Infof("checking")
					_, err := fmt.Fprintln(call.Out, "checked")
					return err
				},
			},
			{
				Name: "setup", Description: "sets a host up",
				Run: func(context.Context, Call) error {
					return report.Refuse("set up", errors.New("not\x1b[2J root"), "try again as root")
				},
			},
		},
	}
}

// way is a method whose verbs are what a test needs.
type way struct{}

func (way) Name() string        { return "ssh" }
func (way) Description() string { return "deploys nothing" }
func (way) Verbs(groups.Placement) []task.Verb {
	return []task.Verb{
		{Name: task.Apply, Description: "deploys"},
		{Name: "refuse", Description: "refuses"},
		{Name: "wait", Description: "waits for the end of"},
		{Name: "stay", Description: "stays after the end of"},
		{Name: "rollback", Description: "takes back", Arguments: []task.Argument{{Key: "FAKE_GENERATION", Optional: true}}},
	}
}
func (way) Task(d methods.Deployment, verb string) task.Task { return &work{d: d, verb: verb} }

type work struct {
	d    methods.Deployment
	verb string
	keys struct {
		Host  env.Host   `env:"FAKE_HOST,required" scope:"machine" desc:"name or address of the machine"`
		Port  env.Port   `env:"FAKE_PORT,default=22" desc:"port of its server"`
		Token env.Secret `env:"FAKE_TOKEN" desc:"what opens the machine"`
	}
	back struct {
		Generation env.Count `env:"FAKE_GENERATION,default=1" desc:"generation to go back to"`
	}
}

func (t *work) Coordinates() []any {
	if t.verb == "rollback" {
		return []any{&t.back}
	}
	if t.d.Machine.Name != "db" {
		return nil
	}
	return []any{&t.keys}
}

// stay runs a child that does not stop when asked, and a grandchild in a session
// of its own, which says its number.
func (t *work) stay(run *task.Run) error {
	return child.Command{
		Path: "/bin/sh", Env: []string{"PATH=/usr/bin:/bin"}, Stdout: run.Out,
		Args: []string{"-c", `trap "" TERM INT; setsid sh -c 'echo $0 stays $$; while :; do sleep 0.1; done' "$0" & wait`, t.d.Machine.Name},
	}.Run(context.Background())
}

func (t *work) Run(ctx context.Context, run *task.Run) error {
	say := func(text string) { _, _ = fmt.Fprintf(run.Out, "%s %s\n", t.d.Machine.Name, text) }
	switch t.verb {
	case "refuse":
		return report.Refuse("deploy", fmt.Errorf("token %s is wrong", t.keys.Token.Reveal()), "ask for another")
	case "rollback":
		say(fmt.Sprint("goes back to ", t.back.Generation))
		return nil
	case "wait", "stay":
		say("waits")
		<-ctx.Done()
		if t.verb == "stay" {
			return t.stay(run)
		}
		return fmt.Errorf("wait: %w", context.Cause(ctx))
	}
	run.Log.Infof("deploying")
	say("deployed")
	return nil
}

// outcome is what a process left behind.
type outcome struct {
	code int
	out  string
	err  string
}

// call makes the command of a process. words[0] is the name it is called by.
func call(t *testing.T, role string, variables []string, words ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	assert.NilError(t, err)
	cmd := exec.CommandContext(limited(t), self)
	cmd.WaitDelay = time.Second
	cmd.Args = words
	// A binary with the race detector would pause for a second at its end, and one
	// that counts coverage would warn of a folder that it lacks.
	cmd.Env = append([]string{roleKey + "=" + role, "GORACE=atexit_sleep_ms=0", "GOCOVERDIR=" + t.TempDir()}, variables...)
	return cmd
}

// byShell makes the command of a process that a shell becomes, as script says: "$@"
// is the call.
func byShell(t *testing.T, script string, variables []string, words ...string) *exec.Cmd {
	t.Helper()
	self := call(t, asMain, variables, words...)
	cmd := exec.CommandContext(limited(t), "/bin/sh", append([]string{"-c", script, "sh", self.Path}, words[1:]...)...)
	cmd.WaitDelay, cmd.Env = time.Second, append(self.Env, "PATH=/usr/bin:/bin")
	return cmd
}

// limited is a context that ends when nothing that a test waits for can come any
// more, on the slowest of hosts.
func limited(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// run runs a process to its end.
func run(t *testing.T, role string, variables []string, words ...string) outcome {
	t.Helper()
	var out, errs bytes.Buffer
	cmd := call(t, role, variables, words...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		assert.NilError(t, err)
	}
	return outcome{code: cmd.ProcessState.ExitCode(), out: out.String(), err: errs.String()}
}

// signalled runs a process, and sends it a signal after each line it writes.
func signalled(t *testing.T, role string, signal syscall.Signal, words ...string) outcome {
	t.Helper()
	var errs bytes.Buffer
	cmd := call(t, role, nil, words...)
	cmd.Stderr = &errs
	pipe, err := cmd.StdoutPipe()
	assert.NilError(t, err)
	assert.NilError(t, cmd.Start())
	defer context.AfterFunc(limited(t), func() { _ = pipe.Close() })() // what holds it may outlive the process
	var out strings.Builder
	for lines := bufio.NewScanner(pipe); lines.Scan(); {
		out.WriteString(lines.Text() + "\n")
		assert.NilError(t, cmd.Process.Signal(signal))
	}
	_ = cmd.Wait() // its exit code is asked for below
	return outcome{code: cmd.ProcessState.ExitCode(), out: out.String(), err: errs.String()}
}
