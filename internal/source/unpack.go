package source

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// The most that a source may be. NixOS modules are text: a tree that is larger is
// none of modules, or a few bytes that claim to be very many.
const (
	mostBytes   = 256 << 20
	mostEntries = 50_000
)

// decompress gives the tar archive that is in a stream, by its first bytes.
func decompress(r io.Reader) (io.Reader, error) {
	buffered := bufio.NewReader(r)
	head, _ := buffered.Peek(4) // of a shorter file, tar says what is wrong
	switch {
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		return gzip.NewReader(buffered)
	case bytes.HasPrefix(head, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		return zstd.NewReader(buffered, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(64<<20))
	case bytes.HasPrefix(head, []byte("BZh")):
		return bzip2.NewReader(buffered), nil
	case bytes.HasPrefix(head, []byte{0xfd, '7', 'z', 'X'}):
		return nil, errors.New("it is compressed by xz; gzip, zstd and bzip2 can be read")
	}
	return buffered, nil
}

// bounded is a stream that ends with an error when it is too long.
type bounded struct {
	from io.Reader
	left int64
}

var errTooLarge = fmt.Errorf("unpacked it is more than %d MiB, the most that a module source may be", mostBytes>>20)

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errTooLarge
	}
	n, err := b.from.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}

// unpack writes a tar archive into an empty folder. It holds files, folders and
// links within the tree, and nothing else.
func unpack(r io.Reader, dir string) error {
	stream, err := decompress(r)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	u := unpacking{root: root, left: mostBytes, links: map[string]string{}}
	archive := tar.NewReader(&bounded{stream, mostBytes})
	for count := 0; ; count++ {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) && count > 0 {
			return u.link()
		}
		if errors.Is(err, io.EOF) {
			err = errors.New("nothing is in it")
		}
		if err == nil && count == mostEntries {
			err = fmt.Errorf("more than %d entries are in it, the most that a module source may have", mostEntries)
		}
		if err != nil {
			return fmt.Errorf("unpack: %w", err)
		}
		if err := u.entry(header, archive); err != nil {
			return fmt.Errorf("unpack %q: %w", header.Name, err)
		}
	}
}

// unpacking is an archive on its way into a folder. Links come last, so that
// nothing is written through them.
type unpacking struct {
	root  *os.Root
	left  int64             // bytes that files may still have
	links map[string]string // name to where it leads
}

func (u *unpacking) entry(header *tar.Header, content io.Reader) error {
	if header.Typeflag == tar.TypeXGlobalHeader {
		return nil // a remark about the archive
	}
	name := path.Clean(header.Name)
	switch {
	case name == "." && header.Typeflag == tar.TypeDir:
		return nil
	case strings.HasPrefix(name, "/") || !filepath.IsLocal(name):
		return errors.New("it leads out of the tree")
	case slices.Contains(strings.Split(name, "/"), ".git"):
		return nil // what version control keeps beside the files
	}
	switch header.Typeflag {
	case tar.TypeDir:
		return u.root.MkdirAll(name, 0o755)
	case tar.TypeReg:
		return u.file(name, header, content)
	case tar.TypeSymlink:
		if _, twice := u.links[name]; twice {
			return errors.New("it is there twice")
		}
		u.links[name] = header.Linkname
		return nil
	}
	return fmt.Errorf("it is neither a file nor a folder nor a symbolic link (type %q)", header.Typeflag)
}

func (u *unpacking) file(name string, header *tar.Header, content io.Reader) error {
	if header.Size > u.left {
		return errTooLarge
	}
	u.left -= header.Size
	if err := u.root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	mode := fs.FileMode(0o644)
	if header.Mode&0o111 != 0 {
		mode = 0o755
	}
	file, err := u.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if errors.Is(err, fs.ErrExist) {
		return errors.New("it is there twice")
	}
	if err != nil {
		return err
	}
	_, err = io.Copy(file, content)
	return errors.Join(err, file.Close())
}

// link makes the links, and refuses those that lead out of the tree.
func (u *unpacking) link() error {
	for name, to := range u.links {
		err := u.root.MkdirAll(path.Dir(name), 0o755)
		if err == nil {
			err = u.root.Symlink(to, name)
		}
		if errors.Is(err, fs.ErrExist) {
			err = errors.New("it is there twice")
		}
		if err != nil {
			return fmt.Errorf("unpack %q: %w", name, err)
		}
	}
	for name, to := range u.links {
		// A link that leads nowhere is left to whoever reads it.
		if _, err := u.root.Stat(name); filepath.IsAbs(to) || err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("unpack %q: the link leads out of the tree, to %q", name, to)
		}
	}
	return nil
}
