package gen

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/doc"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"unicode"
)

// WriteOwn writes a Go file with the Mage targets of the files in targetsDir that are
// written by hand: completion offers them, and the binary knows no checkout.
func WriteOwn(path, targetsDir string) error {
	text, err := own(targetsDir)
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o644) //nolint:gosec // source code
}

// CheckOwn tells whether that file is as WriteOwn would write it.
func CheckOwn(path, targetsDir string) error {
	want, err := own(targetsDir)
	if err != nil {
		return err
	}
	if have, err := os.ReadFile(path); err != nil || !bytes.Equal(have, want) {
		return fmt.Errorf("%s: out of date: go generate ./... writes it anew", filepath.Base(path))
	}
	return nil
}

func own(targetsDir string) ([]byte, error) {
	paths, err := filepath.Glob(filepath.Join(targetsDir, "*.go"))
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.WriteString(header + "\n\npackage catalog\n\nimport \"fediversity.eu/slipway/targets/front\"\n\n")
	b.WriteString("// own lists the Mage targets of the project itself.\nfunc own() []front.Target {\nreturn []front.Target{\n")
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") || strings.HasSuffix(path, "_gen.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		for _, declared := range file.Decls {
			if f, ok := declared.(*ast.FuncDecl); ok && isTarget(f) {
				fmt.Fprintf(&b, "{Name: %q, Description: %q},\n", spelled(f), synopsis(f))
			}
		}
	}
	b.WriteString("}\n}\n")
	return format.Source(b.Bytes())
}

// isTarget tells whether Mage takes an exported function for a target: it gives an
// error, or nothing.
func isTarget(f *ast.FuncDecl) bool {
	if !f.Name.IsExported() || f.Type.TypeParams != nil {
		return false
	}
	if f.Recv != nil {
		space, ok := f.Recv.List[0].Type.(*ast.Ident)
		if !ok || !space.IsExported() {
			return false
		}
	}
	results := f.Type.Results
	if results == nil || len(results.List) == 0 {
		return true
	}
	result, ok := results.List[0].Type.(*ast.Ident)
	return ok && len(results.List) == 1 && result.Name == "error"
}

// spelled is the target as mage -l spells it: JSON is json, and All all.
func spelled(f *ast.FuncDecl) string {
	lower := func(name string) string {
		if strings.ToUpper(name) == name {
			return strings.ToLower(name)
		}
		return string(unicode.ToLower(rune(name[0]))) + name[1:]
	}
	name := lower(f.Name.Name)
	if f.Recv != nil {
		name = lower(f.Recv.List[0].Type.(*ast.Ident).Name) + ":" + name
	}
	return name
}

// synopsis is the first sentence of a docstring, without the name that it begins
// with and without its full stop.
func synopsis(f *ast.FuncDecl) string {
	text := new(doc.Package).Synopsis(f.Doc.Text())
	return strings.TrimSuffix(strings.TrimPrefix(text, f.Name.Name+" "), ".")
}
