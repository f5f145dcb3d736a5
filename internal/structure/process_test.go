package structure

import (
	"fmt"
	"slices"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/fs"
)

// reserved is what only one package may use, whoever else may import it.
type reserved struct {
	imported string
	names    func(name string) bool
	owner    string
	why      string
}

// execErrors are what os/exec has to say, and can do nothing.
var execErrors = []string{"ErrDot", "ErrNotFound", "ErrWaitDelay", "Error", "ExitError"}

// environment are the functions of os and syscall that read or change variables.
var environment = []string{"Clearenv", "Environ", "ExpandEnv", "Getenv", "LookupEnv", "Setenv", "Unsetenv"}

var reservations = []reserved{
	{
		"os/exec", func(name string) bool { return !slices.Contains(execErrors, name) }, "internal/child",
		"only internal/child runs programs: there they get an environment, a group and a limit",
	},
	{
		"os", func(name string) bool { return name == "StartProcess" }, "internal/child",
		"only internal/child runs programs: there they get an environment, a group and a limit",
	},
	{
		"os", func(name string) bool { return slices.Contains(environment, name) }, "targets/env",
		"only targets/env knows the environment: a variable that is not declared must change nothing",
	},
	{
		"syscall", func(name string) bool { return slices.Contains(environment, name) }, "targets/env",
		"only targets/env knows the environment: a variable that is not declared must change nothing",
	},
}

// TestProcessState holds every package to leaving the environment and other
// programs to those whose business they are.
func TestProcessState(t *testing.T) {
	for _, fault := range processFaults(packages(t, top(t))) {
		t.Error(fault)
	}
}

func processFaults(all []pkg) []string {
	var faults []string
	for _, p := range all {
		for _, f := range p.files {
			for _, r := range reservations {
				for _, name := range f.uses(r.imported) {
					if p.path != r.owner && (name == "everything" || r.names(name)) {
						faults = append(faults, fmt.Sprintf("%s/%s uses %s.%s: %s", p.path, f.name, r.imported, name, r.why))
					}
				}
			}
		}
	}
	return faults
}

func TestProcessFaultsAreFound(t *testing.T) {
	for _, c := range []struct {
		name    string
		imports string
		code    string
		allowed bool
	}{
		{"a command", `"os/exec"`, `exec.Command("x")`, false},
		{"a command by another name", `run "os/exec"`, `run.Command("x")`, false},
		{"a command's type", `"os/exec"`, `exec.Cmd{}`, false},
		{"a look at the PATH", `"os/exec"`, `exec.LookPath("x")`, false},
		{"everything at once", `. "os/exec"`, `Command("x")`, false},
		{"an error", `"os/exec"`, `exec.ErrNotFound`, true},
		{"a process", `"os"`, `os.StartProcess`, false},
		{"a variable", `"os"`, `os.Getenv("x")`, false},
		{"a variable as a value", `"os"`, `os.LookupEnv`, false},
		{"all variables", `"syscall"`, `syscall.Environ()`, false},
		{"a text with variables", `"os"`, `os.ExpandEnv("$x")`, false},
		{"a file", `"os"`, `os.Open`, true},
		{"another's function", `os "strings"`, `os.Getenv`, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := "package x\n\nimport " + c.imports + "\n\nvar _ = " + c.code + "\n"
			dir := fs.NewDir(t, "module", fs.WithDir("x", fs.WithFile("x.go", text)))
			faults := processFaults(packages(t, dir.Path()))
			assert.Equal(t, len(faults) == 0, c.allowed, "%q", faults)
		})
	}
}

func TestOwnersMayUseWhatIsTheirs(t *testing.T) {
	dir := fs.NewDir(t, "module",
		fs.WithDir("internal", fs.WithDir("child", fs.WithFile("x.go", "package child\n\nimport \"os/exec\"\n\nvar _ = exec.Command\n"))),
		fs.WithDir("targets", fs.WithDir("env", fs.WithFile("x.go", "package env\n\nimport \"os\"\n\nvar _ = os.Environ\n"))))
	assert.Equal(t, len(processFaults(packages(t, dir.Path()))), 0)
}
