package structure

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// module is the path of this module.
const module = "fediversity.eu/slipway"

// pkg is a package of this module, without its tests.
type pkg struct {
	path  string // from the top, with slashes; empty at the top itself
	name  string
	files []file
}

// file is a parsed file and its name.
type file struct {
	name string
	ast  *ast.File
}

// imports gives what a file imports: path to the name it has in the file.
func (f file) imports() map[string]string {
	names := map[string]string{}
	for _, spec := range f.ast.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue // the parser refuses such a file
		}
		names[imported] = path.Base(imported)
		if spec.Name != nil {
			names[imported] = spec.Name.Name
		}
	}
	return names
}

// uses lists the selectors of an imported package that stand in a file:
// "Command" for exec.Command. A dot import is "everything".
func (f file) uses(imported string) []string {
	name, ok := f.imports()[imported]
	if !ok {
		return nil
	}
	if name == "." {
		return []string{"everything"}
	}
	var used []string
	ast.Inspect(f.ast, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if of, ok := s.X.(*ast.Ident); ok && of.Name == name && !slices.Contains(used, s.Sel.Name) {
				used = append(used, s.Sel.Name)
			}
		}
		return true
	})
	slices.Sort(used)
	return used
}

// top is the folder of the module.
func top(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	assert.NilError(t, err)
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if filepath.Dir(dir) == dir {
			t.Fatal("no go.mod above the test")
		}
		dir = filepath.Dir(dir)
	}
}

// packages parses every package of a module. A folder with a go.mod of its own
// is another module.
func packages(t *testing.T, top string) []pkg {
	t.Helper()
	found := map[string]*pkg{}
	err := filepath.WalkDir(top, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := entry.Name()
		if entry.IsDir() {
			if name == top {
				return nil
			}
			_, err := os.Stat(filepath.Join(name, "go.mod"))
			if err == nil || base == "testdata" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(base, ".go") || strings.HasSuffix(base, "_test.go") {
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		dir, err := filepath.Rel(top, filepath.Dir(name))
		if err != nil {
			return err
		}
		if dir == "." {
			dir = ""
		}
		dir = filepath.ToSlash(dir)
		if found[dir] == nil {
			found[dir] = &pkg{path: dir, name: parsed.Name.Name}
		}
		found[dir].files = append(found[dir].files, file{base, parsed})
		return nil
	})
	assert.NilError(t, err)
	var list []pkg
	for _, p := range found {
		list = append(list, *p)
	}
	slices.SortFunc(list, func(a, b pkg) int { return strings.Compare(a.path, b.path) })
	return list
}
