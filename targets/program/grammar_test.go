package program

import (
	"go/token"
	"testing"

	"gotest.tools/v3/assert"
)

func TestWords(t *testing.T) {
	for _, c := range []struct {
		name  string
		word  string
		valid bool
	}{
		{"a letter", "a", true},
		{"a word", "web", true},
		{"with digits", "hv1", true},
		{"words joined by hyphens", "hosting-provider", true},
		{"a part that is a number", "db-1", true},
		{"a part that begins with a digit", "web-2nd", true},
		{"empty", "", false},
		{"a digit first", "1web", false},
		{"a hyphen first", "-web", false},
		{"a hyphen last", "web-", false},
		{"two hyphens", "web--1", false},
		{"capitals", "Web", false},
		{"an underscore", "web_1", false},
		{"a dot", "web.1", false},
		{"a space", "web 1", false},
		{"a colon", "web:1", false},
		{"a letter of another alphabet", "wéb", false},
		{"a line end", "web\n", false},
		{"a slash", "../web", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := checkWord("machine", c.word)
			if c.valid {
				assert.NilError(t, err)
				return
			}
			assert.ErrorContains(t, err, "not a name; valid are lower-case letters and digits")
		})
	}
}

func TestTargetIsTheNameInCamelCase(t *testing.T) {
	for _, c := range []struct{ group, name, want string }{
		{"operator", "operator-tf-web-apply", "operator:tfWebApply"},
		{"hosting-provider", "hosting-provider-tf-incus-gateway-state-list", "hostingProvider:tfIncusGatewayStateList"},
		{"operator", "operator-dns", "operator:dns"},
		{"operator", "operator-web", "operator:web"},
		{"operator", "operator-ssh-db-1-apply", "operator:sshDb1Apply"},
		{"operator", "operator-all-plan", "operator:allPlan"},
		{"a-b", "a-b-web", "aB:web"},
		{"a", "a-a-web", "a:aWeb"},
	} {
		t.Run(c.name, func(t *testing.T) {
			assert.Equal(t, Target(c.group, c.name), c.want)
		})
	}
}

func TestCamelIsAnExportedGoName(t *testing.T) {
	for name, want := range map[string]string{
		"web": "Web", "state-list": "StateList", "tf-incus-operator": "TfIncusOperator", "db-1": "Db1", "": "",
	} {
		got := Camel(name)
		assert.Equal(t, got, want)
		assert.Assert(t, got == "" || token.IsExported(got) && token.IsIdentifier(got))
	}
}
