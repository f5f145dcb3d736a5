package state

import (
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
)

// two is a state as OpenTofu writes it, with one of each kind of address.
const two = `{
  "version": 4, "terraform_version": "1.12.6", "serial": 7, "lineage": "l-1",
  "outputs": {"name": {"value": "x", "type": "string"}, "big": {"value": 12345678901234567890, "type": "number"}},
  "resources": [
    {"mode": "managed", "type": "terraform_data", "name": "a", "provider": "p", "instances": [
      {"index_key": 0, "attributes": {"id": "a-0"}}, {"index_key": 12, "attributes": {"id": "a-12"}}]},
    {"module": "module.m[\"k\"]", "mode": "managed", "type": "terraform_data", "name": "b", "instances": [
      {"index_key": "x\"y", "attributes": {"id": "b-x"}}, {"index_key": "x\"y", "deposed": "0ff", "attributes": {"id": "b-old"}}]},
    {"mode": "managed", "type": "terraform_data", "name": "e", "instances": [{"index_key": "${a} %{b} $c", "attributes": {"id": "e"}}]},
    {"mode": "managed", "type": "machine", "name": "c", "instances": [{"attributes": {"name": "c"}}]},
    {"mode": "managed", "type": "numbered", "name": "n", "instances": [{"attributes": {"id": 10000000}}, {"index_key": 1, "attributes": {"id": null}}]},
    {"mode": "data", "type": "file", "name": "d", "instances": [{"attributes": {"id": "d"}}]}
  ]}`

func TestJudge(t *testing.T) {
	for _, c := range []struct {
		name    string
		present bool
		body    string
		want    Kind
		why     string
	}{
		{"nothing said to be there", false, "", Absent, ""},
		{"text beside a not found", false, "not found", Absent, ""},
		{"an empty answer", true, "", Absent, ""},
		{"a blank answer", true, " \n", Garbage, "not JSON"},
		{"an empty object", true, "{}", Garbage, "no lineage"},
		{"null", true, "null", Garbage, "no lineage"},
		{"a version alone", true, `{"version":4}`, Garbage, "no lineage"},
		{"no version", true, `{"lineage":"l"}`, Garbage, "no version"},
		{"an older version", true, `{"version":3,"lineage":"l"}`, Garbage, "version is 3"},
		{"a page", true, "<html>Sign in</html>", Garbage, "not JSON"},
		{"cut off", true, two[:len(two)/2], Garbage, "not JSON"},
		{"a list", true, "[]", Garbage, "not JSON of a state"},
		{"an alien marker", true, `{"version":4,"lineage":"l","outputs":{"slipway_bootstrap":{"value":"x","type":"string"}}}`, Garbage, "no marker"},
		{"no objects", true, `{"version":4,"lineage":"l","serial":3,"resources":[]}`, Empty, ""},
		{"outputs without objects", true, `{"version":4,"lineage":"l","outputs":{"a":{"value":1,"type":"number"}}}`, Empty, ""},
		{"only what was read", true, `{"version":4,"lineage":"l","resources":[{"mode":"data","type":"a","name":"b","instances":[{}]}]}`, Empty, ""},
		{"objects", true, two, Sound, ""},
		{"encrypted", true, `{"serial":2,"lineage":"l","encrypted_data":"AAAA","encryption_version":"v0"}`, Sound, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			kind, s, err := Judge(c.present, []byte(c.body))
			assert.Equal(t, kind, c.want)
			if c.why != "" {
				assert.ErrorContains(t, err, c.why)
				assert.Assert(t, s == nil)
				return
			}
			assert.NilError(t, err)
		})
	}
}

func TestObjects(t *testing.T) {
	s, err := Parse([]byte(two))
	assert.NilError(t, err)
	assert.DeepEqual(t, s.Objects(), []string{
		"machine.c", `module.m["k"].terraform_data.b["x\"y"]`, "numbered.n", "numbered.n[1]", "terraform_data.a[0]", "terraform_data.a[12]",
		`terraform_data.e["$${a} %%{b} $c"]`,
	})
	assert.Assert(t, s.Holds("terraform_data.a[12]", "a-12"))
	assert.Assert(t, s.Holds(`module.m["k"].terraform_data.b["x\"y"]`, "b-old"), "a deposed object is still there")
	assert.Assert(t, s.Holds("machine.c", "whatever"), "an object without an id is known by its address")
	assert.Assert(t, s.Holds("numbered.n", "10000000"), "an id may be a number")
	assert.Assert(t, !s.Holds("numbered.n[1]", "10000000"), "an id may be none")
	assert.Assert(t, !s.Holds("terraform_data.a[12]", "another"))
	assert.Assert(t, !s.Holds("terraform_data.a[1]", ""))
	assert.Assert(t, !s.Holds("file.d", ""), "what was read was not made")
}

