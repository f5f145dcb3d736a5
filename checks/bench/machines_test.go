//go:build checks

package bench

import (
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/checks/guest"
	"fediversity.eu/slipway/checks/nixpkgs"
	"fediversity.eu/slipway/internal/child"
	"fediversity.eu/slipway/targets/env"
)

// BenchmarkMachines times one changed file on its way to 1, 4 and 16 containers:
// by us, with guard, confirmation, verdict and boot default, and by what people
// write by hand: nix-copy-closure, nix-env and switch-to-configuration by ssh,
// one host after the other.
func BenchmarkMachines(b *testing.B) {
	if missing := guest.Missing(guest.Container); len(missing) > 0 {
		b.Skipf("missing part: %s", missing[0])
	}
	f := newMachines(b, 16)
	for _, n := range []int{1, 4, 16} {
		b.Run(fmt.Sprintf("loop/%d", n), func(b *testing.B) {
			for b.Loop() {
				f.change(b)
				for i := range n {
					f.byHand(b, i)
				}
			}
		})
		b.Run(fmt.Sprintf("deploy-rs/%d", n), func(b *testing.B) {
			programs := buildDeployRS(b)
			for b.Loop() {
				f.change(b)
				f.byDeployRS(b, programs, n)
			}
		})
		b.Run(fmt.Sprintf("all/%d", n), func(b *testing.B) {
			for b.Loop() {
				f.change(b)
				f.run(b, f.binary, fmt.Sprintf("many%d-ssh-all", n))
			}
		})
	}
}

// machines are containers, and what deploys to them.
type machines struct {
	dir, binary string
	round       int
	access      []guest.Access
	env         map[string]string
}

func newMachines(b *testing.B, n int) *machines {
	b.Helper()
	f := &machines{dir: b.TempDir()}
	cache, err := env.Process().CacheDir()
	assert.NilError(b, err)
	stand, err := nixpkgs.Unpack(b.Context(), filepath.Join(f.dir, "nixpkgs"), nixpkgs.DefaultBusybox)
	assert.NilError(b, err)
	f.env = map[string]string{
		"NIXPKGS": stand, "DNS_DOMAIN": "example.org", "PARALLELISM": "16",
		"SELF_MODULE_SOURCE": filepath.Join(f.dir, "source"), "CACHE_DIR": filepath.Join(f.dir, "cache"),
	}
	for i := range n {
		name := fmt.Sprintf("m%d", i+1)
		g, err := guest.Boot(b.Context(), guest.Options{
			Kind: guest.Container, Name: name, Dir: filepath.Join(f.dir, name), Cache: filepath.Join(cache, "guest"),
			MemoryMiB: 512, DiskMiB: 2048, Log: io.Discard,
		})
		assert.NilError(b, err)
		b.Cleanup(func() { assert.Check(b, g.Close()) })
		access := g.Access()
		f.access = append(f.access, access)
		known := filepath.Join(f.dir, name+".known")
		assert.NilError(b, os.WriteFile(known, fmt.Appendf(nil, "[%s]:%d %s\n", access.Host, access.Port, access.HostKey), 0o600))
		scope := strings.ToUpper(name) + "_SSH_"
		maps.Copy(f.env, map[string]string{
			scope + "HOST": access.Host, scope + "PORT": strconv.Itoa(access.Port), scope + "HOST_KEY": access.HostKey, scope + "KEY_FILE": access.KeyFile,
		})
	}
	f.binary = filepath.Join(f.dir, "fleet")
	top, err := filepath.Abs("../..")
	assert.NilError(b, err)
	assert.NilError(b, goTool(b).Go(env.Process(), top, nil, "build", "-o", f.binary, "./checks/fleet").Run(b.Context()))
	f.change(b)
	f.run(b, f.binary, fmt.Sprintf("many%d-ssh-all", n))
	return f
}

// change makes the system of every machine another.
func (f *machines) change(b *testing.B) {
	b.Helper()
	f.round++
	dir := filepath.Join(f.dir, "source", "fleet")
	assert.NilError(b, os.MkdirAll(dir, 0o755))
	text := strings.Replace(trivial, "here", fmt.Sprint("round ", f.round), 1)
	assert.NilError(b, os.WriteFile(filepath.Join(dir, "web.nix"), []byte(text), 0o644))
}

// byHand deploys to one machine as a script would.
func (f *machines) byHand(b *testing.B, i int) {
	b.Helper()
	name, access := fmt.Sprintf("m%d", i+1), f.access[i]
	toplevel := f.run(b, f.binary, "many16-"+name)
	options := []string{
		"-F", "none", "-i", access.KeyFile, "-p", strconv.Itoa(access.Port),
		"-o", "IdentitiesOnly=yes", "-o", "UserKnownHostsFile=" + filepath.Join(f.dir, name+".known"),
	}
	f.env["NIX_SSHOPTS"] = strings.Join(options, " ")
	where := access.User + "@" + access.Host
	f.run(b, "nix-copy-closure", "--to", where, toplevel)
	f.run(b, append([]string{"ssh"}, append(options, where,
		"nix-env -p /nix/var/nix/profiles/system --set "+toplevel+" && "+toplevel+"/bin/switch-to-configuration switch")...)...)
}

func (f *machines) run(b *testing.B, argv ...string) string {
	b.Helper()
	out, err := child.Command{Path: argv[0], Args: argv[1:], Env: env.Process().Child(f.env)}.Output(b.Context())
	assert.NilError(b, err)
	return strings.TrimSpace(string(out))
}
