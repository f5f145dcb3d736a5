package program

import (
	"fmt"
	"maps"
	"slices"

	"fediversity.eu/slipway/targets/env"
)

// KeySet is a set of keys that is published under a name.
type KeySet struct {
	Name string // "deploy", "deploy ssh", "standalone", "node"
	Keys []env.Key
}

// KeySets lists the keys of all programs: those of deployments, those of
// deployments by each method, those of effects, and those that are one machine's
// own. Where
// programs declare a key differently, the stricter form stands.
func (r *Registry) KeySets() ([]KeySet, error) {
	every, standalone, node := map[string]env.Key{}, map[string]env.Key{}, map[string]env.Key{}
	by := map[string]map[string]env.Key{}
	for _, method := range r.methodNames() {
		by[method] = map[string]env.Key{}
	}
	for _, p := range r.Programs() {
		if p.Aggregate() {
			continue // it reads what its members read
		}
		keys, err := r.Keys(p)
		if err != nil {
			return nil, fmt.Errorf("keys of %s: %w", p.Name, err)
		}
		for _, key := range keys {
			if key.Scope == env.ScopeMachine {
				strictest(node, key)
			}
			if p.Kind == Standalone {
				strictest(standalone, key)
				continue
			}
			strictest(every, key)
			if p.Method != "" {
				strictest(by[p.Method], key)
			}
		}
	}
	sets := []KeySet{{Name: "deploy", Keys: sorted(every)}}
	for _, method := range r.methodNames() {
		sets = append(sets, KeySet{Name: "deploy " + method, Keys: sorted(by[method])})
	}
	return append(sets, KeySet{Name: "standalone", Keys: sorted(standalone)}, KeySet{Name: "node", Keys: sorted(node)}), nil
}

func strictest(known map[string]env.Key, key env.Key) {
	if other, ok := known[key.Name]; !ok || (key.Required && !other.Required) {
		known[key.Name] = key
	}
}

func sorted(keys map[string]env.Key) []env.Key {
	list := make([]env.Key, 0, len(keys))
	for _, name := range slices.Sorted(maps.Keys(keys)) {
		list = append(list, keys[name])
	}
	return list
}