func TestMarkerGoesInAndOut(t *testing.T) {
	m := &Marker{Run: "r1", Host: "h", Dir: "/d", At: time.Unix(1000, 0).UTC()}
	seed, err := Seed("l-2", "1.12.6", m)
	assert.NilError(t, err)
	kind, s, err := Judge(true, seed)
	assert.NilError(t, err)
	assert.Equal(t, kind, Begun)
	assert.Equal(t, s.Serial, uint64(1))
	assert.DeepEqual(t, s.Marker, m)

	marked, err := Marked([]byte(two), m)
	assert.NilError(t, err)
	kind, s, err = Judge(true, marked)
	assert.NilError(t, err)
	assert.Equal(t, kind, Begun)
	assert.Equal(t, len(s.Objects()), 7)
	assert.Equal(t, len(s.Outputs), 2, "the marker is no output of the configuration")

	plain, err := Unmarked(marked)
	assert.NilError(t, err)
	kind, _, err = Judge(true, plain)
	assert.NilError(t, err)
	assert.Equal(t, kind, Sound)
	assert.Assert(t, strings.Contains(string(plain), "12345678901234567890"), "numbers stay to the digit")

	numbered, err := Numbered(plain, 9)
	assert.NilError(t, err)
	s, err = Parse(numbered)
	assert.NilError(t, err)
	assert.Equal(t, s.Serial, uint64(9))
}

func TestAVersionIsAsItWouldBeRead(t *testing.T) {
	s, err := Parse([]byte(two))
	assert.NilError(t, err)
	marked, err := s.WithMarker(&Marker{Run: "r1", Host: "h", Dir: "/d", At: time.Unix(1000, 0).UTC()})
	assert.NilError(t, err)
	numbered, err := s.WithSerial(9)
	assert.NilError(t, err)
	for _, version := range []*State{marked, numbered} {
		read, err := Parse(version.Raw)
		assert.NilError(t, err)
		assert.DeepEqual(t, read.Objects(), version.Objects())
		read.Resources, read.Outputs = version.Resources, version.Outputs // written more densely
		assert.DeepEqual(t, read, version)
	}
	assert.Assert(t, s.Marker == nil && s.Serial == 7 && string(s.Raw) == two, "it is another")
}

func TestEqual(t *testing.T) {
	assert.Assert(t, Equal([]byte(`{"a": 1}`), []byte("{\"a\":1}\n")))
	assert.Assert(t, !Equal([]byte(`{"a":1}`), []byte(`{"a":2}`)))
	assert.Assert(t, !Equal([]byte(`{"a":1}`), []byte(`<html>`)))
	assert.Assert(t, !Equal(nil, []byte(`{}`)))
}

func TestTainted(t *testing.T) {
	for _, c := range []struct {
		name   string
		orphan Orphan
		where  string
	}{
		{"in a block that is there", Orphan{Type: "terraform_data", Name: "a", Key: 3.0, IDName: "id", ID: "a-3"}, "terraform_data.a[3]"},
		{"in a module's", Orphan{Module: `module.m["k"]`, Type: "terraform_data", Name: "b", Key: "z", IDName: "id", ID: "b-z"}, `module.m["k"].terraform_data.b["z"]`},
		{"in a new block", Orphan{Module: "module.n", Type: "thing", Name: "t", Provider: "example.org/a/thing", Schema: 2, IDName: "id", ID: "t"}, "module.n.thing.t"},
	} {
		t.Run(c.name, func(t *testing.T) {
			before, err := Parse([]byte(two))
			assert.NilError(t, err)
			raw, err := Tainted([]byte(two), c.orphan)
			assert.NilError(t, err)
			after, err := Parse(raw)
			assert.NilError(t, err)
			assert.Equal(t, after.Serial, before.Serial+1)
			assert.Equal(t, len(after.Objects()), len(before.Objects())+1)
			assert.Assert(t, after.Holds(c.where, c.orphan.ID))
			assert.Assert(t, strings.Contains(string(raw), "12345678901234567890"), "numbers stay to the digit")
		})
	}
}
