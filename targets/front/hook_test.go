package front

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

func TestHookOfAMagefile(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name      string
		words     []string
		variables []string
		code      int
		out       string
		err       []string
	}{
		{"nothing to do is Mage's", nil, nil, leftToMage, "=", nil},
		{"targets of others are Mage's", []string{"fmt", "build:all"}, nil, leftToMage, "=", nil},
		{"a listing is Mage's", nil, []string{"MAGEFILE_LIST=1"}, leftToMage, "=", nil},
		{"a listing with words is Mage's", []string{"hostingProvider:sshWeb"}, []string{"MAGEFILE_LIST=true"}, leftToMage, "=", nil},
		{"help of others is Mage's", []string{"fmt"}, []string{"MAGEFILE_HELP=1"}, leftToMage, "=", nil},
		{"a target", []string{"hostingProvider:sshWebApply"}, nil, 0, "=web deployed\n", nil},
		{"a target in lower case", []string{"hostingprovider:sshweb"}, nil, 0, "=web deployed\n", nil},
		{"a name", []string{"hosting-provider-ssh-web"}, nil, 0, "=web deployed\n", nil},
		{"a task", []string{"checks:all"}, nil, 0, "=checked\n", nil},
		{"several in order", []string{"checks:all", "hostingProvider:sshWeb"}, nil, 0, "=checked\nweb deployed\n", nil},
		{"its exit code", []string{"hostingProvider:sshWebRefuse"}, nil, 4, "=", []string{"error: deploy"}},
		{"a command", []string{"contract:programs"}, nil, 0, `{"name":"hosting-provider-all-apply"`, nil},
		{"a command in any case", []string{"Contract:Schema"}, nil, 0, `"title": "Contract of Slipway's programs`, nil},
		{"a command with a name", []string{"check", "hostingProvider:sshDb"}, nil, 2, "=", []string{"FAKE_HOST: missing"}},
		{"a command with a colon that takes none is Mage's", []string{"module:json"}, nil, leftToMage, "=", nil},
		{"a command that Mage has with a colon", []string{"module"}, nil, 0, `"version": 1`, nil},
		{"a command of the binary alone", []string{"schema", "record"}, nil, leftToMage, "=", nil},
		{"help of a command", []string{"check"}, []string{"MAGEFILE_HELP=1"}, 0, "=mage check NAME…\nwhether they would be accepted as the environment is; changes nothing\n", nil},
		{"a listing with a command is Mage's", []string{"check"}, []string{"MAGEFILE_LIST=1"}, leftToMage, "=", nil},
		{"an unknown target of a group", []string{"hostingProvider:sshWbe"}, nil, 2, "=", []string{"close are hostingProvider:sshWeb"}},
		{"a known and an unknown one", []string{"hostingProvider:sshWeb", "hostingProvider:typo"}, nil, 2, "=", []string{`unknown program "hostingProvider:typo"`}},
		{"ours and another's", []string{"hostingProvider:sshWeb", "fmt"}, nil, 2, "=", []string{`unknown program "fmt"`}},
		{"help", []string{"hostingProvider:sshDb"}, []string{"MAGEFILE_HELP=1"}, 0, "FAKE_HOST", nil},
		// It may pass before the program has started, on a busy host.
		{"a time limit", []string{"hostingProvider:sshWebWait"}, []string{"MAGEFILE_TIMEOUT=50ms"}, 1, "", []string{"stopped by mage's time limit of 50ms"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			check(t, run(t, asMage, c.variables, append([]string{"mage"}, c.words...)...), c.code, c.out, c.err)
		})
	}
}

// TestTargetsAreReadAsTheyRun holds what the hook reads of a target's name against
// the command that the target itself runs when Mage's own main is in charge.
func TestTargetsAreReadAsTheyRun(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("../*.go")
	assert.NilError(t, err)
	taken := 0
	for _, path := range paths {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		assert.NilError(t, err)
		for _, declared := range file.Decls {
			function, ok := declared.(*ast.FuncDecl)
			if !ok {
				continue
			}
			target := function.Name.Name
			if function.Recv != nil {
				target = function.Recv.List[0].Type.(*ast.Ident).Name + ":" + target
			}
			c, words, ours := asCommand([]string{target})
			if !ours {
				continue // Mage runs it, or it is a program or a task
			}
			assert.DeepEqual(t, commandIn(function), append([]string{c.name}, words...))
			taken++
		}
	}
	assert.Assert(t, taken > 8)
}

// commandIn lists the words that a target gives to Command, but for those that are
// its own arguments.
func commandIn(function *ast.FuncDecl) []string {
	var words []string
	ast.Inspect(function.Body, func(n ast.Node) bool {
		if literal, ok := n.(*ast.BasicLit); ok {
			words = append(words, strings.Trim(literal.Value, `"`))
		}
		return true
	})
	return words
}

func TestTargetsOfTasks(t *testing.T) {
	for name, want := range map[string]string{
		"checks-all": "checks:all", "checks-deployment-bad-input": "checks:deploymentBadInput", "setup": "setup",
	} {
		assert.Equal(t, Task{Name: name}.Target(), want)
	}
}

func TestTasksAreFoundByNameAndTarget(t *testing.T) {
	f := fixture()
	for _, name := range []string{"checks-all", "Checks-All", "checks:all", "CHECKS:ALL", "setup", "Setup"} {
		_, ok := f.task(name)
		assert.Assert(t, ok, name)
	}
	for _, name := range []string{"", "checks", "checks:", "all", "checks-all-of-them"} {
		_, ok := f.task(name)
		assert.Assert(t, !ok, name)
	}
}

func TestTargetsThatMageRunsSayTheirExitCode(t *testing.T) {
	t.Setenv("PROGRESS", "plain")
	err := Run(t.Context(), fixture(), "hosting-provider-ssh-web-refuse")
	status, ok := err.(interface{ ExitStatus() int })
	assert.Assert(t, ok, "%T", err)
	assert.Equal(t, status.ExitStatus(), 4)
	err = Run(t.Context(), fixture(), "nobody")
	status, ok = err.(interface{ ExitStatus() int })
	assert.Assert(t, ok, "%T", err)
	assert.Equal(t, status.ExitStatus(), 2)
}
