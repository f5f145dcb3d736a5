//go:build checks

package bench

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/checks/guest"
	"fediversity.eu/slipway/checks/nixpkgs"
	"fediversity.eu/slipway/internal/child"
	"fediversity.eu/slipway/internal/toolchain"
	"fediversity.eu/slipway/targets/env"
)

// goTool is the go command as this process was told to run it.
func goTool(b *testing.B) toolchain.Keys {
	b.Helper()
	var keys toolchain.Keys
	assert.NilError(b, env.Process().Load(b.Context(), env.For{}, &keys))
	return keys
}

func exitCode(err error) int {
	if failure, ok := errors.AsType[*child.Error](err); ok {
		return failure.ExitCode
	}
	return -1
}

const trivial = `{ ... }:
{
  environment.etc.bench.text = "here\n";
  system.stateVersion = "25.05";
}
`

// BenchmarkUnchanged times an apply that finds nothing to do, beside a bare ssh
// and beside nix-copy-closure of the same closure, on one guest of each kind.
func BenchmarkUnchanged(b *testing.B) {
	for _, kind := range []guest.Kind{guest.Container, guest.VM} {
		b.Run(string(kind), func(b *testing.B) { unchanged(b, kind) })
	}
}

func unchanged(b *testing.B, kind guest.Kind) {
	b.Helper()
	if missing := guest.Missing(kind); len(missing) > 0 {
		b.Skipf("missing part: %s", missing[0])
	}
	dir := b.TempDir()
	cache, err := env.Process().CacheDir()
	assert.NilError(b, err)
	stand, err := nixpkgs.Unpack(b.Context(), filepath.Join(dir, "nixpkgs"), nixpkgs.DefaultBusybox)
	assert.NilError(b, err)
	source := filepath.Join(dir, "source", "operator")
	assert.NilError(b, os.MkdirAll(source, 0o755))
	assert.NilError(b, os.WriteFile(filepath.Join(source, "web.nix"), []byte(trivial), 0o644))
	g, err := guest.Boot(b.Context(), guest.Options{
		Kind: kind, Name: "web", Dir: filepath.Join(dir, "guest"), Cache: filepath.Join(cache, "guest"),
		MemoryMiB: 512, DiskMiB: 2048, Log: io.Discard,
	})
	assert.NilError(b, err)
	b.Cleanup(func() { assert.Check(b, g.Close()) })
	access := g.Access()
	known := filepath.Join(dir, "known_hosts")
	assert.NilError(b, os.WriteFile(known, fmt.Appendf(nil, "[%s]:%d %s\n", access.Host, access.Port, access.HostKey), 0o600))
	options := []string{
		"-F", "none", "-i", access.KeyFile, "-p", strconv.Itoa(access.Port),
		"-o", "IdentitiesOnly=yes", "-o", "UserKnownHostsFile=" + known,
	}
	run := func(b *testing.B, argv ...string) string {
		b.Helper()
		out, err := child.Command{Path: argv[0], Args: argv[1:], Env: env.Process().Child(map[string]string{
			"SSH_HOST": access.Host, "SSH_PORT": strconv.Itoa(access.Port), "SSH_HOST_KEY": access.HostKey,
			"SSH_KEY_FILE": access.KeyFile, "NIXPKGS": stand, "DNS_DOMAIN": "example.org",
			"SELF_MODULE_SOURCE": filepath.Dir(source), "CACHE_DIR": filepath.Join(dir, "cache"),
			"NIX_SSHOPTS": strings.Join(options, " "),
		})}.Output(b.Context())
		assert.NilError(b, err)
		return strings.TrimSpace(string(out))
	}
	binary := filepath.Join(dir, "slipway")
	top, err := filepath.Abs("../..")
	assert.NilError(b, err)
	assert.NilError(b, goTool(b).Go(env.Process(), top, nil, "build", "-o", binary, "./cmd/slipway").Run(b.Context()))
	toplevel := run(b, binary, "operator-web")
	run(b, binary, "operator-ssh-web-apply")
	b.Run("ssh-true", func(b *testing.B) {
		for b.Loop() {
			run(b, append([]string{"ssh"}, append(options, access.User+"@"+access.Host, "true")...)...)
		}
	})
	b.Run("nix-copy-closure", func(b *testing.B) {
		for b.Loop() {
			run(b, "nix-copy-closure", "--to", access.User+"@"+access.Host, toplevel)
		}
	})
	b.Run("apply", func(b *testing.B) {
		for b.Loop() {
			run(b, binary, "operator-ssh-web-apply")
		}
	})
}
