// Command generate writes the Mage namespaces of the declared groups, the tables
// of the README, and the contract that the example of a front-end has. It is run
// by go generate in the folder of package targets.
package main

import (
	"errors"
	"fmt"
	"os"

	"fediversity.eu/slipway/targets/catalog"
	"fediversity.eu/slipway/targets/gen"
)

func main() {
	if err := generate(); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

func generate() error {
	registry, err := catalog.Registry()
	if err != nil {
		return err
	}
	return errors.Join(
		gen.Write("..", ".", registry), gen.WriteReadme("../README.md", registry),
		gen.WriteContract("../examples/frontend/contract.json", registry),
	)
}
