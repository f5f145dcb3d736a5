//go:build checks

package checks

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"fediversity.eu/slipway/effects/netbox/fake"
	"fediversity.eu/slipway/internal/child"
)

// TestNetBoxReadme does what the README says: what it exports goes to the programs
// that it calls, in their order, and only the NetBox is another. It stands in for
// the real one.
func TestNetBoxReadme(t *testing.T) {
	server := fake.New("4.7")
	t.Cleanup(server.Close)
	home := t.TempDir()
	assert.NilError(t, os.WriteFile(filepath.Join(home, ".netbox-token"), []byte(fake.TokenV2+"\n"), 0o600))
	said := map[string][]string{
		"plan": {"+ site ams1\n", "+ address 2001:db8::7\n"}, "": {"created address 192.0.2.7", "2001:db8::7"}, "destroy": {"deleted virtual machine"},
	}
	var verbs []string
	for _, run := range toldRuns(t, "netbox", "operator-netbox", home) {
		verbs = append(verbs, run.verb)
		assert.Equal(t, run.vars["NETBOX_URL"], "https://netbox.example.org")
		run.vars["NETBOX_URL"] = server.URL
		program := strings.TrimSuffix("operator-netbox-"+run.verb, "-")
		code, out := slipway(t, run.vars, program)
		assert.Equal(t, code, 0, "%s: %s", program, out)
		for _, part := range said[run.verb] {
			assert.Check(t, cmp.Contains(out, part))
		}
		if run.verb == "" {
			code, out := slipway(t, run.vars, program)
			assert.Equal(t, code, 0, out)
			assert.Check(t, cmp.Contains(out, "nothing to change"))
		}
		wrong := "nbt_000000000000." + strings.Repeat("5ec2e7", 7)
		delete(run.vars, "NETBOX_TOKEN_FILE")
		run.vars["NETBOX_TOKEN"] = wrong
		code, out = slipway(t, run.vars, program)
		assert.Equal(t, code, 4, out)
		assert.Check(t, cmp.Contains(out, "403 Forbidden"))
		assert.Check(t, !strings.Contains(out, wrong))
		delete(run.vars, "NETBOX_TOKEN")
		code, out = slipway(t, run.vars, program)
		assert.Equal(t, code, 2, out)
		assert.Check(t, cmp.Contains(out, "NETBOX_TOKEN"))
	}
	assert.DeepEqual(t, verbs, []string{"plan", "", "destroy"})
}

// slipway runs a program of the binary, and gives its exit code and all that it said.
func slipway(t *testing.T, vars map[string]string, program string) (int, string) {
	t.Helper()
	var environment []string
	for name, value := range vars {
		environment = append(environment, fmt.Sprintf("%s=%s", name, value))
	}
	var out bytes.Buffer
	err := child.Command{Path: binary(t), Args: []string{program}, Env: environment, Stdout: &out, Stderr: &out}.Run(t.Context())
	if failure, failed := errors.AsType[*child.Error](err); failed {
		return failure.ExitCode, out.String()
	}
	assert.NilError(t, err)
	return 0, out.String()
}
