package main

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/types"
	"gotest.tools/v3/assert"
)

func TestOptionsOfARoleThatIsMade(t *testing.T) {
	for password, want := range map[string]string{
		"": " LOGIN", "secret": " LOGIN PASSWORD 'secret'", "o'clock": " LOGIN PASSWORD 'o''clock'",
		`a\b`: ` LOGIN PASSWORD 'a\\b'`, "Null": " LOGIN PASSWORD NULL",
	} {
		assert.Equal(t, roleModel{Login: types.BoolValue(true)}.options(types.StringValue(password)), want)
	}
}
