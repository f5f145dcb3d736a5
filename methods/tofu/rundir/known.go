package rundir

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"fediversity.eu/slipway/methods/tofu/state"
)

// known is the file that lists the versions of the state that the backend can have
// without anybody else having written it: the one that a run began from, and each that
// the run sent, whether or not it heard that it arrived.
func (d *Dir) known() string { return d.file("known") }

// note is a line of it.
type note struct {
	Lineage string `json:"lineage"`
	Serial  uint64 `json:"serial"`
	Digest  string `json:"sha256"` // state.Digest
}

func noteOf(s *state.State) note { return note{s.Lineage, s.Serial, state.Digest(s.Raw)} }

// Know notes a version that the run began from, or is about to send. When it returns,
// the note survives a loss of power.
func (d *Dir) Know(s *state.State) error {
	line, err := json.Marshal(noteOf(s))
	if err != nil {
		return err
	}
	file, err := os.OpenFile(d.known(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err == nil {
		_, err = fmt.Fprintf(file, "\n%s\n", line) // a loss of power may have cut off the line before
		err = errors.Join(err, file.Sync(), file.Close())
	}
	if err != nil {
		return fmt.Errorf("note the version that the backend has: %w", err)
	}
	return nil
}

// Known reports whether a version is one that a run here began from or sent. A line
// that was cut off by a loss of power tells of nothing that was sent.
func (d *Dir) Known(s *state.State) (bool, error) {
	text, err := os.ReadFile(d.known())
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	wanted := noteOf(s)
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		var k note
		if json.Unmarshal(lines.Bytes(), &k) == nil && k == wanted {
			return true, nil
		}
	}
	return false, lines.Err()
}

// asidePrefix begins the names of folders of what was put aside. No run removes one.
const asidePrefix = "aside-"

// Aside moves the versions that lie here out of the way of the runs to come, and
// gives the folder that has them from now on. What can't be moved stays as it was.
func (d *Dir) Aside(versions []Version) (string, error) {
	folder := d.file(asidePrefix + d.Run)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return folder, err
	}
	for i, v := range versions {
		if err := os.Rename(v.Path, filepath.Join(folder, fmt.Sprintf("%s-%d-%d.tfstate", v.State.Lineage, v.State.Serial, i))); err != nil {
			return folder, err
		}
	}
	for _, path := range []string{d.known(), filepath.Join(d.journal(), markerName)} {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return folder, err
		}
	}
	return folder, nil
}
