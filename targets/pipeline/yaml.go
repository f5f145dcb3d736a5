package pipeline

import (
	"bytes"

	"go.yaml.in/yaml/v3"
)

// entry is one key of a mapping, and its value.
type entry struct {
	key   string
	value any
}

// mapping is one that keeps its order.
type mapping []entry

var _ yaml.Marshaler = mapping(nil)

// MarshalYAML is what the encoder writes of m.
func (m mapping) MarshalYAML() (any, error) {
	node := &yaml.Node{Kind: yaml.MappingNode}
	for _, e := range m {
		var key, value yaml.Node
		key.SetString(e.key)
		if err := value.Encode(e.value); err != nil {
			return nil, err
		}
		node.Content = append(node.Content, &key, &value)
	}
	return node, nil
}

// with adds an entry where its value is something.
func (m mapping) with(some bool, key string, value any) mapping {
	if !some {
		return m
	}
	return append(m, entry{key, value})
}

// document writes a mapping behind a comment.
func document(comment string, m mapping) ([]byte, error) {
	const indent = 2
	b := bytes.NewBufferString(comment)
	encoder := yaml.NewEncoder(b)
	encoder.SetIndent(indent)
	if err := encoder.Encode(m); err != nil {
		return nil, err
	}
	if err := encoder.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
