package state

import (
	"encoding/json"
	"fmt"
)

// Orphan is an object of which nothing is known but where it belongs and its id.
type Orphan struct {
	Module, Type, Name string
	Key                any    // of its instance; nil is none
	Provider           string // source address
	Schema             uint64 // version of the type's schema
	IDName, ID         string // the attribute that names it, and its value
}

// Tainted is a state, of the next serial, that holds the object too, for OpenTofu to
// remove it and to make it again.
func Tainted(raw []byte, d Orphan) ([]byte, error) {
	instance := map[string]any{
		"status": "tainted", "schema_version": d.Schema, "attributes": map[string]string{d.IDName: d.ID}, "sensitive_attributes": []any{},
	}
	if d.Key != nil {
		instance["index_key"] = d.Key
	}
	return edit(raw, func(form map[string]json.RawMessage) error {
		var serial uint64
		var resources []map[string]json.RawMessage
		if err := json.Unmarshal(form["serial"], &serial); err != nil {
			return err
		}
		if err := json.Unmarshal(form["resources"], &resources); err != nil {
			return err
		}
		resources, err := put(resources, d, instance)
		if err != nil {
			return err
		}
		if form["resources"], err = json.Marshal(resources); err != nil {
			return err
		}
		form["serial"], err = json.Marshal(serial + 1)
		return err
	})
}

// put adds an instance to the resource that it is of.
func put(resources []map[string]json.RawMessage, d Orphan, instance map[string]any) ([]map[string]json.RawMessage, error) {
	added, err := json.Marshal(instance)
	if err != nil {
		return nil, err
	}
	for _, r := range resources {
		var known Resource
		text, err := json.Marshal(r)
		if err == nil {
			err = json.Unmarshal(text, &known)
		}
		if err != nil {
			return nil, err
		}
		if known.Mode != managed || known.Module != d.Module || known.Type != d.Type || known.Name != d.Name {
			continue
		}
		var instances []json.RawMessage
		if err := json.Unmarshal(r["instances"], &instances); err != nil {
			return nil, err
		}
		r["instances"], err = json.Marshal(append(instances, added))
		return resources, err
	}
	made := map[string]any{
		"mode": managed, "type": d.Type, "name": d.Name, "provider": fmt.Sprintf("provider[%q]", d.Provider), "instances": []json.RawMessage{added},
	}
	if d.Module != "" {
		made["module"] = d.Module
	}
	text, err := json.Marshal(made)
	if err != nil {
		return nil, err
	}
	var r map[string]json.RawMessage
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, err
	}
	return append(resources, r), nil
}
