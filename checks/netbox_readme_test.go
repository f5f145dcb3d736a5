//go:build checks

package checks

import (
	"bytes"
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"fediversity.eu/slipway/effects/netbox"
	"fediversity.eu/slipway/effects/netbox/fake"
	"fediversity.eu/slipway/groups/operator"
	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/report"
	"fediversity.eu/slipway/targets/task"
)

// TestNetBoxReadme does what the README says: what it exports goes to the verbs
// that it calls, in their order, and only the NetBox is another.
func TestNetBoxReadme(t *testing.T) {
	server := fake.New("4.7")
	t.Cleanup(server.Close)
	home := t.TempDir()
	assert.NilError(t, os.WriteFile(filepath.Join(home, ".netbox-token"), []byte(fake.TokenV2+"\n"), 0o600))
	var script strings.Builder
	var verbs []string
	for line := range strings.Lines(labelled(t, "netbox")) {
		program, called := strings.CutPrefix(strings.Split(line, " #")[0], "go tool slipway operator-netbox")
		if !called {
			script.WriteString(line)
			continue
		}
		verbs = append(verbs, strings.TrimPrefix(strings.TrimSpace(program), "-"))
		script.WriteString("echo \"== $(env -0 | base64 -w 0)\"\n")
	}
	assert.DeepEqual(t, verbs, []string{"plan", "", "destroy"})
	out := shell(t, home, map[string]string{"HOME": home}, script.String())
	said := strings.Split(strings.TrimPrefix(out, "== "), "\n== ")
	assert.Assert(t, cmp.Len(said, len(verbs)))
	for i, verb := range verbs {
		text, err := base64.StdEncoding.DecodeString(strings.TrimSpace(said[i]))
		assert.NilError(t, err)
		vars := map[string]string{}
		for pair := range strings.SplitSeq(string(text), "\x00") {
			name, value, _ := strings.Cut(pair, "=")
			vars[name] = value
		}
		assert.Equal(t, vars["NETBOX_URL"], "https://netbox.example.org")
		vars["NETBOX_URL"] = server.URL
		environment := env.Map(vars)
		it := netbox.New().Task(operator.Group(), verb)
		assert.NilError(t, environment.Load(t.Context(), env.For{}, it.Coordinates()...))
		assert.NilError(t, it.(task.Checker).Check(environment))
		var shown bytes.Buffer
		record := &report.Record{}
		assert.NilError(t, it.Run(t.Context(), &task.Run{Environment: environment, Log: &report.Log{}, Out: &shown, Record: record}))
		assert.Equal(t, record.Changed, verb != "plan")
		if verb == "plan" {
			assert.Assert(t, cmp.Contains(shown.String(), "+ site ams1\n"))
			assert.Assert(t, cmp.Contains(shown.String(), "+ address 2001:db8::7\n"))
		}
	}
}
