package rundir

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// Drop removes the folder of a run that is over, with what it noted elsewhere.
func Drop(work string) error {
	entries, err := os.ReadDir(work)
	faults := []error{err}
	for _, entry := range entries {
		if entry.Type() != os.ModeSymlink || !strings.HasPrefix(entry.Name(), elsewhere) {
			continue
		}
		path, err := os.Readlink(filepath.Join(work, entry.Name()))
		if err == nil {
			err = os.RemoveAll(path)
		}
		faults = append(faults, err)
	}
	return errors.Join(append(faults, os.RemoveAll(work))...)
}
