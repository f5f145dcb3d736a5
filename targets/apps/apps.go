// Package apps makes a folder of executables of one binary: a link for each name
// that it knows itself by.
package apps

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// notes is the file in the folder that remembers, one a line, which binaries its
// links lead to, by absolute path, and which links were made. Links of these names
// to any of these binaries are ours, also when the binary has moved.
const notes = ".slipway-apps"

// Result is what Link did.
type Result struct {
	Made    int // links that were not there, or led elsewhere
	Kept    int // links that were right already
	Removed int // links of ours whose names are gone
}

// ForeignError names what stands in the way and is not ours.
type ForeignError struct{ Paths []string }

func (e *ForeignError) Error() string {
	return "not made by this program: " + strings.Join(e.Paths, ", ")
}

// Link makes dir hold a link to binary, an absolute path, for each of names, and
// removes links of ours that have other names. Each change is a rename or the
// removal of one link, so that a run that is cut off leaves nothing by halves and
// the next one goes on. Whatever is not ours is left; where it has one of names,
// nothing is changed and the error is a *ForeignError.
func Link(dir, binary string, names []string) (Result, error) {
	var r Result
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // programs for everybody's PATH
		return r, fmt.Errorf("make the folder: %w", err)
	}
	before, err := recall(dir)
	if err != nil {
		return r, err
	}
	binaries := append(before.binaries, binary)
	present, err := present(dir, binaries)
	if err != nil {
		return r, err
	}
	var foreign []string
	for _, name := range names {
		if target, ok := present[name]; ok && target == "" {
			foreign = append(foreign, filepath.Join(dir, name))
		}
	}
	if len(foreign) > 0 {
		slices.Sort(foreign)
		return r, &ForeignError{Paths: foreign}
	}
	// Before the first link, so that a run that is cut off is known to the next.
	if err := (made{binaries, slices.Concat(before.names, names)}).remember(dir); err != nil {
		return r, err
	}
	wanted := map[string]bool{}
	for _, name := range names {
		wanted[name] = true
		if present[name] == binary {
			r.Kept++
			continue
		}
		if err := replace(dir, name, func(path string) error { return os.Symlink(binary, path) }); err != nil {
			return r, fmt.Errorf("link %s: %w", name, err)
		}
		r.Made++
	}
	for name, target := range present {
		if target == "" || wanted[name] || !before.name(name) {
			continue
		}
		err := os.Remove(filepath.Join(dir, name))
		switch {
		case err == nil:
			r.Removed++
		case !errors.Is(err, fs.ErrNotExist): // of a run that was cut off, and is in its place now
			return r, fmt.Errorf("remove the link of a program that is gone: %w", err)
		}
	}
	return r, made{[]string{binary}, names}.remember(dir)
}

// present lists what is in a folder: of a link to one of our binaries where it
// leads, of anything else nothing.
func present(dir string, ours []string) (map[string]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("read the folder: %w", err)
	}
	all := make(map[string]string, len(entries))
	for _, entry := range entries {
		all[entry.Name()] = ""
		if entry.Type()&fs.ModeSymlink == 0 {
			continue
		}
		if target, err := os.Readlink(filepath.Join(dir, entry.Name())); err == nil && slices.Contains(ours, target) {
			all[entry.Name()] = target
		}
	}
	return all, nil
}

// made is what the notes say of earlier runs.
type made struct{ binaries, names []string }

// name tells whether a run made the link of a name, or began to.
func (m made) name(name string) bool {
	return slices.Contains(m.names, name) || strings.HasPrefix(name, notes+"-")
}

func recall(dir string) (made, error) {
	var m made
	text, err := os.ReadFile(filepath.Join(dir, notes))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return m, fmt.Errorf("read which links are ours: %w", err)
	}
	for line := range strings.SplitSeq(string(text), "\n") {
		switch {
		case filepath.IsAbs(line):
			m.binaries = append(m.binaries, line)
		case line != "":
			m.names = append(m.names, line)
		}
	}
	return m, nil
}

func (m made) remember(dir string) error {
	lines := slices.Compact(slices.Sorted(slices.Values(slices.Concat(m.binaries, m.names))))
	text := strings.Join(lines, "\n") + "\n"
	err := replace(dir, notes, func(path string) error { return os.WriteFile(path, []byte(text), 0o644) }) //nolint:gosec // says nothing that the links do not
	if err != nil {
		return fmt.Errorf("note which links are ours: %w", err)
	}
	return nil
}

// replace puts what write makes in the place of name, at once.
func replace(dir, name string, write func(path string) error) error {
	half := filepath.Join(dir, notes+"-"+name)
	if err := os.Remove(half); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := write(half); err != nil {
		return err
	}
	return os.Rename(half, filepath.Join(dir, name))
}
