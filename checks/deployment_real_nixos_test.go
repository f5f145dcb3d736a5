//go:build checks

package checks

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/internal/child"
	"fediversity.eu/slipway/internal/wait"
	"fediversity.eu/slipway/targets/catalog"
	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/report"
)

// TestDeploymentRealNixOS runs over a real nixpkgs: it builds the system of every
// declared machine, and deploys to a NixOS that it boots.
func TestDeploymentRealNixOS(t *testing.T) {
	k, _, _ := given(t)
	if k.Nixpkgs == "" {
		t.Skip("missing part: a real nixpkgs, which CHECKS_NIXPKGS would name")
	}
	w := newWorld(t)
	w.env["NIXPKGS"] = string(k.Nixpkgs)
	registry, err := catalog.Registry()
	assert.NilError(t, err)
	for _, p := range registry.Programs() {
		if p.Kind != "system" {
			continue
		}
		t.Run(p.Name, func(t *testing.T) {
			o := w.as(t).slipway(map[string]string{
				"SELF_MODULE_SOURCE": "", "HOSTING_CONFIG": `{"authorizedKeys":["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"]}`,
			}, p.Name)
			assert.Equal(t, o.code, report.Healthy)
			assert.Assert(t, strings.HasPrefix(o.stdout, "/nix/store/"))
		})
	}
	t.Run("images", func(t *testing.T) {
		o := w.as(t).slipway(baked, "operator-image-build")
		assert.Equal(t, o.code, report.Healthy)
		assert.Assert(t, strings.HasPrefix(o.stdout, "base /nix/store/"))
	})
	t.Run("a guest", func(t *testing.T) {
		w := w.as(t)
		w.bootNixOS(string(k.Nixpkgs))
		first := w.slipway(nil, "operator-ssh-web-apply")
		assert.Equal(t, first.code, report.Healthy)
		assert.Assert(t, first.record.Changed)
		again := w.slipway(nil, "operator-ssh-web-apply")
		assert.Equal(t, again.code, report.Healthy)
		assert.Assert(t, !again.record.Changed)
		w.write("operator/web.nix", realGuest+"// { systemd.services.broken = { wantedBy = [ \"multi-user.target\" ]; script = \"exit 7\"; }; }\n")
		broken := w.slipway(nil, "operator-ssh-web-apply")
		assert.Equal(t, broken.code, report.Unhealthy)
		assert.Assert(t, strings.Contains(broken.stderr, "broken.service: failed"), broken.stderr)
	})
}

// realGuest is the module of the NixOS that is booted, and of what is deployed
// to it: its keys lie beside it.
const realGuest = `{ modulesPath, ... }:
{
  imports = [ (modulesPath + "/virtualisation/qemu-vm.nix") ];
  virtualisation.graphics = false;
  virtualisation.memorySize = 1024;
  services.openssh.enable = true;
  services.openssh.hostKeys = [ { type = "ed25519"; path = "/etc/ssh/guest_key"; } ];
  environment.etc."ssh/guest_key" = { source = ./host; mode = "0600"; };
  users.users.root.openssh.authorizedKeys.keyFiles = [ ./client.pub ];
  documentation.enable = false;
  system.stateVersion = "25.05";
}
`

// runner builds the script that runs a virtual machine of the module
// (nixos/modules/virtualisation/qemu-vm.nix).
const runner = `{ nixpkgs, module, platform }:
(import (nixpkgs + "/nixos/lib/eval-config.nix") {
  system = null;
  extraModules = [ ];
  modules = [ module { nixpkgs.hostPlatform = platform; networking.hostName = "web"; } ];
}).config.system.build.vm
`

// bootNixOS boots a NixOS whose keys are thrown away with the check, and points
// the coordinates at it.
func (w *world) bootNixOS(nixpkgs string) {
	w.t.Helper()
	t := w.t
	w.write("operator/web.nix", realGuest)
	keys := filepath.Join(w.source, "operator")
	for _, name := range []string{"host", "client"} {
		assert.NilError(t, child.Command{
			Path: "ssh-keygen", Args: []string{"-q", "-t", "ed25519", "-N", "", "-C", name, "-f", filepath.Join(keys, name)}, Env: pairs(w.env),
		}.Run(t.Context()))
	}
	expression := filepath.Join(w.dir, "runner.nix")
	assert.NilError(t, os.WriteFile(expression, []byte(runner), 0o644))
	out, err := child.Command{
		Path: "nix-build", Env: pairs(w.env), Stderr: testWriter{t}, Args: []string{
			expression, "--no-out-link", "--argstr", "nixpkgs", nixpkgs, "--argstr", "module", filepath.Join(keys, "web.nix"), "--argstr", "platform", "x86_64-linux",
			"--option", "build-users-group", "",
		},
	}.Output(t.Context())
	assert.NilError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	assert.NilError(t, err)
	port := listener.Addr().(*net.TCPAddr).Port
	assert.NilError(t, listener.Close())
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- child.Command{
			Path: filepath.Join(strings.TrimSpace(string(out)), "bin", "run-web-vm"), Dir: w.dir, Stdout: testWriter{t}, Stderr: testWriter{t},
			Env: env.Map(w.env).Child(map[string]string{
				"NIX_DISK_IMAGE": filepath.Join(w.dir, "web.qcow2"),
				"QEMU_NET_OPTS":  fmt.Sprintf("restrict=on,hostfwd=tcp:127.0.0.1:%d-:22", port),
			}), Signal: syscall.SIGTERM,
		}.Run(ctx)
	}()
	t.Cleanup(func() {
		stop()
		<-ended //nolint:errcheck // it is ended by us
	})
	public, err := os.ReadFile(filepath.Join(keys, "host.pub"))
	assert.NilError(t, err)
	w.env["SSH_HOST"], w.env["SSH_PORT"] = "127.0.0.1", strconv.Itoa(port)
	w.env["SSH_HOST_KEY"], w.env["SSH_KEY_FILE"] = string(public), filepath.Join(keys, "client")
	booted := wait.For{What: "NixOS to boot", Limit: 20 * time.Minute, Interval: 2 * time.Second}
	assert.NilError(t, booted.Until(t.Context(), func(context.Context) error {
		if o := w.slipway(nil, "operator-ssh-web-generations"); o.code != report.Healthy {
			return fmt.Errorf("exit %d", o.code)
		}
		return nil
	}))
}
