package targets

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/magefile/mage/parse"
	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"fediversity.eu/slipway/groups"
	"fediversity.eu/slipway/targets/catalog"
	"fediversity.eu/slipway/targets/contract"
	"fediversity.eu/slipway/targets/gen"
	"fediversity.eu/slipway/targets/program"
)

func TestTheGeneratedFilesAreUpToDate(t *testing.T) {
	r, err := catalog.Registry()
	assert.NilError(t, err)
	assert.NilError(t, gen.Check("..", ".", r))
}

func TestTheListOfOurOwnTargetsIsUpToDate(t *testing.T) {
	assert.NilError(t, gen.CheckOwn("catalog/own_gen.go", "."))
}

// TestTheListOfOurOwnTargetsIsMages holds the list against what Mage reads itself.
func TestTheListOfOurOwnTargetsIsMages(t *testing.T) {
	paths, err := filepath.Glob("*.go")
	assert.NilError(t, err)
	files := slices.DeleteFunc(paths, func(path string) bool {
		return strings.HasSuffix(path, "_gen.go") || strings.HasSuffix(path, "_test.go")
	})
	info, err := parse.Package(".", files, false)
	assert.NilError(t, err)
	var wanted, listed []string
	for _, f := range info.Funcs {
		wanted = append(wanted, strings.ToLower(f.TargetName()))
	}
	for _, target := range catalog.Front().Targets {
		listed = append(listed, strings.ToLower(target.Name))
		assert.Assert(t, target.Description != "", "%s", target.Name)
	}
	slices.Sort(wanted)
	slices.Sort(listed)
	assert.DeepEqual(t, listed, wanted)
}

func TestTheTablesOfTheProgramsAreUpToDate(t *testing.T) {
	r, err := catalog.Registry()
	assert.NilError(t, err)
	assert.NilError(t, gen.CheckTables("../docs/programs.md", r))
}

func TestTheModuleIsUpToDate(t *testing.T) {
	r, err := catalog.Registry()
	assert.NilError(t, err)
	assert.NilError(t, gen.CheckModule("../groups", r))
}

func TestTheContractOfTheExampleIsUpToDate(t *testing.T) {
	r, err := catalog.Registry()
	assert.NilError(t, err)
	assert.NilError(t, gen.CheckContract("../examples/frontend/contract.json", r, (*contract.Contract).Document))
}

func TestTheProgramsOfTheFlakeAreUpToDate(t *testing.T) {
	r, err := catalog.Registry()
	assert.NilError(t, err)
	assert.NilError(t, gen.CheckContract("../nix/programs.json", r, (*contract.Contract).ProgramsDocument))
}

// lines gives what each Mage target of this package runs: target to name.
func lines(t *testing.T) map[string]string {
	t.Helper()
	runs := map[string]string{}
	entries, err := os.ReadDir(".")
	assert.NilError(t, err)
	for _, entry := range entries {
		if !strings.HasSuffix(entry.Name(), ".go") || strings.HasSuffix(entry.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), entry.Name(), nil, 0)
		assert.NilError(t, err)
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok {
				if name, ok := named(f); ok {
					runs[target(f)] = name
				}
			}
		}
	}
	return runs
}

// named gives NAME of a function whose body is: return run(ctx, NAME).
func named(f *ast.FuncDecl) (string, bool) {
	if len(f.Body.List) != 1 {
		return "", false
	}
	back, ok := f.Body.List[0].(*ast.ReturnStmt)
	if !ok || len(back.Results) != 1 {
		return "", false
	}
	call, ok := back.Results[0].(*ast.CallExpr)
	if !ok || len(call.Args) != 2 {
		return "", false
	}
	function, ok := call.Fun.(*ast.Ident)
	literal, text := call.Args[1].(*ast.BasicLit)
	if !ok || !text || function.Name != "run" {
		return "", false
	}
	name, err := strconv.Unquote(literal.Value)
	return name, err == nil
}

// target is a function as Mage calls it, in lower case.
func target(f *ast.FuncDecl) string {
	name := strings.ToLower(f.Name.Name)
	if f.Recv != nil {
		name = strings.ToLower(f.Recv.List[0].Type.(*ast.Ident).Name) + ":" + name
	}
	return name
}

func TestEveryTargetRunsWhatItsNameSays(t *testing.T) {
	r, err := catalog.Registry()
	assert.NilError(t, err)
	tasks := map[string]string{}
	for _, task := range Front().Tasks {
		tasks[task.Name] = strings.ToLower(task.Target())
	}
	targets := lines(t)
	assert.Assert(t, len(targets) > len(tasks))
	for target, name := range targets {
		if want, ok := tasks[name]; ok {
			assert.Equal(t, target, want)
			continue
		}
		byName, ok := r.Find(name)
		assert.Assert(t, ok, "mage %s runs %s, which is neither a program nor a task", target, name)
		byTarget, ok := r.Find(target)
		assert.Assert(t, ok, "mage %s is no program's target", target)
		assert.DeepEqual(t, byName, byTarget)
	}
	for name, target := range tasks {
		_, ok := targets[target]
		assert.Assert(t, ok, "task %s has no Mage target %s", name, target)
	}
}

func TestTasksAreNoPrograms(t *testing.T) {
	r, err := catalog.Registry()
	assert.NilError(t, err)
	var names []string
	for _, task := range Front().Tasks {
		_, taken := r.Find(task.Name)
		assert.Assert(t, !taken, "%s is a program too", task.Name)
		assert.Assert(t, task.Description != "")
		assert.Assert(t, !slices.Contains(names, task.Name), "%s is there twice", task.Name)
		names = append(names, task.Name)
	}
	assert.Assert(t, cmp.Contains(names, "setup"))
}

func TestNoGroupTakesANamespaceOfOurs(t *testing.T) {
	files, err := filepath.Glob("*.go")
	assert.NilError(t, err)
	found := 0
	for _, file := range files {
		if strings.HasSuffix(file, "_gen.go") || strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		assert.NilError(t, err)
		for _, match := range regexp.MustCompile(`(?m)^type (\w+) mg\.Namespace`).FindAllSubmatch(text, -1) {
			found++
			name := strings.ToLower(string(match[1]))
			_, err := program.New([]groups.Group{{Name: name}}, nil, nil)
			assert.ErrorContains(t, err, `group "`+name+`": a reserved word`)
		}
	}
	assert.Assert(t, found > 3)
}
