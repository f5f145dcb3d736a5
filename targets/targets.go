// Package targets is the build graph as Mage sees it: a namespace a group, with
// a target a program, and the few targets of the project itself. The namespaces
// of the groups are generated; nothing here does any work.
package targets

//go:generate go run ./internal/generate

import (
	"context"

	"github.com/magefile/mage/mg"

	"fediversity.eu/slipway/internal/toolchain"
	"fediversity.eu/slipway/targets/catalog"
	"fediversity.eu/slipway/targets/front"
)

// run runs a program or a task by its name, when Mage's own main is in charge:
// when a program is named together with a target that is none.
func run(ctx context.Context, name string) error {
	return front.Run(ctx, Front(), name)
}

// Front is what the hook of the magefile serves: the programs, and the tasks of
// this repository.
func Front() front.Front {
	f := catalog.Front()
	f.Tasks = append(f.Tasks, front.Task{
		Name: "build", Description: "builds the binary of all programs, bin/slipway", Keys: []any{&toolchain.Keys{}},
		Run: func(ctx context.Context, call front.Call) error {
			_, err := toolchain.Binary(ctx, call.Environment, call.Log)
			return err
		},
	})
	f.Binary = toolchain.Binary
	f.Tasks = append(f.Tasks, checkTasks()...)
	return f
}

// Build builds the binary of all programs, bin/slipway.
func Build(ctx context.Context) error { return run(ctx, "build") }

// Apps makes DIR hold a link for each program, to a binary that it builds: an executable of exactly its name.
func Apps(dir string) error { return front.Command(Front(), "apps", dir) }

// Setup installs what is needed beyond Go on Debian and Ubuntu, and elsewhere
// says what is missing.
func Setup(ctx context.Context) error { return run(ctx, "setup") }

// Programs is the namespace of what is said about programs.
type Programs mg.Namespace

// List lists every program with one line each.
func (Programs) List() error { return front.List(catalog.Front()) }
