package statebackend

import (
	"encoding/json"
	"testing"

	"gotest.tools/v3/assert"
)

func TestALockSaysWhose(t *testing.T) {
	l, err := parseLock([]byte(` {"ID": "1b2c", "Operation": "OperationTypeApply", "Info": "", "Who": "me@here", "Version": "1.12.6", "Created": "2026-01-02T03:04:05Z", "Path": "", "Extra": [1]} `))
	assert.NilError(t, err)
	assert.Equal(t, l.String(), `1b2c of "me@here" for "OperationTypeApply" since "2026-01-02T03:04:05Z"`)
	assert.Equal(t, string(l.text), `{"ID":"1b2c","Operation":"OperationTypeApply","Info":"","Who":"me@here","Version":"1.12.6","Created":"2026-01-02T03:04:05Z","Path":"","Extra":[1]}`)
	l, err = parseLock([]byte(" \n"))
	assert.NilError(t, err)
	assert.Equal(t, l.ID, "")
}

// FuzzParseLock: whatever a client sends, what is kept of it can be read again and
// says the same.
func FuzzParseLock(f *testing.F) {
	for _, text := range []string{
		"", "null", "{}", `{"ID":"x"}`, `{"ID":"x","Created":"0001-01-01T00:00:00Z"}`, `{"id":"x","ID":"y"}`, `{"ID":"\ud800"}`,
		"{\"ID\":\"\xff\"}", `{"ID":"a\nb"}`, `[{"ID":"x"}]`, `{"ID":"x"}{"ID":"y"}`, "\x00",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		l, err := parseLock(text)
		if err != nil || l.ID == "" {
			assert.Assert(t, l.text == nil && l.ID == "")
			return
		}
		assert.Assert(t, json.Valid(l.text))
		assert.Assert(t, len(l.ID) <= longest && printable(l.ID))
		again, err := parseLock(l.text)
		assert.NilError(t, err)
		assert.DeepEqual(t, again.text, l.text)
		assert.Equal(t, again.String(), l.String())
	})
}
