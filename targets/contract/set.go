package contract

import (
	"maps"
	"slices"

	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/program"
)

// Set is a set of keys that is published under a name: "deploy" has those of all
// deployments, "deploy ssh" and the like those of deployments by one method,
// "standalone" those of effects, and "node" those that are one machine's own.
type Set struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Keys        []Key  `json:"keys"`
}

// Key is a declared key and who reads it.
type Key struct {
	env.Key
	Readers []string `json:"readers"` // names of Readers
}

// sets lists the keys of all programs. Where readers declare a key differently,
// the stricter form stands; what each of them requires is said with the Reader.
func sets(r *program.Registry, readers *readers) []Set {
	every, standalone, node := map[string]Key{}, map[string]Key{}, map[string]Key{}
	by := map[string]map[string]Key{}
	for _, method := range r.Methods() {
		by[method.Name()] = map[string]Key{}
	}
	for _, reader := range readers.all() {
		for _, key := range reader.keys {
			if key.Scope == env.ScopeMachine {
				strictest(node, key, reader.name)
			}
			if reader.kind == program.Standalone {
				strictest(standalone, key, reader.name)
				continue
			}
			strictest(every, key, reader.name)
			if reader.via != "" {
				strictest(by[reader.via], key, reader.name)
			}
		}
	}
	list := []Set{{"deploy", "read by programs that deploy or build a machine", sorted(every)}}
	for _, method := range r.Methods() {
		list = append(list, Set{"deploy " + method.Name(), "read by programs of the method " + method.Name(), sorted(by[method.Name()])})
	}
	return append(list,
		Set{"standalone", "read by effects, which are no machines", sorted(standalone)},
		Set{"node", "one machine's own: written with its name before it in a run of several", sorted(node)})
}

func strictest(known map[string]Key, key env.Key, reader string) {
	other, ok := known[key.Name]
	own := Key{Key: key, Readers: append(other.Readers, reader)}
	if ok && (other.Required || !key.Required) {
		own.Key = other.Key
	}
	known[key.Name] = own
}

func sorted(keys map[string]Key) []Key {
	list := make([]Key, 0, len(keys))
	for _, name := range slices.Sorted(maps.Keys(keys)) {
		list = append(list, keys[name])
	}
	return list
}

// Keys lists the keys of all programs, each once.
func (c *Contract) Keys() []Key {
	known := map[string]Key{}
	for _, set := range c.Sets {
		for _, key := range set.Keys {
			if other, ok := known[key.Name]; ok {
				readers := append(slices.Clone(other.Readers), key.Readers...)
				slices.Sort(readers)
				if other.Required || !key.Required {
					key.Key = other.Key
				}
				key.Readers = slices.Compact(readers)
			}
			known[key.Name] = key
		}
	}
	return sorted(known)
}
