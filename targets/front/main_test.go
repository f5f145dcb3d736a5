package front

import (
	"bufio"
	"bytes"
	"os"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"
	"gotest.tools/v3/poll"
)

const listed = `hosting-provider-all-apply               deploys every published machine of hosting-provider by ssh`

func TestMainOfABinary(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name      string
		words     []string // the first is the name it is called by
		variables []string
		code      int
		out       string   // whole, where it begins with "="
		err       []string // what it says
	}{
		{"no words are a question", []string{"slipway"}, nil, 0, "slipway list [WORD…]", nil},
		{"help", []string{"slipway", "help"}, nil, 0, "checks-all               runs every check", nil},
		{"help as a flag", []string{"slipway", "--help"}, nil, 0, "Exit codes: 0 healthy", nil},
		{"version", []string{"slipway", "version"}, nil, 0, "slipway ", nil},

		{"a program", []string{"slipway", "hosting-provider-ssh-web-apply"}, nil, 0, "=web deployed\n", []string{"[hosting-provider-ssh-web-apply] deploying"}},
		{"a program by its short name", []string{"slipway", "hosting-provider-ssh-web"}, nil, 0, "=web deployed\n", nil},
		{"a program by its Mage target", []string{"slipway", "hostingprovider:sshWeb"}, nil, 0, "=web deployed\n", nil},
		{"run", []string{"slipway", "run", "hosting-provider-ssh-web"}, nil, 0, "=web deployed\n", nil},
		{"a task", []string{"slipway", "checks-all"}, nil, 0, "=checked\n", []string{"[checks-all] checking"}},
		{"a task by its Mage target", []string{"slipway", "checks:ALL"}, nil, 0, "=checked\n", nil},
		{"programs and tasks in order", []string{"slipway", "checks-all", "hosting-provider-ssh-web", "checks-all"}, nil, 0, "=checked\nweb deployed\nchecked\n", nil},

		{"an unknown command", []string{"slipway", "lisst"}, nil, 2, "=", []string{`unknown program "lisst"`, "hint: slipway list shows every program"}},
		{"an unknown program", []string{"slipway", "hosting-provider-ssh-wbe"}, nil, 2, "=", []string{`unknown program "hosting-provider-ssh-wbe"; close are hosting-provider-ssh-web`}},
		{"an unknown program after a known one", []string{"slipway", "hosting-provider-ssh-web", "nobody"}, nil, 2, "=", []string{`unknown program "nobody"`}},
		{"an unknown program after a task", []string{"slipway", "run", "checks-all", "nobody"}, nil, 2, "=", []string{`unknown program "nobody"`}},
		{"an unknown flag", []string{"slipway", "--fast"}, nil, 2, "=", []string{"unknown flag --fast", "hint: slipway help says what it takes"}},
		{"an unknown flag after a program", []string{"slipway", "hosting-provider-ssh-web", "--fast"}, nil, 2, "=", []string{"--fast"}},
		{"run without a program", []string{"slipway", "run"}, nil, 2, "=", []string{"no program named"}},
		{"a missing coordinate", []string{"slipway", "hosting-provider-ssh-db"}, nil, 2, "=", []string{"FAKE_HOST: missing", "hint: slipway help PROGRAM"}},
		{"a malformed coordinate of every program", []string{"slipway", "hosting-provider-ssh-web"}, []string{"PARALLELISM=0"}, 2, "=", []string{"PARALLELISM"}},
		{"malformed coordinates of every program, and missing ones of this", []string{"slipway", "check", "hosting-provider-ssh-db"}, []string{"PARALLELISM=0", "REPORT=/no/folder/record.json"}, 2, "=", []string{"3 environment keys are", "PARALLELISM", "REPORT", "FAKE_HOST: missing"}},
		{"a malformed coordinate of every program, with a task", []string{"slipway", "checks-all"}, []string{"PARALLELISM=0"}, 2, "=", []string{"PARALLELISM"}},
		{"a refusal", []string{"slipway", "hosting-provider-ssh-web-refuse"}, nil, 4, "=", []string{"error: deploy: token  is wrong", "hint: ask for another"}},
		{"a refusal of a task", []string{"slipway", "setup"}, nil, 4, "=", []string{"error: set up: not", "hint: try again as root"}},
		{"a failure ends the command line", []string{"slipway", "setup", "checks-all"}, nil, 4, "=", nil},

		{"an argument", []string{"slipway", "hosting-provider-ssh-web-rollback", "12"}, nil, 0, "=web goes back to 12\n", nil},
		{"an argument that was left out", []string{"slipway", "hosting-provider-ssh-web-rollback"}, nil, 0, "=web goes back to 1\n", nil},
		{"an argument of a target", []string{"slipway", "run", "hostingProvider:sshWebRollback", "12"}, nil, 0, "=web goes back to 12\n", nil},
		{"arguments, programs and tasks", []string{"slipway", "hosting-provider-ssh-web-rollback", "12", "checks-all", "hosting-provider-ssh-db-rollback", "hosting-provider-ssh-web"}, nil, 0, "=web goes back to 12\nchecked\ndb goes back to 1\nweb deployed\n", nil},
		{"an argument and another value of its key", []string{"slipway", "hosting-provider-ssh-web-rollback", "12"}, []string{"FAKE_GENERATION=7"}, 2, "=", []string{`FAKE_GENERATION: "7", and "12" as an argument`}},
		{"an argument too many", []string{"slipway", "hosting-provider-ssh-web-rollback", "12", "13"}, nil, 2, "=", []string{`"13" is one argument too many; usage: slipway hosting-provider-ssh-web-rollback [FAKE_GENERATION]`}},
		{"a verb with arguments in a list", []string{"slipway", "list", "web-rollback"}, nil, 0, "=hosting-provider-ssh-web-rollback [FAKE_GENERATION] takes back hosting-provider's web by ssh: a machine\n", nil},
		{"help of a verb with arguments", []string{"slipway", "help", "hosting-provider-ssh-web-rollback"}, nil, 0, "hosting-provider-ssh-web-rollback [FAKE_GENERATION] (mage hostingProvider:sshWebRollback)\n", nil},
		{"called by its name with an argument", []string{"hosting-provider-ssh-web-rollback", "12"}, nil, 0, "=web goes back to 12\n", nil},
		{"called by its name with one too many", []string{"hosting-provider-ssh-web-rollback", "12", "hosting-provider-ssh-db"}, nil, 2, "=", []string{"one argument too many"}},

		{"the schema of a record", []string{"slipway", "schema", "record"}, nil, 0, `"title": "Record of a Slipway run"`, nil},
		{"the schema of an event", []string{"slipway", "schema", "event"}, nil, 0, `"title": "Event of a Slipway run`, nil},
		{"the schema of nothing", []string{"slipway", "schema"}, nil, 2, "=", []string{"schema: which? there are record", "event"}},
		{"the module of all groups", []string{"slipway", "module"}, nil, 0, `"version": 1`, nil},
		{"the module of no group", []string{"slipway", "module", "none"}, nil, 2, "=", []string{`module: unknown group "none"; there are `}},

		{"the schema of the contract", []string{"slipway", "schema", "contract"}, nil, 0, `"title": "Contract of Slipway's programs`, nil},

		{"a check of what would be accepted", []string{"slipway", "check", "hosting-provider-ssh-web", "hostingProvider:sshWebRollback", "3"}, nil, 0, "=hosting-provider-ssh-web-apply: accepted\nhosting-provider-ssh-web-rollback 3: accepted\n", nil},
		{"a check of what is missing", []string{"slipway", "check", "hosting-provider-ssh-db"}, nil, 2, "=", []string{"FAKE_HOST: missing"}},
		{"a check of an unknown program", []string{"slipway", "check", "hosting-provider-ssh-wbe"}, nil, 2, "=", []string{"close are hosting-provider-ssh-web"}},
		{"a check of nothing", []string{"slipway", "check"}, nil, 2, "=", []string{"check: no program named"}},

		{"a shell of a deployment without a terminal", []string{"slipway", "shell", "hosting-provider-ssh-web"}, []string{"SHELL=/bin/bash"}, 2, "=", []string{"standard input is no terminal"}},
		{"an app as a shell", []string{"hosting-provider-ssh-web", "--shell"}, []string{"SHELL=/bin/bash"}, 2, "=", []string{"standard input is no terminal"}},
		{"a shell that we have nothing for", []string{"slipway", "shell", "hosting-provider-ssh-web"}, []string{"SHELL=/bin/dash"}, 2, "=", []string{"SHELL is /bin/dash", "hint: set SHELL to the path of one of bash, fish, zsh"}},
		{"a shell that is not there", []string{"slipway", "shell", "hosting-provider-ssh-web"}, []string{"SHELL=/nonexistent/zsh"}, 2, "=", []string{"SHELL: stat /nonexistent/zsh"}},
		{"no shell", []string{"slipway", "shell", "hosting-provider-ssh-web"}, nil, 2, "=", []string{"SHELL is not set"}},
		{"a shell of nobody", []string{"slipway", "shell", "hosting-provider-ssh-wbe"}, []string{"SHELL=/bin/bash"}, 2, "=", []string{"close are hosting-provider-ssh-web"}},
		{"a shell of a system", []string{"slipway", "shell", "hosting-provider-web"}, []string{"SHELL=/bin/bash"}, 2, "=", []string{"hosting-provider-web has no verbs"}},
		{"a shell of nothing", []string{"slipway", "shell"}, nil, 2, "=", []string{"name one program"}},
		{"tofu of a deployment without", []string{"slipway", "tofu", "hosting-provider-ssh-web", "plan"}, nil, 2, "=", []string{"keeps no state by it"}},

		{"a word that is typed", []string{"slipway", "complete", "zsh", "hosting-provider-ssh-web-ref"}, nil, 0, "=hosting-provider-ssh-web-refuse\trefuses hosting-provider's web by ssh: a machine\n", nil},
		{"a word that is typed in bash", []string{"slipway", "complete", "bash", "run", "hosting-provider-ssh-web-ref"}, nil, 0, "=hosting-provider-ssh-web-refuse\n", nil},
		{"a target that is typed", []string{"slipway", "complete", "bash", "hostingProvider:sshWebRef"}, nil, 0, "=hostingProvider:sshWebRefuse\n", nil},
		{"a target that is typed for mage", []string{"slipway", "complete", "bash", "--mage", "ch"}, nil, 0, "=check\nchecks:all\n", nil},
		{"a target of the magefile alone", []string{"slipway", "complete", "fish", "--mage", "pr"}, nil, 0, "=programs:list\tlists them\n", nil},
		{"a target that is a task too is offered once", []string{"slipway", "complete", "fish", "--mage", "checks:"}, nil, 0, "=checks:all\truns every check\n", nil},
		{"a target of the magefile alone is none of the binary", []string{"slipway", "complete", "bash", "programs:"}, nil, 0, "=", nil},
		{"a command's variable that is typed", []string{"slipway", "complete", "bash", "help", "GRAPH_FO"}, nil, 0, "=GRAPH_FORMAT\n", nil},
		{"a key that is typed", []string{"slipway", "complete", "bash", "help", "FAKE_"}, nil, 0, "=FAKE_GENERATION\nFAKE_HOST\nFAKE_PORT\nFAKE_TOKEN\n", nil},
		{"a command that is typed", []string{"slipway", "complete", "bash", "comp"}, nil, 0, "=completion\n", nil},
		{"a command for nobody is not offered", []string{"slipway", "complete", "bash", "complete"}, nil, 0, "=", nil},
		{"a deployment that is typed", []string{"slipway", "complete", "bash", "shell", "hosting-provider-ssh-"}, nil, 0, "=hosting-provider-ssh-all\nhosting-provider-ssh-combined\nhosting-provider-ssh-db\nhosting-provider-ssh-web\n", nil},
		{"nothing that could be typed", []string{"slipway", "complete", "bash", "shell", "hosting-provider-ssh-web", ""}, nil, 0, "=", nil},
		{"a question of no script", []string{"slipway", "complete"}, nil, 2, "=", nil},
		{"a script for fish", []string{"/srv/my-slipway", "completion", "fish"}, nil, 0, "complete -c my-slipway -f -a '(__my_slipway)'", nil},
		{"a script for nobody", []string{"slipway", "completion", "csh"}, nil, 2, "=", []string{"there are bash, fish and zsh"}},
		{"a script by its path", []string{"slipway", "completion", "../completion/fish"}, nil, 2, "=", []string{"there are bash, fish and zsh"}},
		{"the manual page", []string{"slipway", "man"}, nil, 0, ".SH EXIT STATUS\n", nil},
		{"help of a variable", []string{"slipway", "help", "FAKE_TOKEN_FILE"}, nil, 0, "=  FAKE_TOKEN\n      what opens the machine\n      (secret text of at least 4 bytes; secret, or a file by FAKE_TOKEN_FILE)\n\nread by ssh apply, ssh refuse, ssh stay, ssh wait, system\n", nil},
		{"help of a variable of nobody", []string{"slipway", "help", "FAKE_TOKENS"}, nil, 2, "=", []string{"nothing reads FAKE_TOKENS"}},

		{"the contract", []string{"slipway", "contract"}, nil, 0, `{"name":"FAKE_HOST","required":true,"secret":false,"scope":"machine"}`, nil},
		{"the contract's programs", []string{"slipway", "contract", "programs"}, nil, 0, `{"name":"hosting-provider-ssh-web-apply","short":"hosting-provider-ssh-web",`, nil},
		{"the contract's keys", []string{"slipway", "contract", "keys"}, nil, 0, `{"name":"node","description":`, nil},
		{"the contract's schema", []string{"slipway", "contract", "schema"}, nil, 0, `"title": "Contract of Slipway's programs`, nil},
		{"the contract's part of nobody", []string{"slipway", "contract", "machines"}, nil, 2, "=", []string{"there are programs, keys and schema"}},
		{"two parts of the contract", []string{"slipway", "contract", "keys", "programs"}, nil, 2, "=", []string{"which part?"}},

		{"a graph of every group", []string{"slipway", "graph"}, nil, 0, "hosting-provider web", nil},
		{"a graph of a group", []string{"slipway", "graph", "hosting-provider"}, nil, 0, `<svg xmlns="http://www.w3.org/2000/svg"`, nil},
		{"a graph in DOT", []string{"slipway", "graph", "hosting-provider"}, []string{"GRAPH_FORMAT=dot"}, 0, `digraph "hosting-provider-combined" {`, nil},
		{"a graph of an aggregate", []string{"slipway", "graph", "hosting-provider-all"}, []string{"GRAPH_FORMAT=dot"}, 0, `  "hosting-provider-ssh-web-apply" [label="web\npublished machine"`, nil},
		{"a graph of a target", []string{"slipway", "graph", "hostingProvider:sshWebRollback"}, []string{"GRAPH_FORMAT=dot"}, 0, `[label="web\nrollback, published machine"`, nil},
		{"a graph of nothing", []string{"slipway", "graph", "nobody"}, nil, 2, "=", []string{`"nobody" is no group (hosting-provider), no program and no file`}},
		{"a graph of what is no record", []string{"slipway", "graph", "/dev/null"}, nil, 2, "=", []string{"read record: /dev/null"}},
		{"a graph of two things", []string{"slipway", "graph", "a", "b"}, nil, 2, "=", []string{"one group, program or record at a time"}},
		{"a graph in a form that is none", []string{"slipway", "graph"}, []string{"GRAPH_FORMAT=png"}, 2, "=", []string{"one of svg, dot"}},
		{"a graph into no folder", []string{"slipway", "graph"}, []string{"GRAPH_FILE=/no/folder/graph.svg"}, 2, "=", []string{"GRAPH_FILE: "}},

		{"all programs", []string{"slipway", "list"}, nil, 0, listed, nil},
		{"programs that hold a word", []string{"slipway", "list", "web-apply"}, nil, 0, "=hosting-provider-ssh-web-apply           deploys hosting-provider's web by ssh: a machine\n", nil},
		{"programs that hold every word", []string{"slipway", "list", "refuse", "db"}, nil, 0, "=hosting-provider-ssh-db-refuse           refuses hosting-provider's db by ssh: a machine\n", nil},
		{"programs that hold no such word", []string{"slipway", "list", "cat"}, nil, 2, "=", []string{"no program's name holds cat"}},

		{"help of a program", []string{"slipway", "help", "hosting-provider-ssh-db"}, nil, 0, "hosting-provider-ssh-db-apply (mage hostingProvider:sshDbApply)\ndeploys", nil},
		{"help of a program after it", []string{"slipway", "hosting-provider-ssh-db", "--help"}, nil, 0, "\n  FAKE_HOST\n      name or address of the machine\n      (host name, IPv4 or IPv6 address; required)\n", nil},
		{"help says what is secret", []string{"slipway", "help", "hosting-provider-ssh-db"}, nil, 0, "secret, or a file by FAKE_TOKEN_FILE)", nil},
		{"help says what is set by default", []string{"slipway", "help", "hosting-provider-ssh-db"}, nil, 0, "default 22)", nil},
		{"help of a task", []string{"slipway", "help", "checks-all"}, nil, 0, "checks-all (mage checks:all)\nruns every check\n\n  CHECKS_PARTS\n", nil},
		{"help of a command by its name", []string{"slipway", "help", "graph"}, []string{"GRAPH_FORMAT=png"}, 0, "slipway graph [GROUP|PROGRAM|RECORD]\nthe order", nil},
		{"help of a command names what it reads", []string{"slipway", "pipeline", "--help"}, nil, 0, "\n  PIPELINE_COMMAND\n", nil},
		{"help of a command says what is wrong", []string{"slipway", "help", "graph"}, []string{"GRAPH_FORMAT=png"}, 0, "one of svg, dot; default svg)\n      \"png\" is none of them\n", nil},
		{"help of a command and a program", []string{"slipway", "help", "check", "hosting-provider-ssh-db"}, nil, 0, "changes nothing\n\nhosting-provider-ssh-db-apply (mage", nil},
		{"help of a command's variable", []string{"slipway", "help", "PIPELINE_RUNNER"}, nil, 0, "\nread by slipway pipeline\n", nil},
		{"help of a task's variable", []string{"slipway", "help", "CHECKS_PARTS"}, nil, 0, "\nread by the task checks-all\n", nil},
		{"the manual page has the variables of commands", []string{"slipway", "man"}, nil, 0, "\n.B GRAPH_FORMAT\n", nil},
		{"help of an unknown program", []string{"slipway", "help", "hosting-provider-ssh-wbe"}, nil, 2, "=", []string{"close are"}},
		{"help needs no coordinates", []string{"slipway", "help", "hosting-provider-all"}, []string{"PARALLELISM=0"}, 0, "FAKE_HOST", nil},

		{"called by the name of a program", []string{"/srv/bin/hosting-provider-ssh-web-apply"}, nil, 0, "=web deployed\n", nil},
		{"called by its short name", []string{"hosting-provider-ssh-web"}, nil, 0, "=web deployed\n", nil},
		{"called by its name for help", []string{"hosting-provider-ssh-web", "--help"}, nil, 0, "(mage hostingProvider:sshWebApply)", nil},
		{"called by its name with a word", []string{"hosting-provider-ssh-web", "plan"}, nil, 2, "=", []string{"hosting-provider-ssh-web takes no arguments"}},
		{"called by its name, and refused", []string{"hosting-provider-ssh-web-refuse"}, nil, 4, "=", []string{"error: deploy"}},
		{"called by the name of a program that is gone", []string{"hosting-provider-ssh-wbe"}, nil, 2, "=", []string{`unknown program "hosting-provider-ssh-wbe"; close are hosting-provider-ssh-web`}},
		{"called so, with a word that is a command", []string{"hosting-provider-ssh-wbe", "list", "web-apply"}, nil, 2, "=", []string{"unknown program"}},
		{"called by another name", []string{"anything", "list", "web-apply"}, nil, 0, "hosting-provider-ssh-web-apply", nil},
		{"help of a command", []string{"slipway", "apps", "--help"}, nil, 0, "=slipway apps DIR\nmake DIR hold a link for each program: an executable of exactly its name\n", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			check(t, run(t, asMain, c.variables, c.words...), c.code, c.out, c.err)
		})
	}
}

