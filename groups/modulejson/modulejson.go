// Package modulejson writes what groups declare as module.json, the file by which
// a module source says what lies in it, and reads it again.
//
// For each group it has three layers. machines says what NixOS evaluates of a
// machine and what a machine must answer, resources what is made for a machine,
// effects what the standalone steps do. Which programs there are is in no layer:
// that is compiled in.
package modulejson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"fediversity.eu/slipway/groups"
)

// File is the name of the file in a module source.
const File = "module.json"

// Version is the version of the form that this package writes, and the newest that
// it reads.
const Version = 1

// Module is what a module.json says.
type Module struct{ document document }

type document struct {
	Version int                `json:"version"`
	Groups  map[string]Layered `json:"groups"`
}

// Layered is what is declared for one group, in its layers.
type Layered struct {
	Machines  map[string]system   `json:"machines,omitempty"`
	Resources map[string]resource `json:"resources,omitempty"`
	Effects   effects             `json:"effects,omitzero"`
}

// Of gives the module of groups, but for those that are made of others, which have no
// layers of their own. The error names everything that has no form in a
// module.json.
func Of(declared ...groups.Group) (Module, error) {
	m := Module{document{Version: Version, Groups: map[string]Layered{}}}
	var faults []error
	for _, group := range declared {
		if len(group.Parts) > 0 {
			continue // what is declared is declared of its parts
		}
		layered := Layered{
			Machines: map[string]system{}, Resources: map[string]resource{}, Effects: effectsOf(group),
		}
		for _, machine := range group.Machines {
			var err, failed error
			layered.Machines[machine.Name], err = systemOf(machine)
			layered.Resources[machine.Name], failed = resourceOf(machine)
			if err := errors.Join(err, failed); err != nil {
				faults = append(faults, fmt.Errorf("machine %s of %s: %w", machine.Name, group.Name, err))
			}
		}
		m.document.Groups[group.Name] = layered
	}
	return m, errors.Join(faults...)
}

// Bytes writes the module: the same for the same declarations, to the byte.
func (m Module) Bytes() ([]byte, error) { return write(m.document, "  ") }

func write(value any, indent string) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", indent)
	err := encoder.Encode(value)
	return b.Bytes(), err
}

// Read reads a module.json. What it does not know it refuses: a layer that is only
// half understood is not the layer that somebody pinned.
func Read(text []byte) (Module, error) {
	var form struct {
		Version *int `json:"version"`
	}
	if err := json.Unmarshal(text, &form); err != nil {
		return Module{}, fmt.Errorf("no JSON object: %w", err)
	}
	switch {
	case form.Version == nil:
		return Module{}, errors.New(`no "version"`)
	case *form.Version > Version:
		return Module{}, fmt.Errorf("it is of format version %d, and this program reads %d: a newer program is needed", *form.Version, Version)
	case *form.Version < 1:
		return Module{}, fmt.Errorf("there is no format version %d", *form.Version)
	}
	var m Module
	if err := strictly(text, &m.document); err != nil {
		return Module{}, err
	}
	for name, layered := range m.document.Groups {
		for machine, resource := range layered.Resources {
			if resource.Placement.Placement == nil {
				return Module{}, fmt.Errorf("resources of machine %s of %s: no placement; one is needed, of %s", machine, name, listed(kinds))
			}
		}
		for _, image := range layered.Effects.Image {
			if err := below(image.Modules); err != nil {
				return Module{}, fmt.Errorf("image %s of %s: %w", image.Name, name, err)
			}
		}
	}
	return m, nil
}

// strictly decodes one JSON value that has no field too many, and nothing after it.
func strictly(text []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the object")
	}
	return nil
}

// Group gives what is declared for a group. The error names the groups that there
// are.
func (m Module) Group(name string) (Layered, error) {
	layered, ok := m.document.Groups[name]
	if !ok {
		return Layered{}, fmt.Errorf("it declares no group %s; it has %s", name, listed(m.document.Groups))
	}
	return layered, nil
}

func listed[V any](of map[string]V) string {
	if len(of) == 0 {
		return "none"
	}
	return strings.Join(slices.Sorted(maps.Keys(of)), ", ")
}

// UseMachines gives a group the machines layer.
func (l Layered) UseMachines(group *groups.Group) error {
	return each(group, "machines", l.Machines, system.use)
}

// UseResources gives a group the resources layer.
func (l Layered) UseResources(group *groups.Group) error {
	return each(group, "resources", l.Resources, resource.use)
}

// each changes the machines of a group, in a list of its own.
func each[V any](group *groups.Group, layer string, declared map[string]V, use func(V, *groups.Machine) error) error {
	group.Machines = slices.Clone(group.Machines)
	var faults []error
	for i := range group.Machines {
		machine := &group.Machines[i]
		value, ok := declared[machine.Name]
		if !ok {
			faults = append(faults, fmt.Errorf("%s: it declares no machine %s of %s; it has %s", layer, machine.Name, group.Name, listed(declared)))
			continue
		}
		if err := use(value, machine); err != nil {
			faults = append(faults, fmt.Errorf("%s: machine %s: %w", layer, machine.Name, err))
		}
	}
	return errors.Join(faults...)
}

// UseEffect gives a group what is declared for an effect, which may be nothing.
func (l Layered) UseEffect(group *groups.Group, name string) {
	if use, ok := uses[name]; ok {
		use(l.Effects, group)
	}
}

// SameResources tells whether the resources layer of another says the same.
func (l Layered) SameResources(other Layered) bool { return same(l.Resources, other.Resources) }

// SameEffects tells whether the effects layer of another says the same.
func (l Layered) SameEffects(other Layered) bool { return same(l.Effects, other.Effects) }

// same compares as written, where nil and empty are one.
func same(a, b any) bool {
	first, err := write(a, "")
	second, failed := write(b, "")
	return err == nil && failed == nil && bytes.Equal(first, second)
}
