//go:build checks

package bench

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/internal/child"
	"fediversity.eu/slipway/targets/env"
)

// deployRS is the release of deploy-rs that is measured beside us.
const deployRS = "1.0.0"

// buildDeployRS gives the folder with deploy-rs's programs, built once.
func buildDeployRS(b *testing.B) string {
	b.Helper()
	cache, err := env.Process().CacheDir()
	assert.NilError(b, err)
	root := filepath.Join(cache, "tools", "deploy-rs-"+deployRS)
	if _, err := os.Stat(filepath.Join(root, "bin", "deploy")); err == nil {
		return filepath.Join(root, "bin")
	}
	cargo, err := exec.LookPath("cargo")
	if err != nil {
		b.Skip("missing part: cargo, which would build deploy-rs " + deployRS)
	}
	install := child.Command{Path: cargo, Args: []string{"install", "deploy-rs", "--version", deployRS, "--locked", "--root", root}, Env: env.Process().Child(nil)}
	_, err = install.Output(b.Context())
	assert.NilError(b, err)
	return filepath.Join(root, "bin")
}

// nodes writes what deploy-rs deploys: to each of n machines the system that we
// would deploy, in a profile with deploy-rs's own activation, as its library for
// Nix makes it. It is no flake: for those deploy-rs needs a later Nix than
// Debian's stable hosts have.
func (f *machines) nodes(b *testing.B, programs string, n int) string {
	b.Helper()
	var nodes strings.Builder
	for i := range n {
		name, access := fmt.Sprintf("m%d", i+1), f.access[i]
		toplevel := f.run(b, f.binary, "many16-"+name)
		fmt.Fprintf(&nodes, `
    %[1]s = {
      hostname = %[2]q;
      sshUser = %[3]q;
      sshOpts = [ "-F" "none" "-i" %[4]q "-p" "%[5]d" "-o" "IdentitiesOnly=yes" "-o" "UserKnownHostsFile=%[6]s" ];
      profiles.system = { user = "root"; path = profile (builtins.storePath %[7]q); };
    };`, name, access.Host, access.User, access.KeyFile, access.Port, filepath.Join(f.dir, name+".known"), toplevel)
	}
	dir := filepath.Join(f.dir, "deploy-rs")
	assert.NilError(b, os.MkdirAll(dir, 0o755))
	text := fmt.Sprintf(`let
  pkgs = import %s { system = "x86_64-linux"; };
  programs = builtins.path { path = %s; name = "deploy-rs"; };
  profile = toplevel: pkgs.runCommand "profile" { } ''
    mkdir $out
    cp ${programs}/activate $out/activate-rs
    printf '#!/bin/sh\nexec ${toplevel}/bin/switch-to-configuration switch\n' >$out/deploy-rs-activate
    chmod 755 $out/deploy-rs-activate
  '';
in
{
  deploy.nodes = {%s
  };
}
`, f.env["NIXPKGS"], programs, nodes.String())
	assert.NilError(b, os.WriteFile(filepath.Join(dir, "default.nix"), []byte(text), 0o644))
	return dir
}

// byDeployRS deploys to the first n machines with deploy-rs: confirmation and
// rollback on, as they are by default. Its derivations are built before, and not
// timed: an older Nix tells deploy-rs nothing of those that are not.
func (f *machines) byDeployRS(b *testing.B, programs string, n int) {
	b.Helper()
	b.StopTimer()
	dir := f.nodes(b, programs, n)
	f.env["NIX_CONFIG"] = "experimental-features = nix-command\nbuild-users-group =\nsandbox = false"
	for i := range n {
		f.run(b, "nix-build", "--no-out-link", "--attr", fmt.Sprintf("deploy.nodes.m%d.profiles.system.path", i+1), dir)
	}
	b.StartTimer()
	f.run(b, filepath.Join(programs, "deploy"), "--skip-checks", "--file", dir)
}
