package tofu

import (
	"testing"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/checks/fakestate"
	"fediversity.eu/slipway/targets/report"
)

func TestWhatHoldsSomethingIsNotMadeAnew(t *testing.T) {
	stays := func(kind string) bool { return kind == "disk" }
	for _, c := range []struct {
		name   string
		change Change
		ends   report.Code
	}{
		{"another place", Change{"disk.data", "disk", "replace", "cannot_update"}, report.Refused},
		{"another place of what was to outlive it", Change{"disk.data", "disk", "noop", "cannot_update"}, report.Refused},
		{"left half made", Change{"disk.data", "disk", "replace", "tainted"}, report.Healthy},
		{"asked for", Change{"disk.data", "disk", "replace", "requested"}, report.Healthy},
		{"in place", Change{"disk.data", "disk", "update", ""}, report.Healthy},
		{"holds nothing", Change{"rule.one", "rule", "replace", "cannot_update"}, report.Healthy},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := Plan{Changes: []Change{{"rule.two", "rule", "create", ""}, c.change}}
			err := p.spares(stays)
			assert.Equal(t, report.CodeOf(err), c.ends)
			assert.NilError(t, p.spares(nil))
			if err != nil {
				assert.ErrorContains(t, err, " and made anew, without what it holds")
			}
		})
	}
}

// TestThePlanSaysWhyAnObjectIsMadeAnew has OpenTofu itself say so.
func TestThePlanSaysWhyAnObjectIsMadeAnew(t *testing.T) {
	b := newBench(t, fakestate.GitLab)
	d := objects(1)
	_, err := b.engine(Keys{Phase: cold}).Apply(t.Context(), d)
	assert.NilError(t, err)
	before := b.State()
	d.Files = map[string][]byte{"main.tf.json": []byte(`{"resource":{"terraform_data":{"thing":{"count":1,"triggers_replace":"other"}}}}`)}
	d.Stays = func(kind string) bool { return kind == "terraform_data" }
	_, err = b.engine(Keys{}).Apply(t.Context(), d)
	assert.Equal(t, report.CodeOf(err), report.Refused)
	assert.ErrorContains(t, err, "terraform_data.thing[0] would be removed and made anew")
	assert.Equal(t, b.State(), before)
	assert.Equal(t, b.Locked(), "")
}
