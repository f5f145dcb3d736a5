// Command generate writes the Mage namespaces of the declared groups, the list of the other targets, the tables
// of docs/programs.md, the contract that the example of a front-end has, and what the
// flake reads. It is run by go generate in the folder of package targets.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"fediversity.eu/slipway/internal/child"
	"fediversity.eu/slipway/internal/toolchain"
	"fediversity.eu/slipway/targets/catalog"
	"fediversity.eu/slipway/targets/contract"
	"fediversity.eu/slipway/targets/env"
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
		gen.Write("..", ".", registry), gen.WriteTables("../docs/programs.md", registry),
		gen.WriteOwn("catalog/own_gen.go", "."),
		gen.WriteModule("../groups", registry),
		gen.WriteContract("../examples/frontend/contract.json", registry, (*contract.Contract).Document),
		gen.WriteContract("../nix/programs.json", registry, (*contract.Contract).ProgramsDocument),
		vendored("../nix/vendor-hash"),
	)
}

// vendored writes the hash of the modules that the binary is built with. It needs
// Nix, without which the file stays as it is.
func vendored(path string) error {
	ctx, environment := context.Background(), env.Process()
	if _, err := child.Find("nix-hash", environment.Child(nil)); err != nil {
		fmt.Fprintln(os.Stderr, "generate: nix/vendor-hash stays as it is:", err)
		return nil
	}
	var tools toolchain.Keys
	if err := environment.Load(ctx, env.For{}, &tools); err != nil {
		return err
	}
	module, err := toolchain.Module()
	if err != nil {
		return err
	}
	hash, err := toolchain.VendorHash(ctx, environment, tools, module)
	if err != nil {
		return fmt.Errorf("hash the modules: %w", err)
	}
	return os.WriteFile(path, []byte(hash+"\n"), 0o644) //nolint:gosec // a part of the source
}
