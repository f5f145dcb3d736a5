//go:build checks

package checks

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rhysd/actionlint"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"
	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/checks/gitlabci"
	"fediversity.eu/slipway/targets/catalog"
	"fediversity.eu/slipway/targets/report"
)

// TestPipelineLints has the pipelines of every aggregate written by the binary, and
// shows them to those who know the systems: actionlint, and the schema of GitLab.
func TestPipelineLints(t *testing.T) {
	w := &world{t: t, dir: t.TempDir(), env: map[string]string{"PATH": "/usr/bin:/bin"}}
	registry, err := catalog.Registry()
	assert.NilError(t, err)
	written := func(changes map[string]string, system, name string) []byte {
		o := w.slipway(changes, "pipeline", system, name)
		assert.Equal(t, o.code, report.Healthy, "%s", o.stderr)
		assert.Equal(t, o.stderr, "")
		return []byte(o.stdout)
	}
	schema := compile(t, gitlabci.Schema)
	var names []string
	for _, group := range registry.Groups() {
		names = append(names, group.Name)
		for _, method := range group.Methods {
			for _, end := range []string{"combined", "all-plan"} {
				names = append(names, group.Name+"-"+method+"-"+end)
			}
		}
	}
	somewhere := map[string]string{"PIPELINE_IMAGE": "registry.example.org/slipway:1", "PIPELINE_RUNNER": "nix, kvm", "PIPELINE_COMMAND": "bin/slipway"}
	for _, name := range names {
		for _, changes := range []map[string]string{nil, somewhere} {
			assert.NilError(t, schema.Validate(document(t, written(changes, "gitlab", name))), name)
			for _, system := range []string{"github", "forgejo"} {
				assert.Equal(t, actionlinted(t, written(changes, system, name)), "", "%s for %s", name, system)
			}
		}
	}

	// Who finds no fault anywhere is not looking.
	github, gitlab := string(written(nil, "github", "operator")), string(written(nil, "gitlab", "operator"))
	for from, to := range map[string]string{
		"- operator-ssh-db-apply\n":      "- operator-ssh-dbb-apply\n",
		"${{ secrets.DB_SSH_KEY }}":      "${{ secret.DB_SSH_KEY }}",
		"uses: actions/checkout@v4":      "uses: actions/checkout",
		"runs-on":                        "run-on",
		"cancel-in-progress: false":      "cancel-in-progress: perhaps",
		"name: operator-ssh-db-apply\n ": "nam: operator-ssh-db-apply\n ",
	} {
		assert.Assert(t, strings.Contains(github, from), from)
		assert.Assert(t, actionlinted(t, []byte(strings.Replace(github, from, to, 1))) != "", "%s as %s", from, to)
	}
	for from, to := range map[string]string{"exit_codes:": "exit_code:", "max: 2": "max: 3", "when: never": "when: seldom"} {
		assert.Assert(t, strings.Contains(gitlab, from), from)
		spoilt := strings.Replace(gitlab, from, to, 1)
		assert.Assert(t, schema.Validate(document(t, []byte(spoilt))) != nil, "%s as %s", from, to)
	}
}

// actionlinted is what actionlint has against a workflow.
func actionlinted(t *testing.T, text []byte) string {
	t.Helper()
	labels := filepath.Join(t.TempDir(), "actionlint.yaml")
	assert.NilError(t, os.WriteFile(labels, []byte("self-hosted-runner:\n  labels: [docker, nix, kvm]\n"), 0o600))
	var said bytes.Buffer
	linter, err := actionlint.NewLinter(&said, &actionlint.LinterOptions{ConfigFile: labels, Color: actionlint.ColorOptionKindNever})
	assert.NilError(t, err)
	_, err = linter.Lint("<stdin>", text, nil)
	assert.NilError(t, err)
	return said.String()
}

// document is what a YAML document is as JSON.
func document(t *testing.T, text []byte) any {
	t.Helper()
	var read any
	assert.NilError(t, yaml.Unmarshal(text, &read))
	same, err := json.Marshal(read)
	assert.NilError(t, err)
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(same))
	assert.NilError(t, err)
	return document
}
