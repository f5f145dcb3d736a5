package checks

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/targets/env"
)

// TestEveryTestOnMachinesIsPartOfACheck finds tests that no check would run, and
// ordinary tests that would run twice.
func TestEveryTestOnMachinesIsPartOfACheck(t *testing.T) {
	run := regexp.MustCompile(every())
	tests := 0
	assert.NilError(t, filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		assert.NilError(t, err)
		file, err := parser.ParseFile(token.NewFileSet(), path, text, 0)
		assert.NilError(t, err)
		onMachines := strings.HasPrefix(string(text), "//go:build checks\n")
		for _, declared := range file.Decls {
			f, ok := declared.(*ast.FuncDecl)
			if !ok || !strings.HasPrefix(f.Name.Name, "Test") || f.Name.Name == "TestMain" {
				continue
			}
			tests++
			assert.Check(t, run.MatchString(f.Name.Name) == onMachines, "%s: %s", path, f.Name.Name)
		}
		return nil
	}))
	assert.Assert(t, tests > len(OnMachines()))
}

// TestCoordinatesAreDeclared loads the variables of the checks, as a run does.
func TestCoordinatesAreDeclared(t *testing.T) {
	r := &Run{}
	assert.NilError(t, env.Map(nil).Load(t.Context(), env.For{}, r.Coordinates()...))
	given := env.Map(map[string]string{"CHECKS_UNSTEADY": "-1", "CHECKS_GUEST": "cow"})
	assert.ErrorContains(t, given.Load(t.Context(), env.For{}, r.Coordinates()...), "whole number from 0")
}
