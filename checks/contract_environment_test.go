//go:build checks

package checks

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/targets/catalog"
	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/report"
)

// TestContractEnvironment spies on a child of every program that has one, with
// an environment full of what nobody declared.
func TestContractEnvironment(t *testing.T) {
	w := newWorld(t)
	registry, err := catalog.Registry()
	assert.NilError(t, err)
	plain := w.slipway(nil, "operator-web")
	assert.Equal(t, plain.code, report.Healthy)

	dir := t.TempDir()
	seen := filepath.Join(dir, "seen")
	for _, name := range []string{"nix-instantiate", "nix-store"} {
		script := "#!/bin/sh\nenv -0 >> " + seen + "\nPATH=" + w.env["PATH"] + " exec " + name + " \"$@\"\n"
		assert.NilError(t, os.WriteFile(filepath.Join(dir, name), []byte(script), 0o755))
	}
	noise := map[string]string{
		"PATH": dir + ":" + w.env["PATH"], "CACHE_DIR": filepath.Join(w.dir, "other-cache"),
		"UNDECLARED": "undeclared-value", "AWS_SECRET_ACCESS_KEY": "undeclared-value", "NIX_PATH": "nixpkgs=/undeclared-value",
		"NIX_CONFIG": "show-trace = true", "SSH_OPTIONS": "undeclared-value", "LD_PRELOAD_OF_NOBODY": "undeclared-value",
		"TF_LOG": "undeclared-value", "SSH_KEY": "declared-but-of-no-use-to-a-child",
	}
	for _, p := range registry.Programs() {
		if p.Kind != "system" || p.Group != "operator" {
			continue
		}
		if p.Machine != "web" {
			continue // the source of this check has the one machine
		}
		o := w.slipway(noise, p.Name)
		assert.Equal(t, o.code, report.Healthy)
		assert.Equal(t, o.stdout, plain.stdout, "%s behaves otherwise with undeclared variables", p.Name)
		keys, err := registry.Keys(p)
		assert.NilError(t, err)
		allowed := []string{"PWD", "SHLVL", "_", "OLDPWD"} // the shell of the spy
		for _, key := range keys {
			allowed = append(allowed, key.Variables()...)
		}
		for _, fixed := range env.Fixed() {
			allowed = append(allowed, fixed.Name)
		}
		text, err := os.ReadFile(seen)
		assert.NilError(t, err)
		count := 0
		for entry := range strings.SplitSeq(string(text), "\x00") {
			name, value, ok := strings.Cut(entry, "=")
			if !ok {
				continue
			}
			count++
			assert.Assert(t, slices.Contains(allowed, name), "a child of %s sees %s", p.Name, name)
			assert.Assert(t, !strings.Contains(value, "undeclared-value"), "a child of %s sees what was undeclared, in %s", p.Name, name)
		}
		assert.Assert(t, count > 0, "no child was seen")
	}

	t.Run("secrets reach no output", func(t *testing.T) {
		w := w.as(t)
		secret := "-----BEGIN OPENSSH PRIVATE KEY-----\nbm90IGEga2V5IGF0IGFsbCwgYnV0IHNlY3JldA==\n-----END OPENSSH PRIVATE KEY-----"
		o := w.slipway(map[string]string{"SSH_KEY": secret, "SSH_HOST": "127.0.0.1", "SSH_PORT": "1", "SSH_HOST_KEY": "bm90IGEga2V5IGF0IGFsbCwgYnV0IHNlY3JldA=="},
			"operator-ssh-web-apply")
		assert.Equal(t, o.code, report.Usage)
		assert.Assert(t, !strings.Contains(o.stderr+o.stdout, "bm90IGEga2V5"), "a secret is in the output")
	})

	t.Run("every key that programs publish is well declared", func(t *testing.T) {
		for _, p := range registry.Programs() {
			keys, err := registry.Keys(p)
			assert.NilError(t, err)
			assert.Assert(t, len(keys) > 0)
		}
	})
}
