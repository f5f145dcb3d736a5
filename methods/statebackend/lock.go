package statebackend

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"fediversity.eu/slipway/internal/durable"
)

// lockFile is the file that says who holds the lock of a state.
const lockFile = "lock.json"

// lockInfo is what a client says of its lock. Only the ID means anything to us;
// all of it is kept, and shown to whoever finds the state locked.
type lockInfo struct {
	ID        string `json:"ID"`
	Operation string `json:"Operation"`
	Who       string `json:"Who"`
	Created   string `json:"Created"`

	text []byte // all of it, as compact JSON
}

// longest is how long the ID of a lock may be in bytes, as in GitLab.
const longest = 255

// parseLock reads the body of a LOCK or UNLOCK. An empty body has no ID, which is
// what the force-unlock of older clients sends.
func parseLock(text []byte) (lockInfo, error) {
	var l lockInfo
	if len(bytes.TrimSpace(text)) == 0 {
		return l, nil
	}
	if err := json.Unmarshal(text, &l); err != nil {
		return lockInfo{}, fmt.Errorf("not a lock: %w", err)
	}
	switch {
	case l.ID == "":
		return lockInfo{}, errors.New("not a lock: it has no ID")
	case len(l.ID) > longest:
		return lockInfo{}, fmt.Errorf("not a lock: its ID is longer than %d bytes", longest)
	case !printable(l.ID):
		return lockInfo{}, errors.New("not a lock: its ID can't be printed")
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, text); err != nil {
		return lockInfo{}, fmt.Errorf("not a lock: %w", err)
	}
	l.text = compact.Bytes()
	return l, nil
}

func printable(text string) bool {
	for _, r := range text {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return false
		}
	}
	return true
}

// String says who holds the lock, since when and what for.
func (l lockInfo) String() string {
	var text strings.Builder
	text.WriteString(l.ID)
	for _, part := range []struct{ before, what string }{{" of ", l.Who}, {" for ", l.Operation}, {" since ", l.Created}} {
		if part.what != "" {
			fmt.Fprintf(&text, "%s%.120q", part.before, part.what)
		}
	}
	return text.String()
}

// holder reads who holds the lock of a state; an empty ID means nobody.
func holder(dir string) (lockInfo, error) {
	text, err := os.ReadFile(filepath.Join(dir, lockFile))
	if errors.Is(err, fs.ErrNotExist) {
		return lockInfo{}, nil
	}
	if err != nil {
		return lockInfo{}, fmt.Errorf("read lock: %w", err)
	}
	l, err := parseLock(text)
	if err == nil && l.ID == "" {
		err = errors.New("it is empty")
	}
	if err != nil {
		return lockInfo{}, fmt.Errorf("%s is damaged: %w", filepath.Join(dir, lockFile), err)
	}
	return l, nil
}

// holder reads who holds the lock of a state; nobody is errAbsent.
func (s *Store) holder(name string) (lockInfo, error) {
	dir, leave, err := s.enter(name)
	if err != nil {
		return lockInfo{}, err
	}
	defer leave()
	l, err := holder(dir)
	if err == nil && l.ID == "" {
		err = errAbsent
	}
	return l, err
}

// lock takes the lock of a state. The same request once more is its client's
// retry after an answer that got lost, and no second owner: a lock has a time
// and an ID of its own.
func (s *Store) lock(name string, want lockInfo) error {
	dir, leave, err := s.enter(name)
	if err != nil {
		return err
	}
	defer leave()
	held, err := holder(dir)
	if err != nil {
		return err
	}
	if held.ID != "" {
		if bytes.Equal(held.text, want.text) {
			return durable.Sync(dir)
		}
		return &lockedError{held}
	}
	if err := s.make(dir); err != nil {
		return fmt.Errorf("store lock: %w", err)
	}
	if err := durable.Write(filepath.Join(dir, lockFile), want.text); err != nil {
		return fmt.Errorf("store lock: %w", err)
	}
	return nil
}

// unlock gives the lock of a state back. Only its holder can, or who says that
// it does not matter whose it is, by an empty ID. A lock that is gone already is
// a retry and no error.
func (s *Store) unlock(name, id string) error {
	dir, leave, err := s.enter(name)
	if err != nil {
		return err
	}
	defer leave()
	held, err := holder(dir)
	if err != nil && id != "" {
		return err
	}
	if err == nil && held.ID != "" && id != "" && held.ID != id {
		return &lockedError{held}
	}
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := removeFile(dir, lockFile); err != nil {
		return fmt.Errorf("remove lock: %w", err)
	}
	return nil
}
