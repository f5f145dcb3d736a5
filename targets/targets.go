// Package targets is the build graph as Mage sees it: a namespace a group, with
// a target a program, and the few targets of the project itself. The namespaces
// of the groups are generated; nothing here does any work.
package targets

//go:generate go run ./internal/generate

import (
	"context"

	"github.com/magefile/mage/mg"

	"fediversity.eu/slipway/targets/catalog"
	"fediversity.eu/slipway/targets/front"
)

// run runs a program by its canonical name, when Mage's own main is in charge:
// when a program is named together with a target that is none.
func run(ctx context.Context, name string) error {
	return front.Run(ctx, catalog.Front(), name)
}

// Front is what the hook of the magefile serves: the programs, and the tasks of
// this repository.
func Front() front.Front { return catalog.Front() }

// Programs is the namespace of what is said about programs.
type Programs mg.Namespace

// List lists every program with one line each.
func (Programs) List() error { return front.List(catalog.Front()) }
