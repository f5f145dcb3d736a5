package program

import (
	"testing"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/targets/env"
)

func TestKeySets(t *testing.T) {
	w := newWorld(t, machine("web"), internal("db"))
	w.ssh.keys = withHostKeys
	sets, err := w.registry.KeySets()
	assert.NilError(t, err)
	names := map[string][]string{}
	for _, set := range sets {
		for _, key := range set.Keys {
			names[set.Name] = append(names[set.Name], key.Name)
			if set.Name == "node" {
				assert.Equal(t, key.Scope, env.ScopeMachine)
			}
		}
	}
	assert.DeepEqual(t, names["node"], []string{"FAKE_HOST"})
	for _, set := range []string{"deploy", "deploy ssh"} {
		assert.Assert(t, len(names[set]) > len(names["node"]), "%s: %v", set, names[set])
	}
}
