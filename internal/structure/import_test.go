package structure

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/fs"
)

// rule forbids some packages to import others.
type rule struct {
	who     func(path string) bool // packages of this module, by their path from the top
	imports func(path string) bool // what they must not import; ours by their path from the top
	why     string
}

// shared are the folders of methods that are no methods: what two methods need.
var shared = []string{"deploy", "made", "nixos", "remote", "verdict", "tofu", "statebackend"}

// in tells whether a path is a folder or below it.
func in(path, folder string) bool { return path == folder || strings.HasPrefix(path, folder+"/") }

// deployment gives the name of the deployment method that a package is of.
func deployment(path string) string {
	rest, ok := strings.CutPrefix(path, "methods/")
	name, _, _ := strings.Cut(rest, "/")
	if !ok || slices.Contains(shared, name) {
		return ""
	}
	return name
}

func below(folders ...string) func(string) bool {
	return func(path string) bool {
		return slices.ContainsFunc(folders, func(folder string) bool { return in(path, folder) })
	}
}

func isDeployment(path string) bool { return deployment(path) != "" }

var rules = []rule{
	{
		func(path string) bool { return path != "" && path != "targets" && path != "targets/program" },
		below("github.com/magefile/mage"),
		"only the targets know Mage: the same graph runs from Go, from the binary and from Mage",
	},
	{
		below("methods"), below("effects"),
		"a method deploys machines and knows nothing of effects: what both need stands below both",
	},
	{
		below("effects"), below("methods"),
		"an effect is no machine and knows nothing of how machines are deployed",
	},
	{
		below("groups"), below("methods", "effects", "targets"),
		"groups only say what there is: a repository of its own imports them and compiles no deployment code",
	},
	{
		func(path string) bool { return below("methods")(path) && !isDeployment(path) }, isDeployment,
		"what several methods share stands below them and can't need one of them",
	},
	{
		below("methods", "effects", "internal"),
		func(path string) bool {
			return below("targets")(path) && !below("targets/env", "targets/report", "targets/task")(path)
		},
		"imports go down: of the targets, what lies below may know the leaves alone, env, report and task",
	},
	{
		below("targets/env", "targets/report"),
		func(path string) bool {
			return below("groups", "methods", "effects", "targets", "checks")(path) && !below("targets/env", "targets/report")(path)
		},
		"env and report are leaves, so that everything can use them",
	},
	{
		func(path string) bool {
			return !below("checks")(path) && path != "targets" && path != "targets/catalog" && path != ""
		},
		below("checks"),
		"checks are about the product, which must not need them",
	},
}

// TestImports holds every package to the rules of who knows whom.
func TestImports(t *testing.T) {
	for _, fault := range importFaults(packages(t, top(t))) {
		t.Error(fault)
	}
}

func importFaults(all []pkg) []string {
	var faults []string
	blame := func(p pkg, f file, imported, why string) {
		faults = append(faults, fmt.Sprintf("%s/%s imports %s: %s", p.path, f.name, imported, why))
	}
	for _, p := range all {
		for _, f := range p.files {
			imports := make([]string, 0, len(f.imports()))
			for imported := range f.imports() {
				imports = append(imports, strings.TrimPrefix(imported, module+"/"))
			}
			slices.Sort(imports)
			for _, imported := range imports {
				for _, r := range rules {
					if r.who(p.path) && r.imports(imported) {
						blame(p, f, imported, r.why)
					}
				}
				if own, other := deployment(p.path), deployment(imported); own != "" && other != "" && own != other {
					blame(p, f, imported, "a method knows no other: what two need stands in a package beside them")
				}
			}
		}
	}
	return faults
}

func TestImportFaultsAreFound(t *testing.T) {
	one := func(folder, imported string) fs.PathOp {
		op := fs.WithFile("x.go", "package x\n\nimport _ \""+imported+"\"\n")
		parts := strings.Split(folder, "/")
		for _, part := range slices.Backward(parts) {
			op = fs.WithDir(part, op)
		}
		return op
	}
	for _, c := range []struct {
		folder, imported string
		allowed          bool
	}{
		{"targets", "github.com/magefile/mage/mg", true},
		{"targets/program", "github.com/magefile/mage/mg", true},
		{"targets/front", "github.com/magefile/mage/mg", false},
		{"methods/ssh", "github.com/magefile/mage/sh", false},
		{"cmd/slipway", "github.com/magefile/mage/mage", false},
		{"methods/ssh", module + "/effects/dns", false},
		{"methods/nixos", module + "/effects", false},
		{"methods/ssh", module + "/methods/nixos", true},
		{"methods/ssh", module + "/methods", true},
		{"methods/ssh", module + "/methods/ssh/inner", true},
		{"methods/ssh", module + "/methods/tf", false},
		{"methods/tf-incus", module + "/methods/tf", false},
		{"methods/nixos", module + "/methods/ssh", false},
		{"methods/nixos", module + "/methods/remote", true},
		{"effects/dns", module + "/methods", false},
		{"effects/dns", module + "/targets/env", true},
		{"groups/operator", module + "/groups/modules", true},
		{"groups/operator", module + "/methods/ssh", false},
		{"groups/operator", module + "/effects/dns", false},
		{"methods/ssh", module + "/targets/report", true},
		{"methods/ssh", module + "/targets/program", false},
		{"targets/env", module + "/targets/report", true},
		{"targets/report", module + "/targets/program", false},
		{"targets/report", module + "/groups", false},
		{"methods/ssh", module + "/checks/guest", false},
		{"targets/catalog", module + "/checks/guest", true},
		{"checks", module + "/checks/guest", true},
	} {
		t.Run(c.folder+" imports "+c.imported, func(t *testing.T) {
			got := importFaults(packages(t, fs.NewDir(t, "module", one(c.folder, c.imported)).Path()))
			assert.Equal(t, len(got) == 0, c.allowed, "%q", got)
		})
	}
}
