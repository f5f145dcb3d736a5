package rundir

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"fediversity.eu/slipway/methods/tofu/state"
)

const (
	pendingName = "pending"
	errored     = "errored.tfstate" // OpenTofu's name for what it could not write
)

// Version is a state that an earlier run left here.
type Version struct {
	State *state.State
	Path  string
}

// note says which version is not in the backend yet, and of which bootstrap it is.
type note struct {
	Version string
	Marker  *state.Marker
}

// Keep writes a version of the state into the journal, and notes that it is not
// in the backend yet; m is the bootstrap that it belongs to, if any. When it
// returns, both survive a loss of power.
func (d *Dir) Keep(s *state.State, m *state.Marker) (path string, err error) {
	name := fmt.Sprintf("%s-%d.json", s.Lineage, s.Serial)
	path = filepath.Join(d.journal(), name)
	if err := write(path, s.Raw); err != nil {
		return "", fmt.Errorf("journal the state: %w", err)
	}
	text, err := json.Marshal(note{Version: name, Marker: m})
	if err != nil {
		return "", err
	}
	if err := write(d.file(pendingName), text); err != nil {
		return "", fmt.Errorf("journal the state: %w", err)
	}
	return path, nil
}

// Stored notes that the newest version is in the backend.
func (d *Dir) Stored() error {
	err := os.Remove(d.file(pendingName))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return errors.Join(err, syncDir(d.Path))
}

// Leftovers are the versions that may be newer than the backend's, newest first:
// the pending one, and what the tofu of any run could not write. The marker is
// that of the bootstrap that they belong to.
func (d *Dir) Leftovers() ([]Version, *state.Marker, error) {
	var paths []string
	var pending note
	if text, err := os.ReadFile(d.file(pendingName)); err == nil {
		if err := json.Unmarshal(text, &pending); err != nil || filepath.Base(pending.Version) != pending.Version {
			return nil, nil, fmt.Errorf("read %s: it names no version", d.file(pendingName))
		}
		paths = append(paths, filepath.Join(d.journal(), pending.Version))
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
	return found, pending.Marker, errors.Join(faults...)
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

// write puts a file there, whole or not at all, for good.
func write(path string, text []byte) error {
	file, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(file.Name()) }()
	_, err = file.Write(text)
	if err == nil {
		err = file.Sync()
	}
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err == nil {
		err = syncDir(filepath.Dir(path))
	}
	return err
}

func syncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }()
	return dir.Sync()
}
