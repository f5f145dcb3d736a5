//go:build checks

package nixpkgs_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/checks/guest"
	"fediversity.eu/slipway/checks/guest/debian"
	"fediversity.eu/slipway/internal/child"
)

// machine is a test machine that systems are switched to.
type machine struct {
	guest *guest.Guest
	nix   nix
	ssh   []string // options of ssh, without the host
}

// onContainers runs a test on a container of each suite, with its own systemd
// and Nix, side by side.
func onContainers(t *testing.T, test func(*testing.T, machine)) {
	t.Helper()
	for _, suite := range debian.Suites() {
		t.Run(string(suite), func(t *testing.T) {
			t.Parallel()
			test(t, bootMachineOf(t, guest.Options{Kind: guest.Container, Suite: suite}))
		})
	}
}

// bootMachine boots a test machine that is gone when the test ends.
func bootMachine(t *testing.T, kind guest.Kind, forward ...int) machine {
	t.Helper()
	return bootMachineOf(t, guest.Options{Kind: kind, Forward: forward})
}

// bootMachineOf fills in what all test machines here have in common.
func bootMachineOf(t *testing.T, o guest.Options) machine {
	t.Helper()
	if missing := guest.Missing(o.Kind); len(missing) > 0 {
		t.Skipf("missing part: %s", missing[0])
	}
	n := newNix(t)
	cache, err := os.UserCacheDir()
	assert.NilError(t, err)
	o.Name, o.Dir, o.Cache = "box", filepath.Join(t.TempDir(), "guest"), filepath.Join(cache, "slipway", "guest")
	g, err := guest.Boot(t.Context(), o)
	assert.NilError(t, err)
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(g.Console())
		}
		assert.Check(t, g.Close())
	})
	access := g.Access()
	known := filepath.Join(t.TempDir(), "known_hosts")
	line := fmt.Sprintf("[%s]:%d %s\n", access.Host, access.Port, access.HostKey)
	assert.NilError(t, os.WriteFile(known, []byte(line), 0o600))
	return machine{guest: g, nix: n, ssh: []string{
		"-q", "-F", "none", "-i", access.KeyFile, "-o", "IdentitiesOnly=yes", "-o", "BatchMode=yes",
		"-o", "UserKnownHostsFile=" + known, "-p", fmt.Sprint(access.Port),
	}}
}

func (m machine) host() string { return m.guest.Access().User + "@" + m.guest.Access().Host }

// run runs a script on the machine and returns its exit code, and both of its
// outputs as one.
func (m machine) run(t *testing.T, script string) (int, string) {
	t.Helper()
	out, err := m.try(t, script)
	var failure *child.Error
	if errors.As(err, &failure) && failure.ExitCode >= 0 && failure.ExitCode != 255 {
		return failure.ExitCode, out
	}
	assert.NilError(t, err)
	return 0, out
}

// try is run for a machine that may not be there.
func (m machine) try(t *testing.T, script string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	err := child.Command{
		Path: "ssh", Env: m.nix.env, Stdout: &out,
		Args: append(append([]string{"-o", "ConnectTimeout=60"}, m.ssh...), m.host(), "exec 2>&1; "+script),
	}.Run(t.Context())
	return out.String(), err
}

// must runs a script that has to succeed and returns what it said.
func (m machine) must(t *testing.T, script string) string {
	t.Helper()
	code, out := m.run(t, script)
	assert.Equal(t, code, 0, "%s: %s", script, out)
	return strings.TrimSpace(out)
}

// install builds a system of one module and copies it to the machine.
func (m machine) install(t *testing.T, module string) string {
	t.Helper()
	toplevel := m.nix.build(t, system{files: map[string]string{"machine.nix": module}})
	m.copy(t, toplevel)
	return toplevel
}

func (m machine) copy(t *testing.T, toplevel string) {
	t.Helper()
	cmd := m.nix.command("nix-copy-closure", "--to", m.host(), toplevel)
	cmd.Env = append(append([]string{}, cmd.Env...), "NIX_SSHOPTS="+strings.Join(m.ssh, " "))
	assert.NilError(t, cmd.Run(t.Context()))
}

// to has a system on the machine take a verb, and returns its exit code and
// what it said.
func (m machine) to(t *testing.T, toplevel, verb string) (int, string) {
	t.Helper()
	code, said := m.run(t, toplevel+"/bin/switch-to-configuration "+verb+" </dev/null")
	t.Logf("%s: %d\n%s", verb, code, said)
	return code, said
}

// current is the system that the machine runs.
func (m machine) current(t *testing.T) string {
	t.Helper()
	return m.must(t, "readlink -f /run/current-system || :")
}

func contains(text, part string) bool { return strings.Contains(text, part) }
