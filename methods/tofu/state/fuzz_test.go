package state

import (
	"testing"

	"gotest.tools/v3/assert"
)

// FuzzParse reads whatever a backend could give: what is taken for a state can be marked,
// numbered and compared, and says the same of itself afterwards.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		``, `null`, `{}`, `{"version":4}`, `{"version":4,"lineage":"l","serial":3}`, `<html>`,
		`{"version":4,"lineage":"l","serial":1,"outputs":{"slipway_bootstrap":{"value":"{\"run\":\"r\"}","type":"string"}}}`,
		`{"version":4,"lineage":"l","outputs":null,"resources":[{"mode":"managed","type":"t","name":"n","instances":[{"index_key":"k","attributes":{"id":"1"}},{"index_key":0,"attributes":null}]}]}`,
		`{"serial":1,"lineage":"l","encrypted_data":"c2VjcmV0"}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		kind, s, err := Judge(true, text)
		if kind == Absent || kind == Garbage {
			assert.Assert(t, s == nil)
			assert.Equal(t, err != nil, kind == Garbage)
			return
		}
		assert.NilError(t, err)
		assert.Assert(t, s.Lineage != "")
		assert.Assert(t, Equal(text, s.Raw))
		holds := s.Held()
		for _, o := range s.Made() {
			assert.Assert(t, holds(o.Address, o.ID), "%v", o)
		}
		if s.Encrypted {
			return
		}
		marked, err := s.WithMarker(&Marker{Run: "r"})
		assert.NilError(t, err)
		again, err := Parse(marked.Raw)
		assert.NilError(t, err)
		assert.Equal(t, again.Marker.Run, "r")
		assert.DeepEqual(t, again.Made(), s.Made())
		numbered, err := s.WithSerial(s.Serial + 1)
		assert.NilError(t, err)
		assert.Assert(t, Digest(numbered.Raw) != Digest(s.Raw))
		plain, err := Unmarked(marked.Raw)
		assert.NilError(t, err)
		last, err := Parse(plain)
		assert.NilError(t, err)
		assert.Assert(t, last.Marker == nil)
		assert.DeepEqual(t, last.Made(), s.Made())
	})
}
