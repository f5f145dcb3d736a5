package nixos

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"
	"gotest.tools/v3/fs"

	"fediversity.eu/slipway/groups"
	"fediversity.eu/slipway/groups/operator"
	"fediversity.eu/slipway/targets/report"
)

func TestFactsThatLookLikeSlips(t *testing.T) {
	t.Parallel()
	dir := fs.NewDir(t, "modules", fs.WithDir("site",
		fs.WithFile("web.nix", "{ coordinates, ... }: { a = coordinates.hosting.authorizedKeys or [ ]; b = coordinates.hosting.sites; }"),
		fs.WithFile("db.nix", "{ coordinates, lib, ... }: lib.mkIf (coordinates.hosting ? privateNetworks) { }"),
		fs.WithFile("odd.nix", "{ coordinates, ... }: { a = coordinates.hosting.\"my-fact\"; b = coordinates\n  .hosting\n  .deep.inner; }"),
		fs.WithFile("notes.md", "coordinates.hosting.incusNetwork"),
	))
	read, err := factsOf(dir.Path())
	assert.NilError(t, err)
	assert.DeepEqual(t, read, []string{"authorizedKeys", "deep", "my-fact", "privateNetworks", "sites"})

	for facts, want := range map[string]string{
		`{"authorizedKeys":[],"sites":{}}`:        "",
		`{"authorisedKeys":[]}`:                   "authorizedKeys",
		`{"authorizedkeys":[]}`:                   "authorizedKeys",
		`{"authorizedKey":[]}`:                    "authorizedKeys",
		`{"site":{}}`:                             "sites",
		`{"privateNetwork":[]}`:                   "privateNetworks",
		`{"provider":"example","incusNetwork":1}`: "",
		`{}`: "",
	} {
		var meant string
		for _, typo := range misspelt(json.RawMessage(facts), read) {
			meant += typo.Meant
		}
		assert.Equal(t, meant, want, facts)
	}
}

func TestASlipInAFactIsAWarning(t *testing.T) {
	t.Parallel()
	source, err := OpenSource(operator.Group(), t.TempDir())
	assert.NilError(t, err)
	c, err := NewCoordinates(groups.Group{Name: "operator"}, groups.Machine{Name: "web"}, "example.org", `{"authorisedKeys":["ssh-ed25519 AAAA"],"provider":"x"}`)
	assert.NilError(t, err)
	var said bytes.Buffer
	System{Source: source, Coordinates: c}.warnOfFacts(report.NewLog(report.Plain(&said)))
	assert.Equal(t, strings.Count(said.String(), "\n"), 1, said.String())
	assert.Assert(t, cmp.Contains(said.String(), "HOSTING_CONFIG: no module reads the fact authorisedKeys; did you mean authorizedKeys?"))
}
