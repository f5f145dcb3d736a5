// Package root looks into the root of an image, of whatever form NixOS makes it:
// a tar archive, a squashfs, or a disk with partitions. It needs no mount and no
// privilege.
package root

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/diskfs/go-diskfs/filesystem/squashfs"
	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"

	"fediversity.eu/slipway/internal/qcow2"
)

// Accounts are what a root says of who may log in: the texts of its account files,
// by their paths without a slash in front.
type Accounts map[string][]byte

// ErrClosed is a root that can't be looked into, with the reason.
var ErrClosed = errors.New("it can't be looked into")

func closed(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrClosed, fmt.Errorf(format, args...))
}

// What the files of accounts are called. Those that NixOS makes them of at a first
// start lie in the store, and a new image has them alone.
var (
	accountFiles  = []string{"etc/shadow", "etc/passwd"}
	accountsMade  = []string{"-users-groups.json", "-userborn.json"}
	storeFolder   = "nix/store"
	largest       = int64(64 << 20)
	archiveMagics = []struct {
		magic  string
		unpack func(io.Reader) (io.Reader, error)
	}{
		{"\x1f\x8b", func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) }},
		{"\xfd7zXZ\x00", func(r io.Reader) (io.Reader, error) { return xz.NewReader(r) }},
		{"\x28\xb5\x2f\xfd", func(r io.Reader) (io.Reader, error) { return zstd.NewReader(r) }},
		{"BZh", func(r io.Reader) (io.Reader, error) { return bzip2.NewReader(r), nil }},
	}
)

const (
	squashMagic = "hsqs"
	tarMagic    = "ustar"
	tarMagicAt  = 257
)

// Look gives the accounts of a root. An error that is ErrClosed says why nobody can
// tell; any other is of reading.
func Look(ctx context.Context, name string) (Accounts, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	reader := bufio.NewReaderSize(file, 1<<20)
	head, err := reader.Peek(tarMagicAt + len(tarMagic))
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	begins := func(magic string) bool { return bytes.HasPrefix(head, []byte(magic)) }
	for _, kind := range archiveMagics {
		if begins(kind.magic) {
			archive, err := kind.unpack(reader)
			if err != nil {
				return nil, err
			}
			return inArchive(ctx, archive)
		}
	}
	switch {
	case begins(squashMagic):
		info, err := file.Stat()
		if err != nil {
			return nil, err
		}
		system, err := squashfs.Read(&part{SectionReader: io.NewSectionReader(file, 0, info.Size())}, info.Size(), 0, 0)
		if err != nil {
			return nil, closed("squashfs: %w", err)
		}
		return inFiles(ctx, system)
	case begins(qcow2.Magic):
		disk, err := qcow2.Open(file)
		if err != nil {
			return nil, closed("%w", err)
		}
		return onDisk(ctx, disk, disk.Size())
	case len(head) > tarMagicAt && bytes.HasPrefix(head[tarMagicAt:], []byte(tarMagic)):
		return inArchive(ctx, reader)
	}
	return nil, closed("it is neither a tar archive nor a squashfs nor a qcow2 disk")
}

// isAccounts tells whether a path is of a file of accounts.
func isAccounts(name string) bool {
	return slices.Contains(accountFiles, name) || path.Dir(name) == storeFolder && isMade(name)
}

func isMade(name string) bool {
	return slices.ContainsFunc(accountsMade, func(end string) bool { return strings.HasSuffix(name, end) })
}

// inArchive reads a tar archive to its end: of two files of one name the last is
// the one that is unpacked.
func inArchive(ctx context.Context, archive io.Reader) (Accounts, error) {
	found := Accounts{}
	r := tar.NewReader(archive)
	for {
		header, err := r.Next()
		switch {
		case errors.Is(err, io.EOF):
			return found, nil
		case err != nil:
			return nil, err
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		}
		name := strings.TrimPrefix(path.Clean("/"+header.Name), "/")
		if !isAccounts(name) {
			continue
		}
		if found[name], err = io.ReadAll(io.LimitReader(r, largest)); err != nil {
			return nil, err
		}
	}
}

// inFiles reads a file system.
func inFiles(ctx context.Context, system fs.FS) (Accounts, error) {
	found := Accounts{}
	names := slices.Clone(accountFiles)
	store, err := fs.ReadDir(system, storeFolder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !missing(system, storeFolder) {
		return nil, closed("read %s: %w", storeFolder, err)
	}
	for _, entry := range store {
		if isMade(entry.Name()) {
			names = append(names, path.Join(storeFolder, entry.Name()))
		}
	}
	for _, name := range names {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if missing(system, name) {
			continue
		}
		if found[name], err = fs.ReadFile(system, name); err != nil {
			return nil, closed("read %s: %w", name, err)
		}
	}
	return found, nil
}

// missing tells whether a file system has no such file, by its folders: not every
// one of them says it by fs.ErrNotExist.
func missing(system fs.FS, name string) bool {
	folder := "."
	for part := range strings.SplitSeq(name, "/") {
		entries, err := fs.ReadDir(system, folder)
		if err != nil {
			return false // which the reading itself says
		}
		if !slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == part }) {
			return true
		}
		folder = path.Join(folder, part)
	}
	return false
}
