package tofu

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/hashicorp/terraform-exec/tfexec"
	tfjson "github.com/hashicorp/terraform-json"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/checks/fakestate"
	"fediversity.eu/slipway/methods/tofu/provider"
	"fediversity.eu/slipway/targets/report"
)

func TestWhatIsReadBackEmptyHasNotDrifted(t *testing.T) {
	for _, c := range []struct {
		name, before, after string
		alike               bool
	}{
		{
			"a role of PostgreSQL", `{"id":"forgejo","login":true,"roles":null,"search_path":null,"parameter":null,"valid_until":"infinity"}`,
			`{"id":"forgejo","login":true,"roles":[],"search_path":[],"parameter":[],"valid_until":"infinity"}`, true,
		},
		{
			"a mount of OpenBao", `{"path":"a","allowed_managed_keys":null,"description":null,"options":{"version":"2"},"passthrough_request_headers":null}`,
			`{"path":"a","allowed_managed_keys":[],"description":"","options":{"version":"2"},"passthrough_request_headers":[]}`, true,
		},
		{"empty and then null", `{"a":"","b":[],"c":{}}`, `{"a":null,"b":null,"c":null}`, true},
		{"not there at all", `{"a":""}`, `{}`, true},
		{"within a block", `{"user":[{"name":"a","tags":null}]}`, `{"user":[{"name":"a","tags":{}}]}`, true},
		{"a block of nothing", `{"user":[]}`, `{"user":[{"name":null,"tags":{"at":[]}}]}`, true},
		{"a text", `{"a":null}`, `{"a":"x"}`, false},
		{"a text within a block", `{"user":[{"name":"a"}]}`, `{"user":[{"name":"b"}]}`, false},
		{"one that came", `{"roles":null,"a":null}`, `{"roles":["admin"],"a":""}`, false},
		{"one that went", `{"roles":["admin"]}`, `{"roles":null}`, false},
		{"one of two", `{"roles":["a","b"]}`, `{"roles":["a"]}`, false},
		{"an empty one of a list", `{"roles":[]}`, `{"roles":[""]}`, false},
		{"a switch", `{"login":null}`, `{"login":false}`, false},
		{"a number", `{"limit":null}`, `{"limit":0}`, false},
		{"large numbers", `{"limit":9007199254740993}`, `{"limit":9007199254740992}`, false},
		{"another kind", `{"a":{"b":"c"}}`, `{"a":["b"]}`, false},
		{"all of it", `{"a":"b"}`, `null`, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			assert.Equal(t, alike(decoded(t, c.before), decoded(t, c.after)), c.alike)
			assert.Equal(t, alike(decoded(t, c.after), decoded(t, c.before)), c.alike)
		})
	}
	change := func(before, after string) *tfjson.ResourceChange {
		return &tfjson.ResourceChange{Address: "a.b", Change: &tfjson.Change{Before: decoded(t, before), After: decoded(t, after)}}
	}
	assert.Assert(t, unchanged([]*tfjson.ResourceChange{change(`null`, `""`)})["a.b"])
	assert.Assert(t, !unchanged([]*tfjson.ResourceChange{change(`"a"`, `"b"`), change(`null`, `""`)})["a.b"], "one of several of an address")
}

// decoded is JSON as a plan is read.
func decoded(t *testing.T, text string) any {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var value any
	assert.NilError(t, d.Decode(&value))
	return value
}

// said keeps what a run logs.
type said struct {
	mu    sync.Mutex
	lines strings.Builder
}

func (s *said) Take(e report.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintln(&s.lines, e.Text)
}

// TestDriftIsSaidOfWhatDiffers has OpenTofu itself find it.
func TestDriftIsSaidOfWhatDiffers(t *testing.T) {
	b := newBench(t, fakestate.Strict)
	const address = "example.org/slipway/files"
	served, err := provider.Serve(t.Context(), address, providerserver.NewProtocol6(files{}))
	assert.NilError(t, err)
	defer served.Close()
	dir := t.TempDir()
	d := Deployment{
		Name: "web", Providers: map[string]tfexec.ReattachConfig{address: served.Config},
		Files: map[string][]byte{"main.tf": fmt.Appendf(nil, `
terraform {
  required_providers {
    files = { source = %q }
  }
}
resource "files_file" "f" {
  count = 3
  id    = "%s/${count.index}"
  text  = "same"
}`, address, dir)},
	}
	_, err = b.engine(Keys{Phase: cold}).Apply(t.Context(), d)
	assert.NilError(t, err)
	plan := func() (*Result, string) {
		var heard said
		e := b.engine(Keys{})
		e.Log = report.NewLog(&heard)
		result, err := e.Plan(t.Context(), d)
		assert.NilError(t, err)
		return result, heard.lines.String()
	}
	result, lines := plan()
	assert.Assert(t, !result.Plan.Changed)
	assert.Assert(t, !strings.Contains(lines, "Drift"), lines)

	assert.NilError(t, os.WriteFile(filepath.Join(dir, "1"), []byte("other"), 0o600))
	assert.NilError(t, os.Remove(filepath.Join(dir, "2")))
	_, lines = plan()
	assert.Assert(t, strings.Contains(lines, "files_file.f[1]: Drift detected (update)"), lines)
	assert.Assert(t, strings.Contains(lines, "files_file.f[2]: Drift detected (delete)"), lines)
	assert.Equal(t, strings.Count(lines, "Drift"), 2, lines)
}
