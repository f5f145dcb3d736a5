package gen

import (
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"
	"gotest.tools/v3/fs"
	"gotest.tools/v3/golden"

	"fediversity.eu/slipway/groups"
	"fediversity.eu/slipway/methods"
	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/program"
	"fediversity.eu/slipway/targets/task"
)

// way is a method that has verbs and runs none.
type way struct{}

func (way) Name() string        { return "tf-incus" }
func (way) Description() string { return "makes virtual machines" }
func (way) Verbs(p groups.Placement) []task.Verb {
	list := []task.Verb{{Name: task.Apply, Description: "deploys and judges"}, {Name: "state-list", Description: "lists the state of", Arguments: []task.Argument{{Key: "FAKE_PORT", Optional: true}}}}
	if _, local := p.(groups.Local); local {
		list = append(list, task.Verb{Name: "destroy", Description: "removes every trace of"})
	}
	return list
}
func (way) Task(methods.Deployment, string) task.Task { return keysOnly{} }

// keysOnly is a task that has coordinates.
type keysOnly struct{ task.Task }

func (keysOnly) Coordinates() []any {
	return []any{&struct {
		Host  env.Host   `env:"FAKE_HOST,required" scope:"machine" desc:"name or address of the machine"`
		Port  env.Port   `env:"FAKE_PORT,default=22" desc:"port | of its server"`
		Token env.Secret `env:"FAKE_TOKEN" desc:"what opens the machine"`
	}{}}
}

func machine(name string) groups.Machine {
	return groups.Machine{Name: name, Description: "a machine", Modules: []string{"x.nix"}, Placement: groups.External{}}
}

func group(name string, machines ...groups.Machine) groups.Group {
	return groups.Group{Name: name, Description: "machines of a test", Methods: []string{"tf-incus"}, Machines: machines}
}

func registry(t *testing.T, declared ...groups.Group) *program.Registry {
	t.Helper()
	r, err := program.New(declared, []methods.Method{way{}}, func(methods.Deployment) task.Task { return keysOnly{} })
	assert.NilError(t, err)
	return r
}

// small is a registry whose programs are all targets.
func small(t *testing.T) *program.Registry {
	db := machine("db-1")
	db.Internal = true
	return registry(t, group("hosting-provider", machine("gateway"), db), group("operator", machine("web")))
}

// wide is a registry of more targets than Mage can take.
func wide(t *testing.T) *program.Registry {
	var machines []groups.Machine
	for i := range WideAbove/4 + 1 {
		machines = append(machines, machine(fmt.Sprintf("m-%d", i)))
	}
	return registry(t, group("big", machines...), group("operator", machine("web")))
}

// targetsOf lists the methods of a generated file as Mage targets.
func targetsOf(t *testing.T, text []byte) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "x_gen.go", text, parser.ParseComments)
	assert.NilError(t, err)
	var names []string
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok {
			space := f.Recv.List[0].Type.(*ast.Ident).Name
			names = append(names, strings.ToLower(space+":"+f.Name.Name))
			assert.Assert(t, strings.HasPrefix(f.Doc.Text(), f.Name.Name+" "), "the comment is what mage -l shows: %q", f.Doc.Text())
		}
	}
	return names
}

func TestNamespace(t *testing.T) {
	files, err := Files(small(t))
	assert.NilError(t, err)
	assert.Assert(t, cmp.Len(files, 2))
	golden.Assert(t, string(files["hosting_provider_gen.go"]), "hosting_provider_gen.go.golden")
	assert.Assert(t, ListingFile(small(t)) == nil)
}

