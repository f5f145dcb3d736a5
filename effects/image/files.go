package image

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"fediversity.eu/slipway/internal/incus"
)

// Where NixOS puts the parts of an image differs by release; each is a file, or a
// folder in which one of these is the only one.
var (
	metadataFiles  = []string{"tarball/*.tar*"}
	containerFiles = []string{"*.squashfs", "tarball/*.tar*"}
	diskFiles      = []string{"*.qcow2"}
)

// find finds the files of an image in what was built.
func find(path string, vm bool) (incus.Files, error) {
	roots := containerFiles
	if vm {
		roots = diskFiles
	}
	metadata, err := one(filepath.Join(path, "metadata"), metadataFiles)
	root, failed := one(filepath.Join(path, "root"), roots)
	return incus.Files{Metadata: metadata, Root: root, VM: vm}, errors.Join(err, failed)
}

func one(path string, patterns []string) (string, error) {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		return path, err
	}
	for _, pattern := range patterns {
		found, _ := filepath.Glob(filepath.Join(path, pattern)) // the patterns are sound
		if len(found) > 1 {
			return "", fmt.Errorf("%s: more than one is %s", path, pattern)
		}
		if len(found) == 1 {
			return found[0], nil
		}
	}
	return "", fmt.Errorf("%s: nothing is %v", path, patterns)
}
