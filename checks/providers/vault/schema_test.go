package main

import (
	"testing"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/checks/providers/table"
)

func TestSchemaIsTheRealOnes(t *testing.T) {
	want, err := table.Of("hashicorp/vault")
	assert.NilError(t, err)
	configuration, resources := table.Read(t.Context(), &server{})
	assert.DeepEqual(t, configuration, want.Configuration)
	assert.DeepEqual(t, resources, want.Resources)
}
