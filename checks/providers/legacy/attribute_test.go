package legacy

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"gotest.tools/v3/assert"
)

// As terraform-plugin-sdk/v2 plans: seen over cyrilgdn/postgresql 1.26.0 and
// hashicorp/vault 5.3.0.
func TestPlanOfWhatNobodyDeclares(t *testing.T) {
	none, list := types.ListNull(types.StringType), types.ListValueMust(types.StringType, nil)
	full := types.ListValueMust(types.StringType, []attr.Value{types.StringValue("a")})
	yes := kept{Optional: true, Default: types.BoolValue(true)}
	no := kept{Optional: true, Default: types.BoolValue(false)}
	for name, test := range map[string]struct {
		of            kept
		made          bool
		config, prior attr.Value
		want          attr.Value
	}{
		"a default where it is made":             {yes, true, types.BoolNull(), types.BoolNull(), types.BoolValue(true)},
		"a default where something else is":      {yes, false, types.BoolNull(), types.BoolValue(false), types.BoolValue(true)},
		"not one that is as good as nothing":     {no, false, types.BoolNull(), types.BoolNull(), types.BoolNull()},
		"one as good as nothing where it is":     {no, false, types.BoolNull(), types.BoolValue(true), types.BoolValue(false)},
		"an empty list stays":                    {kept{Optional: true}, false, none, list, list},
		"a list that is not set stays":           {kept{Optional: true}, false, none, none, none},
		"a list becomes empty":                   {kept{Optional: true}, false, none, full, list},
		"a text goes":                            {kept{Optional: true}, false, types.StringNull(), types.StringValue("a"), types.StringNull()},
		"an empty text stays":                    {kept{Optional: true}, false, types.StringNull(), types.StringValue(""), types.StringValue("")},
		"what the server says stays":             {kept{Computed: true}, false, types.StringNull(), types.StringValue("a"), types.StringValue("a")},
		"what is declared is not decided here":   {yes, false, types.BoolValue(false), types.BoolValue(true), nil},
		"nor what the server is to say of a new": {kept{Computed: true}, true, types.StringNull(), types.StringNull(), nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := test.of.plan(test.made, test.config, test.prior)
			assert.Assert(t, (got == nil) == (test.want == nil), "%v", got)
			assert.Assert(t, got == nil || got.Equal(test.want), "%v", got)
		})
	}
}