// answers are commands that write one.
var answers = []string{
	"list", "help", "help hosting-provider-ssh-db", "help FAKE_HOST", "contract", "contract schema", "schema record",
	"completion bash", "man", "module", "pipeline gitlab hosting-provider", "graph", "version", "graph --help",
	"check hosting-provider-ssh-web", "hosting-provider-ssh-web --help",
}

func TestAnAnswerThatIsNotWrittenIsAFailure(t *testing.T) {
	t.Parallel()
	for _, words := range answers {
		var errs bytes.Buffer
		cmd := call(t, asMain, nil, append([]string{"slipway"}, strings.Fields(words)...)...)
		cmd.Stdout, cmd.Stderr = fullDisk(t), &errs
		assert.Assert(t, cmd.Run() != nil, "slipway %s", words)
		assert.Equal(t, cmd.ProcessState.ExitCode(), 1, "slipway %s: %s", words, &errs)
		assert.Assert(t, cmp.Contains(errs.String(), "no space left on device"), "slipway %s", words)
	}
}

func TestACheckWritesNoRecord(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	variables := []string{"REPORT=" + dir + "/record.json", "REPORT_HTML=" + dir + "/page.html"}
	check(t, run(t, asMain, variables, "slipway", "check", "hosting-provider-ssh-db"), 2, "=", []string{"FAKE_HOST: missing"})
	left, err := os.ReadDir(dir)
	assert.NilError(t, err)
	assert.Assert(t, cmp.Len(left, 0))
}

