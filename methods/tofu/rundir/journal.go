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
	"syscall"

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
	versions, _ := d.versions() // those that stay are the older
	for _, older := range versions {
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
func (d *Dir) versions() ([]string, error) { return matches(d.journal(), "*.json") }

// unwritten are the files into which OpenTofu wrote what nobody took.
func (d *Dir) unwritten() ([]string, error) {
	runs, err := matches(d.Path, "run-*")
	faults := []error{err}
	var found []string
	for _, run := range runs {
		folders, err := matches(run, "*")
		faults = append(faults, err)
		for _, folder := range folders {
			files, err := matches(folder, errored)
			found, faults = append(found, files...), append(faults, err)
		}
	}
	return found, errors.Join(faults...)
}

// matches are the paths of what lies in a folder under a name of a form. What is no
// folder holds nothing. The folder is the caller's, so its own name is no form.
func matches(folder, form string) ([]string, error) {
	entries, err := os.ReadDir(folder)
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, nil
	}
	var found []string
	for _, e := range entries {
		if fits, _ := filepath.Match(form, e.Name()); fits { // the forms are sound
			found = append(found, filepath.Join(folder, e.Name()))
		}
	}
	return found, err
}

// Stored notes that the newest version is in the backend. A note that is lost with
// the power costs a comparison.
func (d *Dir) Stored() error {
	versions, err := d.versions()
	faults := []error{err}
	for _, path := range append(versions, filepath.Join(d.journal(), markerName)) {
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
	paths, err := d.versions()
	faults := []error{err}
	var marker *state.Marker
	if text, err := os.ReadFile(filepath.Join(d.journal(), markerName)); err == nil && len(paths) > 0 {
		if err := json.Unmarshal(text, &marker); err != nil {
			return nil, nil, fmt.Errorf("read %s: %w", filepath.Join(d.journal(), markerName), err)
		}
	}
	late, err := d.unwritten()
	faults = append(faults, err)
	var found []Version
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
