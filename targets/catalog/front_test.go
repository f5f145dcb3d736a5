package catalog

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"fediversity.eu/slipway/targets/front"
	"fediversity.eu/slipway/targets/report"
)

func TestTofuGoesRoundNoVerb(t *testing.T) {
	for _, c := range []struct {
		words string
		code  report.Code
	}{
		{"operator-tf-web", report.Healthy},
		{"operator-tf-web -help", report.Healthy},
		{"operator-tf-web init", report.Healthy},
		{"operator-tf-web-plan init -upgrade", report.Healthy},
		{"operator-tf-web apply", report.Refused},
		{"operator-tf-web apply -auto-approve", report.Refused},
		{"operator-tf-web destroy", report.Refused},
		{"operator-tf-web refresh", report.Refused},
		{"operator-tf-web import a b", report.Refused},
		{"operator-tf-web force-unlock x", report.Refused},
		{"operator-tf-web state rm a", report.Refused},
		{"operator-tf-web state push x", report.Refused},
		{"operator-tf-web state pull", report.Refused},
		{"operator-tf-web taint a", report.Refused},
		{"operator-tf-web workspace new x", report.Refused},
		{"operator-tf-web console", report.Refused},
		{"operator-tf-web -chdir=/tmp apply", report.Refused},
		{"operator-tf-web plan -out=x", report.Refused},
		{"operator-tf-web plan -destroy", report.Refused},
		{"operator-tf-web output address", report.Refused},
		{"operator-tf-web state show", report.Usage},     // ADDRESS is missing
		{"operator-tf-web output -json", report.Usage},   // where the state is, is missing
		{"operator-tf-web plan -no-color", report.Usage}, // as above
		{"operator-tf-web state list", report.Usage},     // as above
		{"operator-ssh-web plan", report.Usage},          // keeps no state
		{"operator-tf-all state list", report.Usage},     // has several
		{"operator-tf-wbe state list", report.Usage},     // is nobody
		{"", report.Usage},
	} {
		err := front.Command(Front(), append([]string{"tofu"}, strings.Fields(c.words)...)...)
		assert.Equal(t, report.CodeOf(err), c.code, "tofu %s", c.words)
	}
}

func TestWhatOpenTofuIsGivenCanBeRead(t *testing.T) {
	r, err := Registry()
	assert.NilError(t, err)
	for name, want := range map[string]int{"operator-tf-web": 1, "operator-tf-web-validate": 1, "operator-ssh-web": 0, "operator-tf-all": 0, "operator-web": 0} {
		p, ok := r.Find(name)
		assert.Assert(t, ok, name)
		files, err := r.Configuration(p)
		assert.NilError(t, err)
		assert.Assert(t, cmp.Len(files, want), name)
	}
	p, _ := r.Find("operator-tf-web")
	files, err := r.Configuration(p)
	assert.NilError(t, err)
	assert.Assert(t, cmp.Contains(string(files["main.tf.json"]), "slipway_machine"))
}
