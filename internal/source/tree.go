package source

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
)

// HashTrees hashes the content of several trees and their names, in hex.
func HashTrees(trees map[string]fs.FS) (string, error) {
	sum := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(trees)) {
		hash, err := HashTree(trees[name])
		if err != nil {
			return "", err
		}
		_, _ = fmt.Fprintf(sum, "%q %s\n", name, hash)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// HashTree hashes the content of a tree: names, kinds, execute bits, bytes. It
// leaves out what version control keeps beside the files.
func HashTree(tree fs.FS) (string, error) {
	sum := sha256.New()
	err := fs.WalkDir(tree, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if entry.Name() == ".git" {
				return fs.SkipDir
			}
			return nil
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			to, err := fs.ReadLink(tree, path)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(sum, "link %q %q\n", path, to)
			return err
		}
		if !info.Mode().IsRegular() {
			return nil // sockets and pipes are nothing that Nix could read
		}
		_, _ = fmt.Fprintf(sum, "file %q %t %d\n", path, info.Mode()&0o111 != 0, info.Size())
		file, err := tree.Open(path)
		if err != nil {
			return err
		}
		defer func() { _ = file.Close() }()
		_, err = io.Copy(sum, file)
		return err
	})
	if err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
