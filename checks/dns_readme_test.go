//go:build checks

package checks

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"fediversity.eu/slipway/groups/operator"
	"fediversity.eu/slipway/targets/report"
)

// TestDNSReadme does what the README says: what it exports goes to the verbs that
// it calls, in their order, and only the server is another.
func TestDNSReadme(t *testing.T) {
	s := newNameServer(t, "BIND", zoneName)
	home := t.TempDir()
	assert.NilError(t, os.WriteFile(filepath.Join(home, "tsig-secret"), []byte(tsigSecret+"\n"), 0o600))
	var script strings.Builder
	var verbs []string
	for line := range strings.Lines(labelled(t, "dns")) {
		program, called := strings.CutPrefix(strings.Split(line, " #")[0], "go tool slipway operator-dns")
		if !called {
			script.WriteString(line)
			continue
		}
		verb := strings.TrimPrefix(strings.TrimSpace(program), "-")
		verbs = append(verbs, verb)
		script.WriteString("echo \"== $(env -0 | base64 -w 0)\"\n")
	}
	assert.DeepEqual(t, verbs, []string{"validate", "plan", ""})
	out := shell(t, home, map[string]string{"HOME": home}, script.String())
	said := strings.Split(strings.TrimPrefix(out, "== "), "\n== ")
	assert.Assert(t, cmp.Len(said, len(verbs)))
	for i, verb := range verbs {
		vars := variablesOf(t, said[i])
		if vars["DNS_SERVER"] != "" {
			vars["DNS_SERVER"], vars["DNS_PORT"] = "127.0.0.1", s.vars["DNS_PORT"]
		}
		delete(vars, "CACHE_DIR")
		if verb == "" {
			verb = "apply"
		}
		assert.Equal(t, runDNS(t, operator.Group(), verb, vars).code, report.Healthy)
	}
	for _, name := range []string{"example.org.", "www.example.org.", "web.example.org."} {
		assert.DeepEqual(t, s.ask(name, "A"), []string{name + " 3600 IN A 192.0.2.7"})
	}
}

// variablesOf reads what "env -0 | base64" wrote.
func variablesOf(t *testing.T, text string) map[string]string {
	t.Helper()
	raw, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
	assert.NilError(t, err)
	vars := map[string]string{}
	for pair := range strings.SplitSeq(string(raw), "\x00") {
		if name, value, ok := strings.Cut(pair, "="); ok {
			vars[name] = value
		}
	}
	return vars
}
