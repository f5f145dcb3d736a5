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

// Keep writes a version of the state into the journal, and notes that it is not
// in the backend yet. When it returns, both survive a loss of power.
func (d *Dir) Keep(s *state.State) (path string, err error) {
	name := fmt.Sprintf("%s-%d.json", s.Lineage, s.Serial)
	path = filepath.Join(d.journal(), name)
	if err := write(path, s.Raw); err != nil {
		return "", fmt.Errorf("journal the state: %w", err)
	}
	note, err := json.Marshal(name)
	if err != nil {
		return "", err
	}
	if err := write(d.file(pendingName), note); err != nil {
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
// the pending one, and what the tofu of any run could not write.
func (d *Dir) Leftovers() ([]Version, error) {
	var paths []string
	if note, err := os.ReadFile(d.file(pendingName)); err == nil {
		var name string
		if err := json.Unmarshal(note, &name); err != nil || filepath.Base(name) != name {
			return nil, fmt.Errorf("read %s: it names no version", d.file(pendingName))
		}
		paths = append(paths, filepath.Join(d.journal(), name))
	}
	late, _ := filepath.Glob(filepath.Join(d.Path, "run-*", errored))
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
	return found, errors.Join(faults...)
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
