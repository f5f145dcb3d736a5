//go:build checks

package checks

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/targets/report"
)

func TestDeploymentEvaluationCache(t *testing.T) {
	w := newWorld(t)
	w.write("operator/web.nix", `{ coordinates, ... }:
{
  environment.etc.seen.text = "home=${builtins.getEnv "HOME"} domain=${coordinates.domain} fact=${coordinates.hosting.fact or "none"}";
  system.stateVersion = "25.05";
}
`)
	evaluations := w.countEvaluations()
	build := func(changes map[string]string) outcome {
		t.Helper()
		o := w.slipway(changes, "operator-web")
		assert.Equal(t, o.code, report.Healthy)
		assert.Equal(t, strings.Count(o.stdout, "\n"), 1)
		return o
	}
	seen := func(o outcome) string {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(strings.TrimSpace(o.stdout), "etc", "seen"))
		assert.NilError(t, err)
		return string(text)
	}
	first := build(nil)
	assert.Equal(t, evaluations(), 1)
	assert.Equal(t, seen(first), "home= domain=example.org fact=none", "getEnv must see nothing")
	assert.Equal(t, build(nil).stdout, first.stdout)
	assert.Equal(t, evaluations(), 0, "the same is evaluated twice")

	changed := func(what string, changes map[string]string) outcome {
		t.Helper()
		o := build(changes)
		assert.Equal(t, evaluations(), 1, "%s is no reason to evaluate again", what)
		build(changes)
		assert.Equal(t, evaluations(), 0, "%s: the same is evaluated twice", what)
		return o
	}
	assert.Equal(t, seen(changed("another domain", map[string]string{"DNS_DOMAIN": "example.net"})), "home= domain=example.net fact=none")
	assert.Equal(t, seen(changed("another fact", map[string]string{"HOSTING_CONFIG": `{"fact":"new"}`})), "home= domain=example.org fact=new")
	assert.Equal(t, build(map[string]string{"HOSTING_CONFIG": `{ "fact" : "new" }`}).record.Source.Cached, true, "spacing is a change")
	evaluations()
	w.write("operator/unused.nix", "{ }")
	changed("a new file", nil)
	w.write("operator/web.nix", "{ system.stateVersion = \"25.05\"; }\n")
	changed("another module", nil)
	eval := filepath.Join(w.env["NIXPKGS"], "nixos", "lib", "eval-config.nix")
	text, err := os.ReadFile(eval)
	assert.NilError(t, err)
	assert.NilError(t, os.WriteFile(eval, append(text, '\n'), 0o644))
	changed("another nixpkgs", nil)
	assert.NilError(t, os.RemoveAll(w.env["CACHE_DIR"]))
	changed("an empty cache", nil)

	w.write("operator/web.nix", "{ environment.etc.secret.text = builtins.readFile /etc/passwd; system.stateVersion = \"25.05\"; }\n")
	o := w.slipway(nil, "operator-web")
	assert.Equal(t, o.code, report.Refused)
	assert.Assert(t, strings.Contains(o.stderr, "restricted mode"), o.stderr)
}

// countEvaluations puts a nix-instantiate before the real one on the PATH that
// counts, and returns what gives the count since the last call.
func (w *world) countEvaluations() func() int {
	w.t.Helper()
	dir := w.t.TempDir()
	count := filepath.Join(dir, "count")
	script := "#!/bin/sh\n[ \"$1\" = --version ] || echo >> " + count + "\nPATH=" + w.env["PATH"] + " exec nix-instantiate \"$@\"\n"
	assert.NilError(w.t, os.WriteFile(filepath.Join(dir, "nix-instantiate"), []byte(script), 0o755))
	w.env["PATH"] = dir + ":" + w.env["PATH"]
	return func() int {
		text, err := os.ReadFile(count)
		if os.IsNotExist(err) {
			return 0
		}
		assert.NilError(w.t, err)
		assert.NilError(w.t, os.Remove(count))
		return strings.Count(string(text), "\n")
	}
}
