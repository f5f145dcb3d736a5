// Package nixpkgs holds a small stand-in for nixpkgs, for machines that cannot
// reach the real one.
//
// It has the real entry point, nixos/lib/eval-config.nix, and NixOS modules
// with the real names of options and units, so that the same modules evaluate
// over either. It declares only what our modules use: anything else is an
// unknown option, as in NixOS. Evaluation, units, activation, generations and
// the exit codes of a switch are real; the package set is one static busybox
// and a few services made of it, which say of themselves that they are
// stand-ins. Nothing in the tree reads the environment or the clock.
//
// The tree is part of the program. What it lacks, the busybox, is copied from
// the host when the tree is unpacked.
package nixpkgs

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

//go:embed all:tree
var tree embed.FS

// busyboxPlace is where the tree expects the busybox.
const busyboxPlace = "busybox/bin/busybox"

// Unpack writes the tree with a busybox into a directory of its own below dir,
// named by the hash of its content, and returns its path: what NIXPKGS names.
// A tree that is there already is used as it is. busybox is the path of a
// static busybox; empty means DefaultBusybox. The error is ErrBusybox where
// there is none that will do.
func Unpack(ctx context.Context, dir, busybox string) (string, error) {
	if busybox == "" {
		busybox = DefaultBusybox
	}
	program, err := readBusybox(busybox)
	if err != nil {
		return "", err
	}
	files, err := contents(program)
	if err != nil {
		return "", fmt.Errorf("read the stand-in nixpkgs: %w", err)
	}
	dir, err = filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("unpack nixpkgs: %w", err)
	}
	path := filepath.Join(dir, hash(files))
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("unpack nixpkgs: %w", err)
	}
	draft, err := os.MkdirTemp(dir, "unpacking-*")
	if err != nil {
		return "", fmt.Errorf("unpack nixpkgs: %w", err)
	}
	defer func() { _ = os.RemoveAll(draft) }()
	if err := write(ctx, draft, files); err != nil {
		return "", fmt.Errorf("unpack nixpkgs: %w", err)
	}
	err = os.Rename(draft, path)
	if _, there := os.Stat(path); err != nil && there != nil {
		return "", fmt.Errorf("unpack nixpkgs: %w", err)
	}
	return path, nil // either ours, or that of a run beside us
}

// file is one file of the unpacked tree.
type file struct {
	name string // relative, with slashes
	mode os.FileMode
	data []byte
}

// contents gives all files in the order of their names, the busybox last.
func contents(busybox []byte) ([]file, error) {
	root, err := fs.Sub(tree, "tree")
	if err != nil {
		return nil, err
	}
	var files []file
	err = fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := fs.ReadFile(root, name)
		files = append(files, file{name: name, mode: 0o644, data: data})
		return err
	})
	return append(files, file{name: busyboxPlace, mode: 0o755, data: busybox}), err
}

func hash(files []file) string {
	sum := sha256.New()
	for _, f := range files {
		_, _ = fmt.Fprintf(sum, "%s %d ", f.name, len(f.data))
		_, _ = sum.Write(f.data)
	}
	return hex.EncodeToString(sum.Sum(nil))[:32]
}

func write(ctx context.Context, dir string, files []file) error {
	if err := os.Chmod(dir, 0o755); err != nil {
		return err
	}
	for _, f := range files {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		path := filepath.Join(dir, filepath.FromSlash(f.name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, f.data, f.mode); err != nil {
			return err
		}
	}
	return nil
}
