package main

import (
	"testing"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/checks/providers/table"
)

func TestSchemaIsTheRealOnes(t *testing.T) {
	want, err := table.Of("lxc/incus")
	assert.NilError(t, err)
	configuration, resources := table.Read(t.Context(), &incus{})
	assert.DeepEqual(t, configuration, want.Configuration)
	assert.DeepEqual(t, resources, want.Resources)
}
