//go:build checks

package checks

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/targets/catalog"
	"fediversity.eu/slipway/targets/report"
)

// TestDeploymentRealNixOS evaluates and builds the system of every declared
// machine over a real nixpkgs.
func TestDeploymentRealNixOS(t *testing.T) {
	k, _, _ := given(t)
	if k.Nixpkgs == "" {
		t.Skip("missing part: a real nixpkgs, which CHECKS_NIXPKGS would name")
	}
	w := newWorld(t)
	registry, err := catalog.Registry()
	assert.NilError(t, err)
	for _, p := range registry.Programs() {
		if p.Kind != "system" {
			continue
		}
		t.Run(p.Name, func(t *testing.T) {
			o := w.as(t).slipway(map[string]string{"NIXPKGS": string(k.Nixpkgs), "SELF_MODULE_SOURCE": ""}, p.Name)
			assert.Equal(t, o.code, report.Healthy)
			assert.Assert(t, strings.HasPrefix(o.stdout, "/nix/store/"))
		})
	}
}
