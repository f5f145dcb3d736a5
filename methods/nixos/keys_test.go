package nixos

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/groups"
	"fediversity.eu/slipway/targets/report"
)

func TestCoordinatesOfAnEvaluation(t *testing.T) {
	file := filepath.Join(t.TempDir(), "hosting.json")
	assert.NilError(t, os.WriteFile(file, []byte("{\n  \"provider\": \"example\"\n}\n"), 0o600))
	array := filepath.Join(t.TempDir(), "array.json")
	assert.NilError(t, os.WriteFile(array, []byte("[]"), 0o600))
	for _, c := range []struct {
		name    string
		hosting string
		want    string // JSON
		err     []string
	}{
		{"none", "", `{}`, nil},
		{"inline", `{"b":1,"a":[true,null]}`, `{"a":[true,null],"b":1}`, nil},
		{"inline with space around it", " \n{ \"a\" : 1 }\n", `{"a":1}`, nil},
		{"a file", file, `{"provider":"example"}`, nil},
		{"an empty object", "{}", `{}`, nil},
		{"letters that HTML minds", `{"a":"<&>"}`, `{"a":"\u003c\u0026\u003e"}`, nil},
		{"numbers keep their digits", `{"id":1234567890123456789,"x":1.10}`, `{"id":1234567890123456789,"x":1.10}`, nil},
		{"a file that is not there", "/no/such/file", "", []string{"read HOSTING_CONFIG (/no/such/file): there is no such file"}},
		{"a file of a home folder", "~/hosting.json", "", []string{"read HOSTING_CONFIG (~/hosting.json): starts with ~, which only a shell expands"}},
		{"a folder", t.TempDir(), "", []string{": can't be read: ", "is a directory"}},
		{"an array", `["a"]`, "", []string{"read HOSTING_CONFIG (inline): not a JSON object"}},
		{"a text", `"a"`, "", []string{"read HOSTING_CONFIG (inline): not a JSON object"}},
		{"only blanks", " \n", "", []string{"read HOSTING_CONFIG (inline): not a JSON object"}},
		{"a file with an array", array, "", []string{array, "not a JSON object"}},
		{"no JSON", `{"a":`, "", []string{"read HOSTING_CONFIG (inline)", "not a JSON object"}},
		{"two objects", `{} {}`, "", []string{"not a JSON object"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := NewCoordinates(groups.Group{Name: "operator"}, groups.Machine{Name: "web"}, "example.org", c.hosting)
			if c.err != nil {
				assert.Equal(t, report.CodeOf(err), report.Usage)
				for _, text := range c.err {
					assert.ErrorContains(t, err, text)
				}
				return
			}
			assert.NilError(t, err)
			assert.DeepEqual(t, got, Coordinates{Group: "operator", Machine: "web", Domain: "example.org", Hosting: json.RawMessage(c.want)})
		})
	}
}

func TestNullIsNoObject(t *testing.T) {
	file := filepath.Join(t.TempDir(), "hosting.json")
	assert.NilError(t, os.WriteFile(file, []byte("null"), 0o600))
	_, err := NewCoordinates(groups.Group{}, groups.Machine{}, "", file)
	assert.ErrorContains(t, err, "null is no object")
}

func TestSpacingIsNoChange(t *testing.T) {
	of := func(hosting string) Coordinates {
		c, err := NewCoordinates(groups.Group{}, groups.Machine{}, "", hosting)
		assert.NilError(t, err)
		return c
	}
	assert.DeepEqual(t, of(`{"b":{"d":1,"c":2},"a":3}`), of("{ \"a\": 3,\n\"b\": {\"c\":2, \"d\":1} }"))
}