func TestEveryProgramIsATarget(t *testing.T) {
	r := small(t)
	files, err := Files(r)
	assert.NilError(t, err)
	var got, want []string
	for name, text := range files {
		assert.Assert(t, strings.HasPrefix(string(text), header+"\n"))
		formatted, err := format.Source(text)
		assert.NilError(t, err)
		assert.Equal(t, string(formatted), string(text), name)
		got = append(got, targetsOf(t, text)...)
	}
	for _, p := range r.Programs() {
		want = append(want, strings.ToLower(p.Target))
		if p.Short != "" {
			want = append(want, strings.ToLower(program.Target(p.Group, p.Short)))
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	assert.DeepEqual(t, got, want)
}

func TestGeneratedTextIsAlwaysTheSame(t *testing.T) {
	first, err := Files(small(t))
	assert.NilError(t, err)
	for range 5 {
		again, err := Files(small(t))
		assert.NilError(t, err)
		assert.DeepEqual(t, again, first)
	}
}

func TestCollisionsAreRefused(t *testing.T) {
	r := registry(t, group("operator", machine("db"), machine("d-b")))
	files, err := Files(r)
	assert.ErrorContains(t, err, "names collide: ")
	assert.ErrorContains(t, err, "machine db")
	assert.ErrorContains(t, err, "machine d-b")
	assert.Assert(t, cmp.Len(files, 0))
	dir := t.TempDir()
	assert.ErrorContains(t, Write(dir, dir, r), "names collide")
	assert.ErrorContains(t, Check(dir, dir, r), "names collide")
	entries, err := os.ReadDir(dir)
	assert.NilError(t, err)
	assert.Assert(t, cmp.Len(entries, 0), "nothing is written")
}

func TestWideModeKeepsAggregatesAsTargets(t *testing.T) {
	files, err := Files(wide(t))
	assert.NilError(t, err)
	for _, name := range []string{"big", "operator"} {
		assert.DeepEqual(t, targetsOf(t, files[name+"_gen.go"]), []string{
			name + ":all", name + ":allapply", name + ":allstatelist",
			name + ":combined", name + ":combinedapply", name + ":combinedstatelist",
			name + ":tfincusall", name + ":tfincusallapply", name + ":tfincusallstatelist",
			name + ":tfincuscombined", name + ":tfincuscombinedapply", name + ":tfincuscombinedstatelist",
		})
	}
}

func TestWideModeListsTheLeaves(t *testing.T) {
	r := wide(t)
	text := ListingFile(r)
	file, err := parser.ParseFile(token.NewFileSet(), Listing, text, parser.ParseComments)
	assert.NilError(t, err)
	assert.Equal(t, file.Name.Name, "main")
	formatted, err := format.Source(text)
	assert.NilError(t, err)
	assert.Equal(t, string(formatted), string(text))
	assert.Assert(t, strings.HasPrefix(string(text), header+"\n"))
	assert.Assert(t, cmp.Contains(string(text), "\n//go:build mage\n\n"), "or every build of the module has a second package in its top folder")
	for _, p := range r.Programs() {
		assert.Equal(t, strings.Contains(file.Doc.Text(), p.Name+" "), !p.Aggregate(), p.Name)
	}
}

func TestTheLimitIsThatOfTargets(t *testing.T) {
	// A machine has four programs' targets: its system, apply twice, state-list;
	// the aggregates of a group have twelve.
	const machines = (WideAbove - 12) / 4
	for _, c := range []struct {
		machines int
		wide     bool
	}{{machines, false}, {machines + 1, true}} {
		var list []groups.Machine
		for i := range c.machines {
			list = append(list, machine(fmt.Sprintf("m-%d", i)))
		}
		r := registry(t, group("big", list...))
		assert.Equal(t, targets(r.Programs(), func(program.Program) bool { return true }), c.machines*4+12)
		assert.Equal(t, ListingFile(r) != nil, c.wide)
	}
}

func TestTheWiderTheFewerTargets(t *testing.T) {
	for _, c := range []struct {
		groups int
		shown  []string
	}{
		{1, []string{"g0-all-apply", "g0-g0-m", "g0-ssh-all-apply", "g0-ssh-m-apply"}},
		{50, []string{"g0-all-apply", "g0-ssh-all-apply"}},
		{80, []string{"g0-all-apply"}},
		{200, nil},
	} {
		t.Run(fmt.Sprint(c.groups), func(t *testing.T) {
			var all []groups.Group
			for i := range c.groups {
				all = append(all, group(fmt.Sprintf("g%d", i), machine("m")))
			}
			r := registry(t, all...)
			files, err := Files(r)
			assert.NilError(t, err)
			text := string(files["g0_gen.go"])
			for _, name := range c.shown {
				if p, ok := r.Find(name); ok {
					assert.Assert(t, strings.Contains(text, fmt.Sprintf("%q", p.Name)), "%s is no target", name)
					assert.Assert(t, !strings.Contains(string(ListingFile(r)), p.Name+" "), "%s is listed and a target", name)
				}
			}
			assert.Equal(t, strings.Contains(text, `"context"`), c.shown != nil, "an import that is not used")
			if c.shown == nil {
				assert.Assert(t, strings.Contains(string(ListingFile(r)), "g0-all-apply"))
			}
		})
	}
}

func TestWriteBringsAModuleUpToDate(t *testing.T) {
	top := fs.NewDir(t, "module", fs.WithDir("targets",
		fs.WithFile("gone_gen.go", header+"\n\npackage targets\n"),
		fs.WithFile("operator_gen.go", header+"\n\npackage old\n"),
		fs.WithFile("by_hand_gen.go", "// Package targets is ours.\npackage targets\n"),
		fs.WithFile("targets.go", "package targets\n")))
	dir := top.Join("targets")
	assert.NilError(t, Write(top.Path(), dir, small(t)))
	assert.NilError(t, Check(top.Path(), dir, small(t)))
	assert.DeepEqual(t, list(t, dir), []string{"by_hand_gen.go", "hosting_provider_gen.go", "operator_gen.go", "targets.go"})
	assert.DeepEqual(t, list(t, top.Path()), []string{"targets"})

	assert.NilError(t, Write(top.Path(), dir, wide(t)))
	assert.NilError(t, Check(top.Path(), dir, wide(t)))
	assert.DeepEqual(t, list(t, dir), []string{"big_gen.go", "by_hand_gen.go", "operator_gen.go", "targets.go"})
	assert.DeepEqual(t, list(t, top.Path()), []string{Listing, "targets"})

	assert.NilError(t, Write(top.Path(), dir, small(t)))
	assert.DeepEqual(t, list(t, top.Path()), []string{"targets"})
}

func list(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	assert.NilError(t, err)
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

func TestCheckNamesWhatIsOutOfDate(t *testing.T) {
	for _, c := range []struct {
		name   string
		wide   bool
		change func(t *testing.T, top string)
		want   string
	}{
		{"nothing", false, func(*testing.T, string) {}, ""},
		{"nothing, in wide mode", true, func(*testing.T, string) {}, ""},
		{"a changed file", false, func(t *testing.T, top string) { write(t, top, "targets/operator_gen.go", header+"\n") }, "operator_gen.go"},
		{"a missing file", false, func(t *testing.T, top string) { remove(t, top, "targets/operator_gen.go") }, "operator_gen.go"},
		{"a file of a group that is gone", false, func(t *testing.T, top string) { write(t, top, "targets/gone_gen.go", header+"\n") }, "gone_gen.go"},
		{"a listing that is not wanted", false, func(t *testing.T, top string) { write(t, top, Listing, header+"\n") }, Listing},
		{"a changed listing", true, func(t *testing.T, top string) { write(t, top, Listing, header+"\n") }, Listing},
		{"a missing listing", true, func(t *testing.T, top string) { remove(t, top, Listing) }, Listing},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := small(t)
			if c.wide {
				r = wide(t)
			}
			top := fs.NewDir(t, "module", fs.WithDir("targets")).Path()
			assert.NilError(t, Write(top, filepath.Join(top, "targets"), r))
			c.change(t, top)
			err := Check(top, filepath.Join(top, "targets"), r)
			if c.want == "" {
				assert.NilError(t, err)
				return
			}
			assert.Error(t, err, c.want+": out of date: go generate ./... writes it anew")
		})
	}
}

func TestCheckNamesEveryFile(t *testing.T) {
	top := t.TempDir()
	err := Check(top, top, small(t))
	assert.ErrorContains(t, err, "hosting_provider_gen.go: out of date")
	assert.ErrorContains(t, err, "operator_gen.go: out of date")
}

func write(t *testing.T, top, name, text string) {
	t.Helper()
	assert.NilError(t, os.WriteFile(filepath.Join(top, name), []byte(text), 0o600))
}

func remove(t *testing.T, top, name string) {
	t.Helper()
	assert.NilError(t, os.Remove(filepath.Join(top, name)))
}
