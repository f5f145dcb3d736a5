// Package debian makes the root file system, kernel and disk image of a test
// machine from Debian's packages, without running any of their scripts.
//
// The recipe (package list, configuration, files laid over the tree) is part of
// this package, and its hash names what was built from it. Packages come from
// the Debian archive that the host's own apt is configured for, through a
// private apt configuration that can only download; the host's apt state is
// never touched. Building takes root, or a user name space where there is none.
package debian

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"fediversity.eu/slipway/internal/child"
)

// Suite is a release of Debian that test machines are made of.
type Suite string

// The suites, and what makes them different here.
const (
	Trixie   Suite = "trixie"   // systemd 257, Nix 2.26
	Bookworm Suite = "bookworm" // systemd 252, Nix 2.8; without a kernel, so for containers
)

// Suites are all of them.
func Suites() []Suite { return []Suite{Trixie, Bookworm} }

// Bootable tells whether Build makes a kernel too.
func (s Suite) Bootable() bool { return s == Trixie }

// format changes when the code of this package would build another tree from
// the same recipe.
const format = "2"

//go:embed all:recipe
var recipe embed.FS

// Names of what Build leaves in its folder.
const (
	Root     = "root"     // the tree, as the lower layer of a container's overlay
	Kernel   = "vmlinux"  // an ELF kernel, entered directly by QEMU; of a bootable suite
	Initrd   = "initrd"   // finds the disk; of a bootable suite
	Packages = "packages" // what was taken, one "name version" a line
)

// Hash names the recipe of a suite: 16 hexadecimal digits that change whenever
// anything that goes into a root file system does, except the archive itself.
func (s Suite) Hash() string {
	sum := sha256.New()
	_, _ = fmt.Fprintln(sum, s, format)
	// The walk of an embedded file system is sorted and cannot fail.
	_ = fs.WalkDir(recipe, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := recipe.ReadFile(path)
		_, _ = fmt.Fprintf(sum, "%s %d\n%s", path, len(text), text)
		return err
	})
	return hex.EncodeToString(sum.Sum(nil))[:16]
}

// Build fills the empty folder dir with Root, Packages and, if the suite is
// bootable, Kernel and Initrd. It needs about 700 MiB there, of which half is
// kept.
func (s Suite) Build(ctx context.Context, dir string, log io.Writer) error {
	work := filepath.Join(dir, "work")
	if err := os.MkdirAll(work, 0o700); err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(work) }()
	if err := os.CopyFS(work, recipe); err != nil {
		return fmt.Errorf("write recipe: %w", err)
	}
	archive, err := HostArchive(ctx, s)
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintf(log, "downloading Debian %s from %s\n", s, archive.URI)
	debs, kernel, err := s.fetch(ctx, archive, filepath.Join(work, "apt"))
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintf(log, "unpacking %d packages\n", len(debs))
	if err := unpack(ctx, debs, filepath.Join(dir, Root)); err != nil {
		return err
	}
	if err := s.configure(ctx, filepath.Join(dir, Root), filepath.Join(work, "recipe")); err != nil {
		return err
	}
	if s.Bootable() {
		if err := makeKernel(ctx, kernel, filepath.Join(work, "kernel"), dir); err != nil {
			return err
		}
		debs = append(debs, kernel)
	}
	return os.WriteFile(filepath.Join(dir, Packages), []byte(versions(debs)), 0o644)
}

// list reads one of the recipe's lists: a name a line, # begins a comment line.
func list(name string) ([]string, error) {
	text, err := recipe.ReadFile("recipe/" + name)
	if err != nil {
		return nil, err
	}
	var names []string
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "#") {
			names = append(names, line)
		}
	}
	return names, nil
}

// environment is all that the tools here are told.
func environment(extra ...string) []string {
	return append([]string{
		"HOME=/", "LC_ALL=C.UTF-8",
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
	}, extra...)
}

// asRoot runs a program as root, or as what looks like root to it: without
// privileges, everything in the tree then belongs to one user, which serves a
// virtual machine.
func asRoot(ctx context.Context, program string, args ...string) error {
	if os.Geteuid() != 0 {
		args = append([]string{"--user", "--map-root-user", "--", program}, args...)
		program = "unshare"
	}
	return child.Command{Path: program, Args: args, Env: environment()}.Run(ctx)
}
