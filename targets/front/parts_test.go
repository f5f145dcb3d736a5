package front

import (
	"bytes"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"fediversity.eu/slipway/groups"
	"fediversity.eu/slipway/methods"
	"fediversity.eu/slipway/targets/graph"
	"fediversity.eu/slipway/targets/program"
	"fediversity.eu/slipway/targets/report"
	"fediversity.eu/slipway/targets/task"
)

// housed is a front with a group that is made of two others.
func housed() Front {
	one := func(name, machine string) groups.Group {
		return groups.Group{
			Name: name, Description: "a group", Methods: []string{"ssh"},
			Machines: []groups.Machine{{Name: machine, Description: "a machine", Modules: []string{"x.nix"}, Placement: groups.External{}}},
		}
	}
	house := groups.Group{
		Name: "house", Description: "both", Parts: []groups.Part{{Group: "host", Method: "ssh"}, {Group: "guests", Method: "ssh"}},
	}
	return Front{Registry: func() (*program.Registry, error) {
		return program.New([]groups.Group{one("host", "hv"), one("guests", "db"), house}, []methods.Method{way{}},
			func(d methods.Deployment) task.Task { return &work{d: d} })
	}}
}

func TestHelpSaysHowVariablesOfPartsAreWritten(t *testing.T) {
	t.Setenv("GUESTS_FAKE_PORT", "23")
	var b bytes.Buffer
	assert.Equal(t, housed().help(&b, []string{"house-combined", "guests-ssh-db"}), report.Healthy)
	house, db, _ := strings.Cut(b.String(), "\n\nguests-ssh-db")
	for _, want := range []string{
		"Before a variable may stand the name of the machine or of the group that it is for",
		"\n  GUESTS_FAKE_PORT\n", `now "23"`, "missing or malformed: DB_FAKE_HOST",
	} {
		assert.Assert(t, cmp.Contains(house, want))
	}
	assert.Assert(t, cmp.Contains(db, `now "23", from GUESTS_FAKE_PORT`))
	assert.Assert(t, !strings.Contains(db, "Before a variable"))
}

func TestAGraphOfPartsSaysOfWhichGroup(t *testing.T) {
	labels := func(words ...string) string {
		g, err := housed().graphOf(words)
		assert.NilError(t, err)
		var all []string
		for _, n := range g.Nodes {
			line := n.Label
			if len(n.Needs) > 0 {
				line += " after " + strings.Join(n.Needs, " ")
			}
			all = append(all, line)
		}
		return strings.Join(all, ", ")
	}
	assert.Equal(t, labels("house"), "host hv, guests db after host-ssh-hv-apply")
	assert.Equal(t, labels("house-combined-refuse"), "host hv, guests db after host-ssh-hv-refuse")
	assert.Equal(t, labels("guests"), "db")
	assert.Equal(t, labels(), "guests db, host hv", "a group that is made of others is drawn once, by its parts")

	record := &report.Record{Program: "house-combined-apply", Group: "house", Members: []*report.Record{
		{Program: "host-ssh-hv-apply", Group: "host", Machine: "hv"}, {Program: "guests-image-publish", Group: "guests", Effect: "image"},
	}}
	var drawn []string
	for _, n := range graph.Of(record).Nodes {
		drawn = append(drawn, n.Label)
	}
	assert.DeepEqual(t, drawn, []string{"host hv", "guests image"})
}

func TestTheModuleOfAGroupWithPartsIsThatOfItsParts(t *testing.T) {
	var whole, parts bytes.Buffer
	assert.Equal(t, housed().module(&whole, []string{"house"}), report.Healthy)
	assert.Equal(t, housed().module(&parts, []string{"host", "guests"}), report.Healthy)
	assert.Equal(t, whole.String(), parts.String())
	assert.Assert(t, cmp.Contains(whole.String(), `"db"`))
	assert.Assert(t, !strings.Contains(whole.String(), `"house"`))
}
