package source

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"io"
	iofs "io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"gotest.tools/v3/assert"
	"gotest.tools/v3/fs"
)

// entries makes a tar archive.
func entries(t *testing.T, headers ...tar.Header) *bytes.Buffer {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range headers {
		if h.Typeflag == 0 {
			h.Typeflag = tar.TypeReg
		}
		h.Size = int64(len(h.Linkname))
		if h.Typeflag != tar.TypeReg {
			h.Size = 0
		}
		content := h.Linkname
		if h.Typeflag == tar.TypeReg {
			h.Linkname = ""
		}
		assert.NilError(t, w.WriteHeader(&h))
		if h.Typeflag == tar.TypeReg {
			_, err := io.WriteString(w, content)
			assert.NilError(t, err)
		}
	}
	assert.NilError(t, w.Close())
	return &b
}

// file is an entry whose content stands in Linkname.
func file(name, content string) tar.Header {
	return tar.Header{Name: name, Mode: 0o644, Linkname: content}
}

func link(name, to string) tar.Header {
	return tar.Header{Name: name, Typeflag: tar.TypeSymlink, Linkname: to}
}

func folder(name string) tar.Header {
	return tar.Header{Name: name, Typeflag: tar.TypeDir, Mode: 0o755}
}

func TestTreesAreUnpacked(t *testing.T) {
	plain := entries(t, folder("./"), folder("operator/"), file("./operator/web.nix", "{ }"),
		tar.Header{Name: "run.sh", Mode: 0o4755, Linkname: "#!/bin/sh\n"}, link("operator/same.nix", "web.nix"), link("up", "operator/../run.sh"),
		link("nowhere", "none"), file(".git/config", "[core]"), file("operator/.git", "gitdir: /"))
	var zipped, packed bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, err := z.Write(plain.Bytes())
	assert.NilError(t, err)
	assert.NilError(t, z.Close())
	p, err := zstd.NewWriter(&packed)
	assert.NilError(t, err)
	_, err = p.Write(plain.Bytes())
	assert.NilError(t, err)
	assert.NilError(t, p.Close())
	for name, stream := range map[string]*bytes.Buffer{"plain": plain, "gzip": &zipped, "zstd": &packed} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			assert.NilError(t, unpack(stream, dir))
			assert.Assert(t, fs.Equal(dir, fs.Expected(t,
				fs.WithMode(0o755),
				fs.WithDir("operator", fs.WithMode(0o755), fs.WithFile("web.nix", "{ }", fs.WithMode(0o644)), fs.WithSymlink("same.nix", "web.nix")),
				fs.WithFile("run.sh", "#!/bin/sh\n", fs.WithMode(0o755)), fs.WithSymlink("up", "operator/../run.sh"), fs.WithSymlink("nowhere", "none"))))
		})
	}
}

func TestTreesThatAreRefused(t *testing.T) {
	many := make([]tar.Header, 0, mostEntries+1)
	for range mostEntries + 1 {
		many = append(many, folder("./"))
	}
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	w := tar.NewWriter(z)
	assert.NilError(t, w.WriteHeader(&tar.Header{Name: "a", Size: 1 << 40}))
	zeros := make([]byte, 1<<20)
	for range (mostBytes >> 20) + 2 {
		_, err := z.Write(zeros) // the archive need not be whole to be too large
		assert.NilError(t, err)
	}
	assert.NilError(t, z.Close())
	for _, c := range []struct {
		name   string
		stream io.Reader
		want   string
	}{
		{"a path that climbs", entries(t, file("../evil", "")), "leads out of the tree"},
		{"a path that climbs later", entries(t, file("a/../../evil", "")), "leads out of the tree"},
		{"an absolute path", entries(t, file("/etc/evil", "")), "leads out of the tree"},
		{"a link to elsewhere", entries(t, link("a", "/etc")), "the link leads out of the tree"},
		{"a link that climbs", entries(t, folder("d"), link("d/a", "../../etc/passwd")), "the link leads out of the tree"},
		{"a link by way of a link", entries(t, folder("d"), link("d/up", ".."), link("a", "d/up/../../etc")), "the link leads out of the tree"},
		{"a file through a link", entries(t, link("d", "/tmp"), file("d/evil", "")), "it is there twice"},
		{"a hard link", entries(t, file("a", ""), tar.Header{Name: "b", Typeflag: tar.TypeLink, Linkname: "a"}), "neither a file nor a folder"},
		{"a device", entries(t, tar.Header{Name: "null", Typeflag: tar.TypeChar, Devmajor: 1, Devminor: 3}), "neither a file nor a folder"},
		{"a pipe", entries(t, tar.Header{Name: "pipe", Typeflag: tar.TypeFifo}), "neither a file nor a folder"},
		{"a file twice", entries(t, file("a", "1"), file("a", "2")), "it is there twice"},
		{"many entries", entries(t, many...), "more than 50000 entries"},
		{"few bytes that are many", &bomb, "more than 256 MiB"},
		{"no archive", bytes.NewBufferString("<html>not found</html>"), "unpack: "},
		{"nothing", &bytes.Buffer{}, "nothing is in it"},
		{"another compression", bytes.NewBufferString("\xfd7zXZ\x00rest"), "compressed by xz"},
	} {
		t.Run(c.name, func(t *testing.T) {
			outer := t.TempDir()
			dir := filepath.Join(outer, "tree")
			assert.NilError(t, os.Mkdir(dir, 0o700))
			assert.ErrorContains(t, unpack(c.stream, dir), c.want)
			left, err := os.ReadDir(outer)
			assert.NilError(t, err)
			assert.Equal(t, len(left), 1, "nothing was written beside the tree")
		})
	}
}

// FuzzUnpack unpacks whatever has the pinned hash: nothing comes to be beside the
// folder, and no link in it leads out.
func FuzzUnpack(f *testing.F) {
	f.Add(entries(&testing.T{}, folder("a/"), file("a/b", "x"), link("c", "a/b"), link("d", "../e")).Bytes())
	f.Add(entries(&testing.T{}, link("a", ".."), file("a/b", "x")).Bytes())
	f.Add(entries(&testing.T{}, link("a", "b"), link("b", "a"), file("../c", "x"), file("/d", "x")).Bytes())
	f.Add([]byte("BZh9"))
	f.Add([]byte{0x28, 0xb5, 0x2f, 0xfd, 0})
	f.Add([]byte{0x1f, 0x8b})
	f.Fuzz(func(t *testing.T, text []byte) {
		outer := t.TempDir()
		dir := filepath.Join(outer, "tree")
		assert.NilError(t, os.Mkdir(dir, 0o700))
		failed := unpack(bytes.NewReader(text), dir)
		beside, err := os.ReadDir(outer)
		assert.NilError(t, err)
		assert.Equal(t, len(beside), 1)
		if failed != nil {
			return
		}
		assert.NilError(t, filepath.WalkDir(dir, func(path string, _ iofs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if to, err := filepath.EvalSymlinks(path); err == nil {
				assert.Assert(t, to == dir || strings.HasPrefix(to, dir+"/"), "%s leads to %s", path, to)
			}
			return nil
		}))
	})
}
