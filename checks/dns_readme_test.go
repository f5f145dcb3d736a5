//go:build checks

package checks

import (
	"os"
	"path/filepath"
	"testing"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/groups/operator"
	"fediversity.eu/slipway/targets/report"
	"fediversity.eu/slipway/targets/task"
)

// TestDNSReadme does what the README says: what it exports goes to the verbs that
// it calls, in their order, and only the server is another.
func TestDNSReadme(t *testing.T) {
	s := newNameServer(t, "BIND", zoneName)
	home := t.TempDir()
	assert.NilError(t, os.WriteFile(filepath.Join(home, "tsig-secret"), []byte(tsigSecret+"\n"), 0o600))
	var verbs []string
	for _, run := range toldRuns(t, "dns", "operator-dns", home) {
		verbs = append(verbs, run.verb)
		if run.vars["DNS_SERVER"] != "" {
			run.vars["DNS_SERVER"], run.vars["DNS_PORT"] = "127.0.0.1", s.vars["DNS_PORT"]
		}
		delete(run.vars, "CACHE_DIR")
		if run.verb == "" {
			run.verb = task.Apply
		}
		assert.Equal(t, runDNS(t, operator.Group(), run.verb, run.vars).code, report.Healthy)
	}
	assert.DeepEqual(t, verbs, []string{"validate", "plan", ""})
	for _, name := range []string{"example.org.", "www.example.org.", "web.example.org."} {
		assert.DeepEqual(t, s.ask(name, "A"), []string{name + " 3600 IN A 192.0.2.7"})
	}
}
