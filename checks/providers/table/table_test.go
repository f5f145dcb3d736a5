package table

import (
	"fmt"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/groups"
	"fediversity.eu/slipway/methods/tofu/inherent"
)

func TestOfTheVersionsThatAreUsed(t *testing.T) {
	uses := inherent.Of(groups.Machine{Name: "web", Database: &groups.Database{Name: "forge"}, Mount: &groups.Mount{Path: "web"}}).Providers()
	assert.Equal(t, len(uses), 2)
	for name, source := range map[string]string{"postgresql": "cyrilgdn/postgresql", "vault": "hashicorp/vault"} {
		row, err := Of(source)
		assert.NilError(t, err)
		assert.Equal(t, fmt.Sprint(uses[name]), fmt.Sprint(map[string]string{"source": source, "version": "= " + row.Version}))
	}
}

func TestRowsSayAllThatTheyAreFor(t *testing.T) {
	all, err := All()
	assert.NilError(t, err)
	for _, p := range all {
		_, err := time.Parse(time.DateOnly, p.Compared)
		assert.NilError(t, err, p.Source)
		assert.Assert(t, len(p.Imitated) > 0 && len(p.Differs) > 0 && len(p.Resources) > 0, p.Source)
	}
	_, err = Of("somebody/else")
	assert.ErrorContains(t, err, "no row of somebody/else")
}
