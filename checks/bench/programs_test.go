//go:build checks

package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/internal/child"
	"fediversity.eu/slipway/targets/env"
)

const fleet = `// Package fleet declares many machines.
package fleet

import (
	"fmt"

	"fediversity.eu/slipway/groups"
	"fediversity.eu/slipway/methods"
	"fediversity.eu/slipway/methods/nixos"
	"fediversity.eu/slipway/methods/ssh"
	"fediversity.eu/slipway/targets/front"
	"fediversity.eu/slipway/targets/program"
)

const machines, perGroup = %d, 50

// Front is what is served.
func Front() front.Front { return front.Front{Registry: Registry} }

// Registry holds them all.
func Registry() (*program.Registry, error) {
	var all []groups.Group
	for i := range machines {
		if i%%perGroup == 0 {
			all = append(all, groups.Group{
				Name: fmt.Sprintf("group%%d", i/perGroup), Description: "many machines", Methods: []string{ssh.Name},
			})
		}
		g := &all[len(all)-1]
		g.Machines = append(g.Machines, groups.Machine{
			Name: fmt.Sprintf("m-%%d", i), Description: "one of many", Modules: []string{"m.nix"}, Placement: groups.External{},
		})
	}
	return program.New(all, []methods.Method{ssh.New(nil, nil)}, nixos.Systems(nil))
}
`

const targets = `package targets

import (
	"context"

	"example.org/many/fleet"
	"fediversity.eu/slipway/targets/front"
)

func run(ctx context.Context, name string) error { return front.Run(ctx, fleet.Front(), name) }
`

const generate = `package main

import (
	"log"

	"example.org/many/fleet"
	"fediversity.eu/slipway/targets/gen"
)

func main() {
	registry, err := fleet.Registry()
	if err == nil {
		err = gen.Write(".", "targets", registry)
	}
	if err != nil {
		log.Fatal(err)
	}
}
`

const command = `package main

import (
	"os"

	"example.org/many/fleet"
	"fediversity.eu/slipway/targets/front"
)

func main() { os.Exit(int(front.Main(fleet.Front(), os.Args))) }
`

const magefile = `//go:build mage

package main

import (
	"example.org/many/fleet"
	//mage:import
	_ "example.org/many/targets"
	"fediversity.eu/slipway/targets/front"
)

func init() { front.Hook(fleet.Front()) }
`

// module is a module of its own with many machines.
type module struct {
	dir string
	env []string
}

// perMachine is how many programs a machine brings: its system and four verbs.
const perMachine = 5

func newModule(b *testing.B, programs int) module {
	b.Helper()
	dir := b.TempDir()
	slipway, err := filepath.Abs("../..")
	assert.NilError(b, err)
	for name, text := range map[string]string{
		"fleet/fleet.go": fmt.Sprintf(fleet, programs/perMachine), "targets/targets.go": targets,
		"cmd/generate/main.go": generate, "cmd/many/main.go": command, "magefile.go": magefile,
	} {
		path := filepath.Join(dir, name)
		assert.NilError(b, os.MkdirAll(filepath.Dir(path), 0o755))
		assert.NilError(b, os.WriteFile(path, []byte(text), 0o644))
	}
	m := module{dir: dir, env: goTool(b).Environment(env.Process(), map[string]string{"MAGEFILE_CACHE": b.TempDir()})}
	for _, line := range []string{
		"go mod init example.org/many", "go mod edit -replace fediversity.eu/slipway=" + slipway,
		"go mod edit -tool github.com/magefile/mage", "go mod tidy", "go run ./cmd/generate", "go mod tidy",
		"go build -o many ./cmd/many",
	} {
		m.run(b, strings.Fields(line)...)
	}
	return m
}

func (m module) run(b *testing.B, argv ...string) {
	b.Helper()
	m.ends(b, 0, argv...)
}

// ends runs a command that must end with a code.
func (m module) ends(b *testing.B, code int, argv ...string) {
	b.Helper()
	err := child.Command{Path: argv[0], Args: argv[1:], Dir: m.dir, Env: m.env}.Run(b.Context())
	if code == 0 {
		assert.NilError(b, err, "%s", strings.Join(argv, " "))
		return
	}
	assert.Equal(b, exitCode(err), code, "%s: %v", strings.Join(argv, " "), err)
}

// BenchmarkPrograms times what everybody waits for, with ever more programs.
// "start" is one program from its name to its verdict, which here is that its
// coordinates are missing; "first-s" is how many seconds it took through mage
// when the magefile had to be built.
func BenchmarkPrograms(b *testing.B) {
	for _, n := range []int{100, 1_000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			m := newModule(b, n)
			began := time.Now()
			m.ends(b, 2, "go", "tool", "mage", "group0-ssh-m-1-apply")
			first := time.Since(began)
			for _, c := range []struct {
				name string
				code int
				argv []string
			}{
				{"binary-start", 2, []string{"./many", "group0-ssh-m-1-apply"}},
				{"binary-list", 0, []string{"./many", "list"}},
				{"binary-contract-programs", 0, []string{"./many", "contract", "programs"}},
				{"binary-contract", 0, []string{"./many", "contract"}},
				{"binary-check", 2, []string{"./many", "check", "group0-ssh-m-1-apply"}},
				{"mage-start", 2, []string{"go", "tool", "mage", "group0-ssh-m-1-apply"}},
				{"mage-list", 0, []string{"go", "tool", "mage", "-l"}},
			} {
				b.Run(c.name, func(b *testing.B) {
					for b.Loop() {
						m.ends(b, c.code, c.argv...)
					}
					if c.name == "mage-start" {
						b.ReportMetric(first.Seconds(), "first-s")
					}
				})
			}
		})
	}
}
