package gen

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"fediversity.eu/slipway/groups"
)

func TestAGroupOfGroupsHasTargetsForAllOfItAlone(t *testing.T) {
	house := groups.Group{Name: "big-house", Description: "both of a test", Parts: []groups.Part{
		{Group: "hosting-provider", Method: "tf-incus"}, {Group: "operator", Method: "tf-incus"},
	}}
	r := registry(t, group("hosting-provider", machine("gateway")), group("operator", machine("web")), house)
	files, err := Files(r)
	assert.NilError(t, err)
	assert.DeepEqual(t, targetsOf(t, files["big_house_gen.go"]), []string{
		"bighouse:combined", "bighouse:combinedapply", "bighouse:combinedstatelist",
	})
	text, err := Tables([]byte("<!-- generated: groups -->\n<!-- end -->"), r)
	assert.NilError(t, err)
	for _, row := range []string{
		"| `big-house` | all of `hosting-provider` | both of a test | as there | tf-incus |\n",
		"| `operator` | `web` | a machine | yes | tf-incus |\n",
	} {
		assert.Equal(t, strings.Count(string(text), row), 1, row)
	}
	assert.Assert(t, cmp.Contains(string(files["big_house_gen.go"]), "deploys and judges all of big-house in order of dependency: hosting-provider by tf-incus, operator by tf-incus."))
}