func check(t *testing.T, got outcome, code int, out string, errs []string) {
	t.Helper()
	assert.Equal(t, got.code, code, "%s%s", got.out, got.err)
	if whole, ok := strings.CutPrefix(out, "="); ok {
		assert.Equal(t, got.out, whole)
	} else {
		assert.Assert(t, cmp.Contains(got.out, out))
	}
	for _, text := range errs {
		assert.Assert(t, cmp.Contains(got.err, text))
	}
}

func TestFaultsOfTheDeclarationsAreShown(t *testing.T) {
	t.Parallel()
	for _, words := range [][]string{
		{"slipway", "list"}, {"slipway", "hosting-provider-ssh-web"}, {"slipway", "help", "hosting-provider-ssh-web"},
	} {
		check(t, run(t, asBroken, nil, words...), 1, "=", []string{"declarations: two faults"})
	}
}

func TestAnErrorShowsNoSecret(t *testing.T) {
	t.Parallel()
	const hush = "hush-hush-0123456789"
	got := run(t, asMain, []string{"FAKE_HOST=db.example", "FAKE_TOKEN=" + hush}, "slipway", "hosting-provider-ssh-db-refuse")
	check(t, got, 4, "=", []string{"token [redacted] is wrong"})
	assert.Assert(t, !strings.Contains(got.err, hush))
}

