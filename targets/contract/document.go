package contract

import (
	"bytes"
	_ "embed" // the schema
	"encoding/json"
	"fmt"
)

// Schema is the JSON Schema (draft 2020-12) of the documents.
//
//go:embed contract.schema.json
var Schema []byte

// Document gives the whole contract as JSON: what is baked into a front-end.
func (c *Contract) Document() ([]byte, error) {
	return document(section("programs", c.Programs), section("readers", c.Readers), section("sets", c.Sets), section("fixed", c.Fixed))
}

// ProgramsDocument gives the programs alone.
func (c *Contract) ProgramsDocument() ([]byte, error) {
	return document(section("programs", c.Programs))
}

// KeysDocument gives the sets of keys, and who reads what.
func (c *Contract) KeysDocument() ([]byte, error) {
	return document(section("readers", c.Readers), section("sets", c.Sets), section("fixed", c.Fixed))
}

// part is one list of a document.
type part struct {
	name  string
	write func(*bytes.Buffer) error
}

// section writes one item a line: a change of one is one line in a difference.
func section[T any](name string, items []T) part {
	return part{name, func(b *bytes.Buffer) error {
		for i, item := range items {
			text, err := json.Marshal(item)
			if err != nil {
				return err
			}
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString("\n    ")
			b.Write(text)
		}
		return nil
	}}
}

func document(parts ...part) ([]byte, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "{\n  \"version\": %d", Version)
	for _, p := range parts {
		fmt.Fprintf(&b, ",\n  %q: [", p.name)
		if err := p.write(&b); err != nil {
			return nil, fmt.Errorf("write the contract: %s: %w", p.name, err)
		}
		b.WriteString("\n  ]")
	}
	b.WriteString("\n}\n")
	return b.Bytes(), nil
}
