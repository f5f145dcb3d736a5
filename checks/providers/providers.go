// Package providers builds providers of OpenTofu for checks, and lays them out as a
// mirror that OpenTofu takes them from: real ones from Go's module proxy where it
// has them, and elsewhere stand-ins of ours, which have the schema of the real
// provider for what is used of it.
package providers

import (
	"context"
	"io"
	"os"
	"path"
	"path/filepath"
	"runtime"

	"fediversity.eu/slipway/internal/toolchain"
	"fediversity.eu/slipway/targets/env"
)

// Build builds the main package of a module at a version from Go's module proxy, in
// a folder of its own, and gives the path of the program.
func Build(ctx context.Context, module, version, dir string) (string, error) {
	tools, err := goTools(ctx)
	if err != nil {
		return "", err
	}
	command := tools.Go(env.Process(), dir, map[string]string{"GOBIN": dir}, "install", module+"@"+version)
	return filepath.Join(dir, path.Base(module)), command.Run(ctx)
}

// StandIn builds a stand-in of this folder, by its name.
func StandIn(ctx context.Context, name, dir string) (string, error) {
	tools, err := goTools(ctx)
	if err != nil {
		return "", err
	}
	module, err := toolchain.Module()
	if err != nil {
		return "", err
	}
	program := filepath.Join(dir, "terraform-provider-"+name)
	return program, tools.Go(env.Process(), module, nil, "build", "-o", program, "./checks/providers/"+name).Run(ctx)
}

func goTools(ctx context.Context) (toolchain.Keys, error) {
	var tools toolchain.Keys
	return tools, env.Process().Load(ctx, env.For{}, &tools)
}

// Place puts a provider into a mirror, under its source, "lxc/incus", in OpenTofu's
// registry.
func Place(mirror, source, version, program string) error {
	dir := filepath.Join(mirror, "registry.opentofu.org", filepath.FromSlash(source), version, runtime.GOOS+"_"+runtime.GOARCH)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	from, err := os.Open(program)
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }()
	to, err := os.OpenFile(filepath.Join(dir, "terraform-provider-"+path.Base(source)+"_v"+version), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	if _, err := io.Copy(to, from); err != nil {
		_ = to.Close()
		return err
	}
	return to.Close()
}
