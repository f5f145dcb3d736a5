// Package durable puts files in their places so that neither another process nor a
// loss of power finds half of one.
package durable

import (
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"
)

// Half is how the names of files begin that are being written. They lie beside the
// files that they become; one is left only where a process was killed.
const Half = "."

// Write puts text at path, for its owner alone.
func Write(path string, text []byte) error {
	return Create(path, 0o600, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

// Create puts at path what fill writes. When it returns nil, the file outlives a
// loss of power; otherwise what was at path is there still, unless the folder can't
// be synced.
func Create(path string, mode os.FileMode, fill func(io.Writer) error) error {
	file, err := renameio.NewPendingFile(path, renameio.WithTempDir(filepath.Dir(path)), renameio.WithStaticPermissions(mode))
	if err != nil {
		return err
	}
	defer func() { _ = file.Cleanup() }()
	if err := fill(file); err != nil {
		return err
	}
	if err := file.CloseAtomicallyReplace(); err != nil {
		return err
	}
	return Sync(filepath.Dir(path))
}

// Sync makes names that were put into a folder, or taken out of it, last.
func Sync(folder string) error {
	dir, err := os.Open(folder)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// Writable tells why nothing could be put at path, by putting a file beside
// it that it removes again.
func Writable(path string) error {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return &os.PathError{Op: "write", Path: path, Err: errors.New("is there and is no file")}
	}
	file, err := os.CreateTemp(filepath.Dir(path), Half+"slipway-*")
	if err != nil {
		return err
	}
	return errors.Join(file.Close(), os.Remove(file.Name()))
}
