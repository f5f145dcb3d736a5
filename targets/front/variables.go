package front

import (
	"maps"
	"slices"

	"fediversity.eu/slipway/targets/contract"
	"fediversity.eu/slipway/targets/env"
)

// variables lists the keys of everything that there is to call, sorted by name, with
// who reads each: programs, tasks, and the commands of the binary.
func (f Front) variables() ([]contract.Key, error) {
	c, err := f.published()
	if err != nil {
		return nil, err
	}
	all := c.Keys()
	for _, t := range f.Tasks {
		read, err := readBy("the task "+t.Name, t.Keys)
		if err != nil {
			return nil, err
		}
		all = append(all, read...)
	}
	read, err := CommandKeys()
	return merged(append(all, read...)), err
}

// CommandKeys lists the keys that commands of the binary read themselves, sorted by
// name. The error is an *env.DeclarationError.
func CommandKeys() ([]contract.Key, error) {
	var all []contract.Key
	for _, c := range commands() {
		read, err := readBy("slipway "+c.name, c.keys)
		if err != nil {
			return nil, err
		}
		all = append(all, read...)
	}
	return merged(all), nil
}

func readBy(reader string, structs []any) ([]contract.Key, error) {
	declared, err := env.Declared(structs...)
	keys := make([]contract.Key, 0, len(declared))
	for _, key := range declared {
		keys = append(keys, contract.Key{Key: key, Readers: []string{reader}})
	}
	return keys, err
}

// merged lists each key once, as the first that has its name declares it.
func merged(keys []contract.Key) []contract.Key {
	byName := map[string]contract.Key{}
	for _, key := range keys {
		if other, ok := byName[key.Name]; ok {
			other.Readers = append(slices.Clone(other.Readers), key.Readers...)
			key = other
		}
		byName[key.Name] = key
	}
	list := make([]contract.Key, 0, len(byName))
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		list = append(list, byName[name])
	}
	return list
}
