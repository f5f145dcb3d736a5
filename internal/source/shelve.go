package source

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// A source that was fetched lies in the cache in a folder that is named by what
// pins it and by the hash of its tree: one that was changed there is not what it
// says it is, and is fetched anew.

// place is the first part of the name of a source in the cache. What pins it is
// enough: the same content may come from elsewhere.
func place(a Address) string {
	sum := sha256.Sum256([]byte(a.pin))
	return hex.EncodeToString(sum[:16])
}

// shelved finds a source in the cache, whole.
func shelved(parent string, a Address) (string, bool) {
	found, err := fs.Glob(os.DirFS(parent), place(a)+"-*") // the folder's own name is no pattern
	if err != nil {
		return "", false
	}
	for _, name := range found {
		dir := filepath.Join(parent, name)
		_, tree, _ := strings.Cut(name, "-")
		if hash, err := HashTree(os.DirFS(dir)); err == nil && tree == hash[:32] {
			return dir, true
		}
		_ = os.RemoveAll(dir)
	}
	return "", false
}

// shelve puts a source into the cache, whole or not at all. fetch fills an empty
// folder.
func shelve(parent string, a Address, fetch func(dir string) error) (string, error) {
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return "", err
	}
	tmp, err := os.MkdirTemp(parent, ".fetch-*")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(tmp) }()
	tree := filepath.Join(tmp, "tree")
	if err := os.Mkdir(tree, 0o700); err != nil {
		return "", err
	}
	if err := fetch(tree); err != nil {
		return "", err
	}
	hash, err := HashTree(os.DirFS(tree))
	if err != nil {
		return "", err
	}
	dir := filepath.Join(parent, place(a)+"-"+hash[:32])
	err = os.Rename(tree, dir)
	if _, there := os.Stat(dir); there == nil {
		return dir, nil // another run was quicker, with the same content
	}
	return "", err
}
