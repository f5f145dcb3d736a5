package statebackend

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"fediversity.eu/slipway/internal/durable"
)

// removeFile removes a file for good. That it is gone already is no error.
func removeFile(dir, name string) error {
	if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return durable.Sync(dir)
}

// removeRemains removes what was being written when the process was killed:
// nobody was told that it is there.
func removeRemains(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if !strings.HasPrefix(entry.Name(), durable.Half) {
			continue
		}
		if err := os.Remove(filepath.Join(dir, entry.Name())); err != nil {
			return fmt.Errorf("remove what was left half written: %w", err)
		}
	}
	return nil
}
