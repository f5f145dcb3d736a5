//go:build checks

package checks

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/targets/report"
)

// valid holds JSON documents, one or one a line, to a published schema.
func valid(t *testing.T, schema []byte, documents ...[]byte) {
	t.Helper()
	compiled := compile(t, schema)
	for _, text := range documents {
		document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		assert.NilError(t, err, "%s", text)
		assert.NilError(t, compiled.Validate(document), "%s", text)
	}
}

// compile reads a JSON Schema.
func compile(t *testing.T, schema []byte) *jsonschema.Schema {
	t.Helper()
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	assert.NilError(t, err)
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	assert.NilError(t, compiler.AddResource("schema.json", document))
	compiled, err := compiler.Compile("schema.json")
	assert.NilError(t, err)
	return compiled
}

// events reads what a run with PROGRESS=json said, every line of it.
func (o outcome) events(t *testing.T) []report.Event {
	t.Helper()
	var events []report.Event
	var lines [][]byte
	for line := range strings.Lines(o.stderr) {
		var e report.Event
		assert.NilError(t, json.Unmarshal([]byte(line), &e), "%q", line)
		events, lines = append(events, e), append(lines, []byte(line))
	}
	valid(t, report.EventSchema, lines...)
	return events
}

// of gives the events of one kind.
func of(kind report.Kind, events []report.Event) []report.Event {
	var list []report.Event
	for _, e := range events {
		if e.Kind == kind {
			list = append(list, e)
		}
	}
	return list
}
