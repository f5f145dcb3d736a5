package tofu

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-exec/tfexec"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/checks/fakestate"
	"fediversity.eu/slipway/methods/tofu/provider"
	"fediversity.eu/slipway/targets/report"
)

func TestWhatHoldsSomethingIsNotMadeAnew(t *testing.T) {
	stays := func(kind string) bool { return kind == "disk" }
	for _, c := range []struct {
		name   string
		change Change
		ends   report.Code
	}{
		{"another place", Change{"disk.data", "disk", "replace", "cannot_update", false}, report.Refused},
		{"another place of what was to outlive it", Change{"disk.data", "disk", "noop", "cannot_update", false}, report.Refused},
		{"taken in, and another place", Change{"disk.data", "disk", "replace", "cannot_update", true}, report.Refused},
		{"taken in, of what is to outlive it", Change{"disk.data", "disk", "import", "cannot_update", true}, report.Refused},
		{"another address of what was to outlive it", Change{"disk.data", "disk", "move", "cannot_update", false}, report.Refused},
		{"taken in as it is", Change{"disk.data", "disk", "import", "", true}, report.Healthy},
		{"taken in and changed", Change{"disk.data", "disk", "update", "", true}, report.Healthy},
		{"left half made", Change{"disk.data", "disk", "replace", "tainted", false}, report.Healthy},
		{"asked for", Change{"disk.data", "disk", "replace", "requested", false}, report.Healthy},
		{"in place", Change{"disk.data", "disk", "update", "", false}, report.Healthy},
		{"holds nothing", Change{"rule.one", "rule", "replace", "cannot_update", false}, report.Healthy},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := Plan{Changes: []Change{{"rule.two", "rule", "create", "", false}, c.change}}
			err := p.spares(stays)
			assert.Equal(t, report.CodeOf(err), c.ends)
			assert.NilError(t, p.spares(nil))
			if err != nil {
				assert.ErrorContains(t, err, " made anew, without what it holds")
				assert.Equal(t, strings.Contains(strings.Join(report.Hints(err), " "), "what is there by that name"), c.change.Imported)
			}
		})
	}
}

// TestThePlanSaysWhyAnObjectIsMadeAnew has OpenTofu itself say so.
func TestThePlanSaysWhyAnObjectIsMadeAnew(t *testing.T) {
	b := newBench(t, fakestate.GitLab)
	d := objects(1)
	_, err := b.engine(Keys{Phase: cold}).Apply(t.Context(), d)
	assert.NilError(t, err)
	before := b.State()
	d.Files = map[string][]byte{"main.tf.json": []byte(`{"resource":{"terraform_data":{"thing":{"count":1,"triggers_replace":"other"}}}}`)}
	d.Stays = func(kind string) bool { return kind == "terraform_data" }
	_, err = b.engine(Keys{}).Apply(t.Context(), d)
	assert.Equal(t, report.CodeOf(err), report.Refused)
	assert.ErrorContains(t, err, "terraform_data.thing[0] would be removed and made anew")
	assert.Equal(t, b.State(), before)
	assert.Equal(t, b.Locked(), "")
}

// TestWhatIsTakenInIsNotMadeAnew has OpenTofu itself plan it, with what is to outlive
// its state and without.
func TestWhatIsTakenInIsNotMadeAnew(t *testing.T) {
	const address = "example.org/slipway/files"
	served, err := provider.Serve(t.Context(), address, providerserver.NewProtocol6(files{}))
	assert.NilError(t, err)
	defer served.Close()
	for _, c := range []struct {
		name, lifecycle, says string
	}{
		{"it outlives its state", "lifecycle { destroy = false }", "files_file.f would be left as it is there, and made anew"},
		{"it does not", "", "files_file.f would be removed and made anew"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, fakestate.Strict)
			dir := t.TempDir()
			there := filepath.Join(dir, "there")
			assert.NilError(t, os.WriteFile(there, []byte("of somebody"), 0o600))
			d := Deployment{
				Name: "web", Providers: map[string]tfexec.ReattachConfig{address: served.Config},
				Stays: func(kind string) bool { return kind == "files_file" },
				Files: map[string][]byte{"main.tf": fmt.Appendf(nil, `
terraform {
  required_providers {
    files = { source = %q }
  }
}
import {
  to = files_file.f
  id = %q
}
resource "files_file" "f" {
  id   = "%s/elsewhere"
  text = "new"
  %s
}`, address, there, dir, c.lifecycle)},
			}
			_, err := b.engine(Keys{Phase: cold}).Apply(t.Context(), d)
			refusedFor(t, err, c.says)
			text, err := os.ReadFile(there)
			assert.NilError(t, err)
			assert.Equal(t, string(text), "of somebody")
			_, err = os.Stat(filepath.Join(dir, "elsewhere"))
			assert.ErrorIs(t, err, os.ErrNotExist)
		})
	}
}
