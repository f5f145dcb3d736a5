package modulejson

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"

	"fediversity.eu/slipway/groups"
)

// system is a machine in the machines layer.
type system struct {
	System  string   `json:"system,omitempty"` // platform as Nix writes it
	Modules []string `json:"modules"`
	Probes  []probe  `json:"probes,omitempty"`
}

func systemOf(m groups.Machine) (system, error) {
	s := system{System: m.System, Modules: m.Modules}
	var faults []error
	for _, p := range m.Probes {
		written, err := probeOf(p)
		faults = append(faults, err)
		s.Probes = append(s.Probes, written)
	}
	return s, errors.Join(faults...)
}

func (s system) use(m *groups.Machine) error {
	if len(s.Modules) == 0 {
		return errors.New("no NixOS module")
	}
	if err := below(s.Modules); err != nil {
		return err
	}
	m.System, m.Modules, m.Probes = s.System, s.Modules, nil
	for _, p := range s.Probes {
		read, err := p.probe()
		if err != nil {
			return fmt.Errorf("probe %q: %w", p.Name, err)
		}
		m.Probes = append(m.Probes, read)
	}
	return nil
}

// below tells which of some modules are not below the source.
func below(modules []string) error {
	for _, module := range modules {
		if !filepath.IsLocal(module) {
			return fmt.Errorf("module %q is not below the source", module)
		}
	}
	return nil
}

// resource is a machine in the resources layer.
type resource struct {
	Placement placement        `json:"placement"`
	Incus     groups.Instance  `json:"incus,omitzero"`
	Database  *groups.Database `json:"database,omitempty"`
	Mount     *groups.Mount    `json:"mount,omitempty"`
}

func resourceOf(m groups.Machine) (resource, error) {
	if _, err := kindOf(m.Placement); err != nil {
		return resource{}, err
	}
	return resource{placement{m.Placement}, m.Incus, m.Database, m.Mount}, nil
}

func (r resource) use(m *groups.Machine) error {
	if r.Placement.Placement == nil {
		return errors.New("no placement")
	}
	m.Placement, m.Incus, m.Database, m.Mount = r.Placement.Placement, r.Incus, r.Database, r.Mount
	return nil
}

// kinds are the placements by the names that they have in a module.json.
var kinds = map[string]groups.Placement{
	"external": groups.External{},
	"local":    groups.Local{},
}

func kindOf(p groups.Placement) (string, error) {
	for name, kind := range kinds {
		if reflect.TypeOf(kind) == reflect.TypeOf(p) {
			return name, nil
		}
	}
	return "", fmt.Errorf("placement %T has no form in %s", p, File)
}

// placement is written as an object with one field, whose name is the kind.
type placement struct{ groups.Placement }

func (p placement) MarshalJSON() ([]byte, error) {
	if p.Placement == nil {
		return []byte("null"), nil
	}
	kind, err := kindOf(p.Placement)
	if err != nil {
		return nil, err
	}
	return json.Marshal(map[string]any{kind: p.Placement})
}

func (p *placement) UnmarshalJSON(text []byte) error {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(text, &object); err != nil {
		return fmt.Errorf("placement: %w", err)
	}
	if len(object) != 1 {
		return fmt.Errorf("placement: it has %d kinds; one is needed, of %s", len(object), listed(kinds))
	}
	for name, facts := range object {
		kind, ok := kinds[name]
		if !ok {
			return fmt.Errorf("placement: unknown kind %q; known are %s", name, listed(kinds))
		}
		read := reflect.New(reflect.TypeOf(kind))
		if err := strictly(facts, read.Interface()); err != nil {
			return fmt.Errorf("placement %s: %w", name, err)
		}
		p.Placement = read.Elem().Interface().(groups.Placement) //nolint:forcetypeassert // kinds holds nothing else
	}
	return nil
}
