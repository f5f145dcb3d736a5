//go:build checks

package checks

import (
	"bytes"
	"encoding/json"
	"testing"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/internal/child"
	"fediversity.eu/slipway/internal/toolchain"
	"fediversity.eu/slipway/targets/catalog"
	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/report"
)

// TestContractSchema reads what is published as others would, with nothing set.
func TestContractSchema(t *testing.T) {
	w := &world{t: t, dir: t.TempDir(), env: map[string]string{"PATH": "/usr/bin:/bin"}}
	said := func(words ...string) []byte {
		o := w.slipway(nil, words...)
		assert.Equal(t, o.code, report.Healthy, "%s", o.stderr)
		assert.Equal(t, o.stderr, "")
		return []byte(o.stdout)
	}
	schema, programs, keys := said("contract", "schema"), said("contract", "programs"), said("contract", "keys")
	valid(t, schema, said("contract"), programs, keys)

	var published struct{ Programs []struct{ Name string } }
	assert.NilError(t, json.Unmarshal(programs, &published))
	registry, err := catalog.Registry()
	assert.NilError(t, err)
	assert.Equal(t, len(published.Programs), len(registry.Programs()))

	module, err := toolchain.Module()
	assert.NilError(t, err)
	_, tools, _ := given(t)
	for target, want := range map[string][]byte{"contract:programs": programs, "contract:keys": keys, "contract:schema": schema} {
		got, err := child.Command{
			Path: "go", Args: []string{"tool", "mage", target}, Dir: module, Env: tools.Environment(env.Process(), nil),
		}.Output(t.Context())
		assert.NilError(t, err, target)
		assert.Assert(t, bytes.Equal(got, want), "mage %s and the binary differ", target)
	}
}