func TestAnErrorMovesNoCursor(t *testing.T) {
	t.Parallel()
	got := run(t, asMain, nil, "slipway", "setup")
	check(t, got, 4, "=", []string{"error: set up: not"})
	assert.Assert(t, !strings.ContainsRune(got.err, 0x1b), "%q", got.err)
}

func TestErrorsAreEventsToo(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		code  int
		words []string
		set   string
	}{
		{4, []string{"hosting-provider-ssh-web-refuse"}, ""},
		{4, []string{"setup"}, ""},
		{2, []string{"nobody"}, ""},
		{2, []string{"--fast"}, ""},
		{2, []string{"hosting-provider-ssh-db"}, ""},
		{2, []string{"hosting-provider-ssh-web"}, "PARALLELISM=0"},
		{2, []string{"hosting-provider-ssh-web"}, "REPORT=/no/folder/record.json"},
	} {
		got := run(t, asMain, []string{"PROGRESS=json", c.set}, append([]string{"slipway"}, c.words...)...)
		assert.Equal(t, got.code, c.code)
		for line := range strings.Lines(got.err) {
			assert.Assert(t, strings.HasPrefix(line, "{"), "%q is no event", line)
		}
		assert.Assert(t, cmp.Contains(got.err, `"level":"error"`), "%v", c.words)
	}
}

