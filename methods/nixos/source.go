package nixos

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"fediversity.eu/slipway/groups"
	"fediversity.eu/slipway/internal/source"
	"fediversity.eu/slipway/targets/report"
)

// Source is a tree of NixOS modules on disk, and the hash of what is in it.
type Source struct {
	Name string // for messages and records
	Dir  string
	Hash string // SHA-256 of the tree's content, in hex
}

// OpenSource gives the modules of a group: the directory of the module source that
// they come from, or the trees that are baked into the program, unpacked into the
// cache under their hash.
func OpenSource(group groups.Group, cache string) (Source, error) {
	if dir := group.Source.Dir; dir != "" {
		// Hashed anew: a directory of the caller's may have changed meanwhile.
		hash, err := source.HashTree(os.DirFS(dir))
		if err != nil {
			return Source{}, badSource(dir, err)
		}
		return Source{Name: group.Source.Name, Dir: dir, Hash: hash}, nil
	}
	if len(group.Source.Trees) == 0 {
		return Source{}, badSource("", fmt.Errorf("group %s has no modules of its own", group.Name))
	}
	hash, err := source.HashTrees(group.Source.Trees)
	if err != nil {
		return Source{}, fmt.Errorf("hash the modules of %s: %w", group.Source.Name, err)
	}
	dir := filepath.Join(cache, "sources", hash[:32])
	if err := unpack(group.Source.Trees, dir); err != nil {
		return Source{}, report.Refuse("unpack the modules of "+group.Source.Name, err, "CACHE_DIR names another directory")
	}
	return Source{Name: group.Source.Name, Dir: dir, Hash: hash}, nil
}

func badSource(dir string, err error) error {
	return &report.Fault{
		Code: report.Usage, What: "open the module source", Where: dir, Why: err,
		Hint: "a module source holds the machines' modules; without SELF_MODULE_SOURCE it is the one that is baked in",
	}
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
	hash, err := source.HashTree(os.DirFS(dir))
	if err != nil {
		return "", err
	}
	return hash, nil
}
