package nixos

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"fediversity.eu/slipway/groups"
	"fediversity.eu/slipway/targets/report"
)

// Source is a tree of NixOS modules on disk, and the hash of what is in it.
type Source struct {
	Name string // for messages and records
	Dir  string
	Hash string // SHA-256 of the tree's content, in hex
}

// OpenSource gives the modules of a group: the directory that the caller names,
// or the tree that is baked into the program, unpacked into the cache under its
// hash.
func OpenSource(group groups.Group, dir, cache string) (Source, error) {
	if dir != "" {
		resolved, err := filepath.EvalSymlinks(dir)
		if err != nil {
			return Source{}, badSource(dir, err)
		}
		hash, err := hashTree(os.DirFS(resolved))
		if err != nil {
			return Source{}, badSource(dir, err)
		}
		return Source{Name: resolved, Dir: resolved, Hash: hash}, nil
	}
	if len(group.Source.Trees) == 0 {
		return Source{}, badSource("", fmt.Errorf("group %s has no modules of its own", group.Name))
	}
	hash, err := hashTrees(group.Source.Trees)
	if err != nil {
		return Source{}, fmt.Errorf("hash the modules of %s: %w", group.Source.Name, err)
	}
	dir = filepath.Join(cache, "sources", hash[:32])
	if err := unpack(group.Source.Trees, dir); err != nil {
		return Source{}, report.Refuse("unpack the modules of "+group.Source.Name, err, "CACHE_DIR names another directory")
	}
	return Source{Name: group.Source.Name, Dir: dir, Hash: hash}, nil
}

func badSource(dir string, err error) error {
	return &report.Fault{
		Code: report.Usage, What: "open the module source", Where: dir, Why: err,
		Hint: "SELF_MODULE_SOURCE names a directory with the machines' modules; empty means those baked in",
	}
}

// hashTrees hashes the content of several trees and their names.
func hashTrees(trees map[string]fs.FS) (string, error) {
	sum := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(trees)) {
		hash, err := hashTree(trees[name])
		if err != nil {
			return "", err
		}
		_, _ = fmt.Fprintf(sum, "%q %s\n", name, hash)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// hashTree hashes the content of a tree: names, kinds, execute bits, bytes. It
// leaves out what version control keeps beside the files.
func hashTree(tree fs.FS) (string, error) {
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

// unpack writes trees to dir, whole or not at all.
func unpack(trees map[string]fs.FS, dir string) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	parent := filepath.Dir(dir)
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(parent, ".unpack-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(tmp) }()
	whole := filepath.Join(tmp, "trees")
	for name, tree := range trees {
		if err := os.CopyFS(filepath.Join(whole, name), tree); err != nil {
			return err
		}
	}
	err = os.Rename(whole, dir)
	if _, there := os.Stat(dir); there == nil {
		return nil // another run was quicker, with the same content
	}
	return err
}

// hashNixpkgs identifies a nixpkgs. A path in the Nix store never changes, so
// its name is enough; any other directory is read.
func hashNixpkgs(dir string) (string, error) {
	if strings.HasPrefix(dir, "/nix/store/") {
		return dir, nil
	}
	hash, err := hashTree(os.DirFS(dir))
	if err != nil {
		return "", err
	}
	return hash, nil
}
