//go:build checks

package checks

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/targets/catalog"
	"fediversity.eu/slipway/targets/report"
)

// TestAppsRun links the programs, and calls them by their names as people would.
func TestAppsRun(t *testing.T) {
	w := newWorld(t)
	registry, err := catalog.Registry()
	assert.NilError(t, err)
	dir := filepath.Join(w.dir, "apps")
	o := w.slipway(nil, "apps", dir)
	assert.Equal(t, o.code, report.Healthy, "%s", o.stderr)
	for _, p := range registry.Programs() {
		for _, name := range []string{p.Name, p.Short} {
			if name != "" {
				_, err := os.Stat(filepath.Join(dir, name))
				assert.NilError(t, err)
			}
		}
	}
	app := func(changes map[string]string, name string, words ...string) outcome {
		called := w.as(t)
		called.binary = filepath.Join(dir, name)
		return called.slipway(changes, words...)
	}
	here := map[string]string{
		"SSH_HOST": "127.0.0.1", "SSH_PORT": "1", "SSH_HOST_KEY": "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
		"SSH_CONNECT_TIMEOUT": "5s",
	}
	for _, c := range []struct {
		name    string
		words   []string
		changes map[string]string
	}{
		{"operator-web", nil, nil},
		{"operator-ssh-web", nil, nil},
		{"operator-ssh-web-verify", nil, here},
		{"operator-ssh-web-rollback", []string{"0"}, here},
		{"operator-ssh-web-rollback", []string{"1", "2"}, here},
		{"operator-ssh-all-verify", nil, nil},
		{"operator-dns-validate", nil, nil},
	} {
		want, got := w.slipway(c.changes, append([]string{c.name}, c.words...)...), app(c.changes, c.name, c.words...)
		assert.Equal(t, got.code, want.code, "%s %v: %s", c.name, c.words, got.stderr)
		assert.Equal(t, got.stdout, want.stdout)
	}

	const hush = "hush-hush-0123456789"
	help := app(map[string]string{"SSH_HOST": "192.0.2.7", "SSH_KEY": hush}, "operator-ssh-web-apply", "--help")
	assert.Equal(t, help.code, report.Healthy)
	for _, text := range []string{
		"operator-ssh-web-apply (mage operator:sshWebApply)", "verbs: apply, plan, verify, rollback [GENERATION]",
		`now "192.0.2.7"`, "now [redacted]", "missing or malformed: SSH_HOST_KEY\n",
	} {
		assert.Assert(t, strings.Contains(help.stdout, text), "%q is not in %s", text, help.stdout)
	}
	assert.Assert(t, !strings.Contains(help.stdout+help.stderr, hush))

	// What is not ours stays, and is named.
	foreign := filepath.Join(dir, "operator-web")
	assert.NilError(t, os.Remove(foreign))
	assert.NilError(t, os.WriteFile(foreign, []byte("mine"), 0o644))
	o = w.slipway(nil, "apps", dir)
	assert.Equal(t, o.code, report.Refused)
	assert.Assert(t, strings.Contains(o.stderr, foreign), o.stderr)
	text, err := os.ReadFile(foreign)
	assert.NilError(t, err)
	assert.Equal(t, string(text), "mine")
}
