// Package state reads what a state backend gave, and judges whether it is a state
// at all: to OpenTofu alone an absent, an empty and an unrelated one all mean that
// nothing was ever made.
package state

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// State is a state of format 4, in clear or encrypted. Of an encrypted one only
// lineage and serial can be read.
type State struct {
	Raw       []byte
	Lineage   string
	Serial    uint64
	Encrypted bool
	Sealed    bool    // encrypted, and nobody with its key has looked
	Marker    *Marker // of a bootstrap that has not ended
	Outputs   map[string]Output
	Resources []Resource
}

// Output is one output value.
type Output struct {
	Value     json.RawMessage `json:"value"`
	Type      json.RawMessage `json:"type"`
	Sensitive bool            `json:"sensitive,omitempty"`
}

// Resource is one resource block with its instances.
type Resource struct {
	Module    string     `json:"module"`
	Mode      string     `json:"mode"`
	Type      string     `json:"type"`
	Name      string     `json:"name"`
	Instances []Instance `json:"instances"`
}

// Instance is one object of a resource.
type Instance struct {
	Key        any             `json:"index_key"`
	Deposed    string          `json:"deposed"`
	Status     string          `json:"status"`
	Stays      bool            `json:"skip_destroy"` // it was declared so, whatever is declared now
	Attributes json.RawMessage `json:"attributes"`   // most of a state, and seldom asked for
}

// ID is the attribute id, where the instance has one.
func (i Instance) ID() (id string, ok bool) {
	var attributes map[string]json.RawMessage
	if json.Unmarshal(i.Attributes, &attributes) != nil {
		return "", false
	}
	value, ok := attributes["id"]
	if json.Unmarshal(value, &id) != nil {
		id = string(value)
	}
	return id, ok
}

// managed is the mode of a resource that was made, not only read.
const managed = "managed"

// Parse reads a state. The error says in a few words why it is none.
func Parse(raw []byte) (*State, error) {
	var form struct {
		Version   *int              `json:"version"`
		Serial    uint64            `json:"serial"`
		Lineage   string            `json:"lineage"`
		Outputs   map[string]Output `json:"outputs"`
		Resources []Resource        `json:"resources"`
		Encrypted json.RawMessage   `json:"encrypted_data"`
	}
	if err := json.Unmarshal(raw, &form); err != nil {
		return nil, fmt.Errorf("it is not JSON of a state: %w", err)
	}
	s := &State{
		Raw: raw, Lineage: form.Lineage, Serial: form.Serial, Outputs: form.Outputs, Resources: form.Resources,
		Encrypted: len(form.Encrypted) > 0,
	}
	switch {
	case form.Lineage == "":
		return nil, errors.New("it has no lineage")
	case s.Encrypted:
		s.Sealed = true
		return s, nil
	case form.Version == nil:
		return nil, errors.New("it has no version")
	case *form.Version != 4:
		return nil, fmt.Errorf("its version is %d, known is 4", *form.Version)
	}
	if mark, ok := form.Outputs[markerName]; ok {
		marker, err := readMarker(mark)
		if err != nil {
			return nil, err
		}
		s.Marker = marker
		delete(s.Outputs, markerName)
	}
	return s, nil
}

// Objects are the addresses of all that was made, sorted; deposed objects too.
func (s *State) Objects() []string {
	found := map[string]bool{}
	for _, r := range s.Resources {
		if r.Mode != managed {
			continue
		}
		for _, i := range r.Instances {
			found[r.address(i)] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// Object is one object with the id that its provider gave it, where it has one.
type Object struct{ Address, ID string }

// String says it for a person.
func (o Object) String() string {
	if o.ID == "" {
		return o.Address
	}
	return o.Address + " (" + o.ID + ")"
}

// Made lists all that was made, by address and id.
func (s *State) Made() []Object {
	var all []Object
	for _, r := range s.Resources {
		if r.Mode != managed {
			continue
		}
		for _, i := range r.Instances {
			id, _ := i.ID()
			all = append(all, Object{r.address(i), id})
		}
	}
	slices.SortFunc(all, func(a, b Object) int { return cmp.Or(cmp.Compare(a.Address, b.Address), cmp.Compare(a.ID, b.ID)) })
	return all
}

// Empty tells whether it holds no object, whatever outputs it has.
func (s *State) Empty() bool {
	return !s.Sealed && len(s.Objects()) == 0
}

// Kind is what it is by what it holds.
func (s *State) Kind() Kind {
	switch {
	case s.Marker != nil:
		return Begun
	case s.Empty():
		return Empty
	default:
		return Sound
	}
}

// Unseal takes in what an encrypted state holds, as somebody with its key read it.
func (s *State) Unseal(text []byte) error {
	open, err := Parse(text)
	if err != nil {
		return err
	}
	if open.Lineage != s.Lineage || open.Serial != s.Serial {
		return fmt.Errorf("it holds lineage %s, serial %d, and says %s, %d", open.Lineage, open.Serial, s.Lineage, s.Serial)
	}
	s.Sealed, s.Marker, s.Outputs, s.Resources = false, open.Marker, open.Outputs, open.Resources
	return nil
}

// Holds tells whether the object of an address and id is in the state. Without an
// id any object of the address is.
func (s *State) Holds(address, id string) bool { return s.Held()(address, id) }

// Held is Holds for many objects: it goes through the state once.
func (s *State) Held() func(address, id string) bool {
	found := map[string][]Instance{}
	for _, r := range s.Resources {
		if r.Mode != managed {
			continue
		}
		for _, i := range r.Instances {
			address := r.address(i)
			found[address] = append(found[address], i)
		}
	}
	return func(address, id string) bool {
		return slices.ContainsFunc(found[address], func(i Instance) bool {
			if id == "" {
				return true
			}
			known, ok := i.ID()
			return !ok || known == id
		})
	}
}

// Stays tells whether an object was declared to outlive its removal from the state.
func (s *State) Stays(address string) bool {
	for _, r := range s.Resources {
		for _, i := range r.Instances {
			if i.Stays && r.Mode == managed && r.address(i) == address {
				return true
			}
		}
	}
	return false
}

// templates are what OpenTofu's language would replace within quotes.
var templates = strings.NewReplacer("${", "$${", "%{", "%%{")

// address is how OpenTofu names an object: module.a.type.name["key"].
func (r Resource) address(i Instance) string {
	text := r.Type + "." + r.Name
	if r.Module != "" {
		text = r.Module + "." + text
	}
	switch key := i.Key.(type) {
	case string:
		text += "[" + templates.Replace(strconv.Quote(key)) + "]"
	case float64:
		text += "[" + strconv.FormatFloat(key, 'f', -1, 64) + "]"
	}
	return text
}
