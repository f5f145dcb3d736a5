package rundir

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"fediversity.eu/slipway/internal/durable"
	"fediversity.eu/slipway/methods/tofu/state"
)

const (
	markerName = "bootstrap"       // in the journal
	errored    = "errored.tfstate" // OpenTofu's name for what it could not write
)

// Version is a state that an earlier run left here.
type Version struct {
	State *state.State
	Path  string
}

// Keep writes a version of the state into the journal: what lies there is not
// known to be in the backend. m is the bootstrap that it belongs to, if any. When
// it returns, both survive a loss of power.
func (d *Dir) Keep(s *state.State, m *state.Marker) (path string, err error) {
	if err := d.mark(m); err != nil {
		return "", fmt.Errorf("journal the state: %w", err)
	}
	path = filepath.Join(d.journal(), fmt.Sprintf("%s-%d.json", s.Lineage, s.Serial))
	if err := durable.Write(path, s.Raw); err != nil {
		return "", fmt.Errorf("journal the state: %w", err)
	}
	for _, older := range d.versions() {
		if older != path {
			_ = os.Remove(older) // one that comes back with the power is the older
		}
	}
	return path, nil
}

// mark notes of which bootstrap the versions are, which changes seldom.
func (d *Dir) mark(m *state.Marker) error {
	path := filepath.Join(d.journal(), markerName)
	if m == nil {
		err := os.Remove(path)
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		return errors.Join(err, durable.Sync(d.journal()))
	}
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	if there, err := os.ReadFile(path); err == nil && bytes.Equal(there, text) {
		return nil
	}
	return durable.Write(path, text)
}

// versions are the files of the journal.
func (d *Dir) versions() []string {
	found, _ := filepath.Glob(filepath.Join(d.journal(), "*.json"))
	return found
}

// Stored notes that the newest version is in the backend. A note that is lost with
// the power costs a comparison.
func (d *Dir) Stored() error {
	var faults []error
	for _, path := range append(d.versions(), filepath.Join(d.journal(), markerName)) {
		if err := os.Remove(path); !errors.Is(err, os.ErrNotExist) {
			faults = append(faults, err)
		}
	}
	return errors.Join(faults...)
}

// Leftovers are the versions that may be newer than the backend's, newest first:
// those of the journal, and what the tofu of any run could not write. The marker
// is that of the bootstrap that they belong to.
func (d *Dir) Leftovers() ([]Version, *state.Marker, error) {
	paths := d.versions()
	var marker *state.Marker
	if text, err := os.ReadFile(filepath.Join(d.journal(), markerName)); err == nil && len(paths) > 0 {
		if err := json.Unmarshal(text, &marker); err != nil {
			return nil, nil, fmt.Errorf("read %s: %w", filepath.Join(d.journal(), markerName), err)
		}
	}
	late, _ := filepath.Glob(filepath.Join(d.Path, "run-*", "*", errored))
	var found []Version
	var faults []error
	for _, path := range append(paths, late...) {
		raw, err := os.ReadFile(path)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		if len(raw) == 0 && filepath.Base(path) == errored {
			continue // its tofu died while it opened the file
		}
		s, err := state.Parse(raw)
		if err != nil {
			faults = append(faults, fmt.Errorf("read %s: %w", path, err))
			continue
		}
		found = append(found, Version{State: s, Path: path})
	}
	slices.SortStableFunc(found, func(a, b Version) int { return cmp.Compare(b.State.Serial, a.State.Serial) })
	return found, marker, errors.Join(faults...)
}

// Knows tells whether a run of that name worked here.
func (d *Dir) Knows(run string) bool {
	for _, path := range []string{d.file("run-" + run), d.file("events-" + run + ".jsonl")} {
		if _, err := os.Stat(path); err == nil {
			return true
		}
	}
	_, m, err := d.Leftovers()
	return err == nil && m != nil && m.Run == run
}
