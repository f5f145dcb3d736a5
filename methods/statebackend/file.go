package statebackend

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// remains is how files begin that are being written.
const remains = ".writing-"

// writeFile puts a file into a folder whole or not at all. When it returns nil,
// the file outlives a loss of power. Only the owner may read it.
func writeFile(dir, name string, text []byte) error {
	file, err := os.CreateTemp(dir, remains+"*") // with mode 0600
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	if err == nil {
		err = file.Sync()
	}
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(file.Name(), filepath.Join(dir, name))
	}
	if err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	return syncFolder(dir)
}

// removeFile removes a file for good. That it is gone already is no error.
func removeFile(dir, name string) error {
	if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return syncFolder(dir)
}

// syncFolder makes names that were put into a folder, or taken out of it, last.
func syncFolder(dir string) error {
	folder, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

// removeRemains removes what was being written when the process was killed:
// nobody was told that it is there.
func removeRemains(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if !strings.HasPrefix(entry.Name(), remains) {
			continue
		}
		if err := os.Remove(filepath.Join(dir, entry.Name())); err != nil {
			return fmt.Errorf("remove what was left half written: %w", err)
		}
	}
	return nil
}
