package statebackend

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"time"

	"fediversity.eu/slipway/internal/durable"
)

// Version is one version of a state.
type Version struct {
	Number  uint64 // counts the versions of this state, from 1
	Serial  uint64 // of the state, 0 when Deleted
	Deleted bool   // the state was deleted, and this tells so
	Stored  time.Time
	Size    int64
	Path    string // of its file
}

var versionForm = regexp.MustCompile(`^([0-9]{8,19})-(?:serial-([0-9]{1,20})\.tfstate|(deleted))$`)

// Versions lists the versions of a state that are kept, oldest first. The last
// one is the state.
func (s *Store) Versions(name string) ([]Version, error) {
	dir, leave, err := s.enter(name)
	if err != nil {
		return nil, err
	}
	defer leave()
	return versions(dir)
}

func versions(dir string) ([]Version, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list versions: %w", err)
	}
	var list []Version
	for _, entry := range entries {
		parts := versionForm.FindStringSubmatch(entry.Name())
		if parts == nil {
			continue
		}
		v := Version{Deleted: parts[3] != "", Path: filepath.Join(dir, entry.Name())}
		number, err := strconv.ParseUint(parts[1], 10, 64)
		if err == nil && !v.Deleted {
			v.Serial, err = strconv.ParseUint(parts[2], 10, 64)
		}
		if err != nil {
			return nil, fmt.Errorf("list versions: %s: %w", v.Path, err)
		}
		info, err := entry.Info()
		if err != nil {
			return nil, fmt.Errorf("list versions: %w", err)
		}
		v.Number, v.Stored, v.Size = number, info.ModTime(), info.Size()
		list = append(list, v)
	}
	slices.SortFunc(list, func(a, b Version) int { return cmp.Compare(a.Number, b.Number) })
	return list, nil
}

// stored is a state as it is on disk.
type stored struct {
	state
	text []byte
	last Version
}

// current reads the state: the last version. A file that is no state is an error
// and never "no state", which would make OpenTofu begin anew.
func current(list []Version) (stored, error) {
	if len(list) == 0 || list[len(list)-1].Deleted {
		return stored{}, errAbsent
	}
	last := list[len(list)-1]
	text, err := os.ReadFile(last.Path)
	if err != nil {
		return stored{}, fmt.Errorf("read state: %w", err)
	}
	st, err := parseState(text)
	if err != nil {
		return stored{}, fmt.Errorf("%s is damaged: %w; without this file the version before it is the state", last.Path, err)
	}
	return stored{st, text, last}, nil
}

// read gives the bytes of a state.
func (s *Store) read(name string) (stored, error) {
	dir, leave, err := s.enter(name)
	if err != nil {
		return stored{}, err
	}
	defer leave()
	list, err := versions(dir)
	if err != nil {
		return stored{}, err
	}
	return current(list)
}

// write makes text the state. With force it may replace what it does not follow.
func (s *Store) write(name, lock string, text []byte, force bool) error {
	next, err := parseState(text)
	if err != nil {
		return &inputError{err}
	}
	return s.change(name, lock, func(dir string, list []Version) error {
		now, err := current(list)
		switch {
		case errors.Is(err, errAbsent):
		case err != nil && !force:
			return err
		case err == nil && bytes.Equal(now.text, text):
			// It was stored, and the answer got lost or said otherwise.
			return durable.Sync(dir)
		case err == nil && !force:
			if err := next.follows(now.state); err != nil {
				return err
			}
		}
		return s.add(dir, list, fmt.Sprintf("serial-%d.tfstate", next.serial), text)
	})
}

// remove makes a state absent. Its versions stay.
func (s *Store) remove(name, lock string) error {
	return s.change(name, lock, func(dir string, list []Version) error {
		if len(list) == 0 || list[len(list)-1].Deleted {
			return nil
		}
		return s.add(dir, list, "deleted", nil)
	})
}

// change runs what changes a state, unless somebody else holds its lock. A lock
// that nobody holds any more is no reason to refuse: whoever broke it would make
// a run that still lives lose what it made, and nothing newer is overwritten.
func (s *Store) change(name, lock string, do func(dir string, list []Version) error) error {
	dir, leave, err := s.enter(name)
	if err != nil {
		return err
	}
	defer leave()
	held, err := holder(dir)
	if err != nil {
		return err
	}
	if held.ID != "" && held.ID != lock {
		return &lockedError{held}
	}
	list, err := versions(dir)
	if err != nil {
		return err
	}
	return do(dir, list)
}

// add writes the next version and lets the oldest go.
func (s *Store) add(dir string, list []Version, what string, text []byte) error {
	number := uint64(1)
	if len(list) > 0 {
		number = list[len(list)-1].Number + 1
	}
	if err := s.make(dir); err != nil {
		return fmt.Errorf("store state: %w", err)
	}
	if err := durable.Write(filepath.Join(dir, fmt.Sprintf("%08d-%s", number, what)), text); err != nil {
		return fmt.Errorf("store state: %w", err)
	}
	for _, old := range list[:max(0, len(list)+1-s.keep)] {
		_ = os.Remove(old.Path) // the next write tries again
	}
	return nil
}
