package structure

import (
	"fmt"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/fs"
)

// TestPackageComments holds every package to one comment that says what it is,
// in the file where a reader looks first.
func TestPackageComments(t *testing.T) {
	all := packages(t, top(t))
	assert.Assert(t, len(all) > 10, "there are more packages than %d", len(all))
	for _, p := range all {
		for _, fault := range commentFaults(p) {
			t.Error(fault)
		}
	}
}

func commentFaults(p pkg) []string {
	const why = ": a package says what it is once, in the file of its name, where a reader looks first"
	wanted := p.name + ".go"
	switch {
	case p.path == "":
		wanted = "magefile.go"
	case p.name == "main":
		wanted = "main.go"
	}
	var faults []string
	said := false
	for _, f := range p.files {
		text := ""
		if f.ast.Doc != nil {
			text = f.ast.Doc.Text()
		}
		switch {
		case text == "":
		case f.name != wanted:
			faults = append(faults, fmt.Sprintf("%s/%s: a package comment, which belongs to %s%s", p.path, f.name, wanted, why))
		case p.name != "main" && !strings.HasPrefix(text, "Package "+p.name+" "):
			faults = append(faults, fmt.Sprintf("%s/%s: the package comment must begin with %q%s", p.path, f.name, "Package "+p.name, why))
		default:
			said = true
		}
	}
	if !said {
		faults = append(faults, fmt.Sprintf("%s: no package comment in %s%s", p.path, wanted, why))
	}
	return faults
}

func TestCommentFaultsAreFound(t *testing.T) {
	dir := fs.NewDir(t, "module",
		fs.WithFile("magefile.go", "// Programs.\npackage main\n"),
		fs.WithDir("good", fs.WithFile("good.go", "// Package good is.\npackage good\n"), fs.WithFile("more.go", "package good\n"),
			fs.WithFile("good_test.go", "// Package good is tested.\npackage good\n")),
		fs.WithDir("cmd", fs.WithFile("main.go", "// Command cmd runs.\npackage main\n")),
		fs.WithDir("none", fs.WithFile("none.go", "package none\n")),
		fs.WithDir("twice", fs.WithFile("twice.go", "// Package twice is.\npackage twice\n"), fs.WithFile("other.go", "// Package twice is too.\npackage twice\n")),
		fs.WithDir("elsewhere", fs.WithFile("other.go", "// Package elsewhere is.\npackage elsewhere\n")),
		fs.WithDir("misnamed", fs.WithFile("misnamed.go", "// Package other is.\npackage misnamed\n")),
		fs.WithDir("testdata", fs.WithFile("x.go", "package x\n")),
		fs.WithDir("another", fs.WithFile("go.mod", "module another\n"), fs.WithFile("x.go", "package x\n")))
	var got []string
	for _, p := range packages(t, dir.Path()) {
		for _, fault := range commentFaults(p) {
			before, _, _ := strings.Cut(fault, ": a package says")
			got = append(got, before)
		}
	}
	assert.DeepEqual(t, got, []string{
		"elsewhere/other.go: a package comment, which belongs to elsewhere.go",
		"elsewhere: no package comment in elsewhere.go",
		`misnamed/misnamed.go: the package comment must begin with "Package misnamed"`,
		"misnamed: no package comment in misnamed.go",
		"none: no package comment in none.go",
		"twice/other.go: a package comment, which belongs to twice.go",
	})
}
