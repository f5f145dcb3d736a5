// Package statebackend is an HTTP state backend for OpenTofu that keeps states as
// files: for development, for checks, and for whoever has no other.
//
// What it acknowledged is on disk: every version of a state is a file of its own,
// written whole and synced before the answer, and so is a lock. A state's folder
// reads like this, and the last version is the state:
//
//	web/lock.json
//	web/00000041-serial-17.tfstate
//	web/00000042-serial-18.tfstate
//
// Package protocol beside it says what any such server owes to its clients.
package statebackend

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"sync"

	"golang.org/x/sys/unix"
)

// DefaultKeep is how many versions of a state are kept.
const DefaultKeep = 50

// ErrServed is a folder that another process has.
var ErrServed = errors.New("another process serves this folder")

// Options are the choices of a store.
type Options struct {
	Keep int // versions of a state that are kept, the current one included; 0 means DefaultKeep
}

// Store keeps states in a folder. One process has the folder at a time.
type Store struct {
	dir    string
	keep   int
	folder *os.File // holds the lock of the folder

	mu     sync.Mutex
	states map[string]*sync.Mutex
}

// Open opens the store in a folder, which is made where it is missing. What a
// process that was killed left half written is removed.
func Open(dir string, o Options) (*Store, error) {
	s, err := open(dir, o)
	if err != nil {
		return nil, fmt.Errorf("open state store: %w", err)
	}
	return s, nil
}

func open(dir string, o Options) (*Store, error) {
	if o.Keep < 0 {
		return nil, fmt.Errorf("can't keep %d versions: at least 1 is the state itself", o.Keep)
	}
	if o.Keep == 0 {
		o.Keep = DefaultKeep
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	folder, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	s := &Store{dir: dir, keep: o.Keep, folder: folder, states: map[string]*sync.Mutex{}}
	if err := s.prepare(); err != nil {
		return nil, errors.Join(err, folder.Close())
	}
	return s, nil
}

// prepare takes the folder for this process and clears it of remains.
func (s *Store) prepare() error {
	err := unix.Flock(int(s.folder.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return fmt.Errorf("%s: %w", s.dir, ErrServed)
	}
	if err != nil {
		return fmt.Errorf("lock %s: %w", s.dir, err)
	}
	if err := s.folder.Chmod(0o700); err != nil {
		return err
	}
	names, err := s.Names()
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := removeRemains(filepath.Join(s.dir, name)); err != nil {
			return err
		}
	}
	return nil
}

// Close gives the folder back. Nothing else has to be done: all is on disk.
func (s *Store) Close() error { return s.folder.Close() }

// Names lists the states that there are or were, in order.
func (s *Store) Names() ([]string, error) {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return nil, fmt.Errorf("list states: %w", err)
	}
	var names []string
	for _, entry := range entries {
		if entry.IsDir() && checkName(entry.Name()) == nil {
			names = append(names, entry.Name())
		}
	}
	return names, nil
}

var nameForm = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,99}$`)

// checkName holds the name of a state to what is safe as the name of a folder.
func checkName(name string) error {
	if !nameForm.MatchString(name) {
		return &inputError{fmt.Errorf("name of a state %.120q: must be 1 to 100 of a-z, 0-9, '.', '_' and '-', and begin with a letter or digit", name)}
	}
	return nil
}

// enter waits until nobody else works on a state and gives its folder, which
// need not exist.
func (s *Store) enter(name string) (dir string, leave func(), err error) {
	if err := checkName(name); err != nil {
		return "", nil, err
	}
	s.mu.Lock()
	m, ok := s.states[name]
	if !ok {
		m = &sync.Mutex{}
		s.states[name] = m
	}
	s.mu.Unlock()
	m.Lock()
	return filepath.Join(s.dir, name), m.Unlock, nil
}

// make makes the folder of a state, if need be, to last.
func (s *Store) make(dir string) error {
	err := os.Mkdir(dir, 0o700)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return s.folder.Sync()
}
