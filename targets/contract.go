package targets

import (
	"github.com/magefile/mage/mg"

	"fediversity.eu/slipway/targets/front"
)

// Contract is the namespace of what is published for front-ends and pipelines.
type Contract mg.Namespace

// Programs prints every program with its parts, as JSON.
func (Contract) Programs() error { return front.Command(Front(), "contract", "programs") }

// Keys prints the sets of variables and who reads them, as JSON.
func (Contract) Keys() error { return front.Command(Front(), "contract", "keys") }

// Schema prints the JSON Schema of the contract.
func (Contract) Schema() error { return front.Command(Front(), "contract", "schema") }

// Check tells whether a program would be accepted as the environment is, and starts nothing.
func Check(name string) error { return front.Command(Front(), "check", name) }
