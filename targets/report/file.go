package report

import (
	"errors"
	"os"
	"path/filepath"
)

// Save puts text at path, whole or not at all.
func Save(path string, text []byte) error {
	file, err := os.CreateTemp(filepath.Dir(path), ".slipway-*")
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
	return err
}

// Savable tells why Save could not put anything at path, by putting a file beside
// it that it removes again.
func Savable(path string) error {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return &os.PathError{Op: "write", Path: path, Err: errors.New("is there and is no file")}
	}
	file, err := os.CreateTemp(filepath.Dir(path), ".slipway-*")
	if err != nil {
		return err
	}
	return errors.Join(file.Close(), os.Remove(file.Name()))
}