func TestAnIgnoredHangUpStaysIgnored(t *testing.T) {
	t.Parallel()
	cmd := byShell(t, `trap "" HUP; exec "$@"`, nil, "slipway", "hosting-provider-ssh-web-wait")
	pipe, err := cmd.StdoutPipe()
	assert.NilError(t, err)
	assert.NilError(t, cmd.Start())
	_, err = bufio.NewReader(pipe).ReadString('\n')
	assert.NilError(t, err)
	assert.NilError(t, cmd.Process.Signal(syscall.SIGHUP))
	assert.NilError(t, cmd.Process.Signal(syscall.SIGINT))
	_ = cmd.Wait() // its exit code is asked for below
	assert.Equal(t, cmd.ProcessState.ExitCode(), 130, "it was the second signal that ended it")
}

func TestSignals(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		signal syscall.Signal
		verb   string
		code   int
		out    string
	}{
		{"SIGINT ends a run", syscall.SIGINT, "wait", 130, "web waits\n"},
		{"SIGTERM ends a run", syscall.SIGTERM, "wait", 143, "web waits\n"},
		{"SIGHUP ends a run", syscall.SIGHUP, "wait", 143, "web waits\n"},
		{"a second SIGINT forces", syscall.SIGINT, "stay", 130, "web waits\nweb stays\n"},
		{"a second SIGTERM forces", syscall.SIGTERM, "stay", 143, "web waits\nweb stays\n"},
	} {
		for _, role := range []string{asMain, asMage} {
			t.Run(c.name+" as "+role, func(t *testing.T) {
				t.Parallel()
				got := signalled(t, role, c.signal, "slipway", "hosting-provider-ssh-web-"+c.verb)
				if left := regexp.MustCompile(`stays (\d+)`).FindStringSubmatch(got.out); left != nil {
					got.out = strings.Replace(got.out, left[0], "stays", 1)
					pid, err := strconv.Atoi(left[1])
					assert.NilError(t, err)
					poll.WaitOn(t, func(poll.LogT) poll.Result {
						if syscall.Kill(pid, 0) == nil {
							return poll.Continue("process %d is alive", pid)
						}
						return poll.Success()
					}, poll.WithDelay(10*time.Millisecond))
				}
				check(t, got, c.code, "="+c.out, nil)
				if c.verb == "wait" {
					assert.Assert(t, cmp.Contains(got.err, "wait: stopped by"))
				}
			})
		}
	}
}
