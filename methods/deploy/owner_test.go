package deploy

import (
	"testing"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/groups"
	"fediversity.eu/slipway/methods"
	"fediversity.eu/slipway/methods/nixos"
	"fediversity.eu/slipway/targets/report"
)

func TestWhose(t *testing.T) {
	reach := Reach{Deployment: methods.Deployment{Group: groups.Group{Name: "operator"}, Machine: groups.Machine{Name: "web"}}}
	for _, c := range []struct {
		name, owner, takeOver string
		want                  report.Code
	}{
		{name: "no mark"},
		{name: "its own", owner: "operator-web"},
		{name: "another's", owner: "operator-db", want: report.Refused},
		{name: "another's, taken over", owner: "operator-db", takeOver: "operator-db"},
		{name: "another's, and a third is to be taken over from", owner: "operator-db", takeOver: "operator-mail", want: report.Refused},
		{name: "its own, after it was taken over", owner: "operator-web", takeOver: "operator-db"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := reach.whose(nixos.Machine{Mark: nixos.Mark{Owner: c.owner}}, OwnerKeys{TakeOver: c.takeOver})
			assert.Equal(t, report.CodeOf(err), c.want)
		})
	}
}
