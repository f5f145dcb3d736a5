package root

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/diskfs/go-diskfs/backend/file"
	"github.com/diskfs/go-diskfs/filesystem/squashfs"
	"github.com/diskfs/go-diskfs/partition/gpt"
	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"
	"gotest.tools/v3/assert"
)

const (
	shadow = "root:!:1::::::\n"
	made   = `{"users":[{"name":"root","initialHashedPassword":"!"}]}`
)

// tree is a root as NixOS makes it, with more beside it than is looked for.
func tree(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"etc/shadow": shadow, "etc/passwd": "root:x:0:0::/root:/bin/sh\n", "nix/store/0aaa-users-groups.json": made,
		"nix/store/0bbb-etc/shadow": "root::", "nix/store/0ccc-other/x-users-groups.json": "{}", "home/etc/shadow": "root::",
	} {
		path := filepath.Join(dir, name)
		assert.NilError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		assert.NilError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	for i := range 600 { // a store of more than one block of names
		assert.NilError(t, os.Mkdir(filepath.Join(dir, "nix/store", fmt.Sprintf("%032d-a-package-1.%d", i, i)), 0o755))
	}
	return dir
}

// holds looks into a root, which has what the tree has. Nothing is put anywhere for it.
func holds(t *testing.T, path string) {
	t.Helper()
	scratch := t.TempDir()
	t.Setenv("TMPDIR", scratch)
	found, err := Look(t.Context(), path)
	assert.NilError(t, err)
	left, err := os.ReadDir(scratch)
	assert.NilError(t, err)
	assert.Equal(t, len(left), 0)
	assert.Equal(t, string(found["etc/shadow"]), shadow)
	assert.Equal(t, string(found["nix/store/0aaa-users-groups.json"]), made)
	assert.Equal(t, len(found), 3)
}

// run runs a tool, or says which one is missing.
func run(t *testing.T, tool string, args ...string) {
	t.Helper()
	path, err := exec.LookPath(tool)
	if err != nil {
		t.Skip("missing part: " + tool)
	}
	out, err := exec.CommandContext(t.Context(), path, args...).CombinedOutput()
	assert.NilError(t, err, "%s", out)
}

func TestArchives(t *testing.T) {
	var plain bytes.Buffer
	pack := tar.NewWriter(&plain)
	assert.NilError(t, pack.AddFS(os.DirFS(tree(t))))
	assert.NilError(t, pack.Close())
	var gzipped, xzipped bytes.Buffer
	gz := gzip.NewWriter(&gzipped)
	_, err := gz.Write(plain.Bytes())
	assert.NilError(t, errors.Join(err, gz.Close()))
	x, err := xz.NewWriter(&xzipped)
	assert.NilError(t, err)
	_, err = x.Write(plain.Bytes())
	assert.NilError(t, errors.Join(err, x.Close()))
	encoder, err := zstd.NewWriter(nil)
	assert.NilError(t, err)
	for name, text := range map[string][]byte{
		"tar": plain.Bytes(), "gzip": gzipped.Bytes(), "xz": xzipped.Bytes(), "zstd": encoder.EncodeAll(plain.Bytes(), nil),
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "root") // whatever it is called
			assert.NilError(t, os.WriteFile(path, text, 0o600))
			holds(t, path)
		})
	}
	t.Run("xz in blocks, as its program makes it on many cores", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "root.tar")
		assert.NilError(t, os.WriteFile(path, plain.Bytes(), 0o600))
		run(t, "xz", "-T4", "--block-size=65536", path)
		holds(t, path+".xz")
	})
	t.Run("cut off", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "root")
		assert.NilError(t, os.WriteFile(path, xzipped.Bytes()[:xzipped.Len()/2], 0o600))
		_, err := Look(t.Context(), path)
		assert.Assert(t, err != nil && !errors.Is(err, ErrClosed), "%v", err)
	})
	t.Run("stopped", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		path := filepath.Join(t.TempDir(), "root")
		assert.NilError(t, os.WriteFile(path, plain.Bytes(), 0o600))
		_, err := Look(ctx, path)
		assert.ErrorIs(t, err, context.Canceled)
	})
}

func TestSquashfs(t *testing.T) {
	dir := tree(t)
	for _, kind := range []string{"zstd", "xz", "gzip"} {
		t.Run("of its own program, "+kind, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "root")
			run(t, "mksquashfs", dir, path, "-comp", kind, "-b", "1048576", "-all-root", "-no-progress", "-quiet")
			holds(t, path)
		})
	}
	t.Run("of the library", func(t *testing.T) {
		t.Setenv("TMPDIR", t.TempDir()) // where it leaves what it packed
		path := filepath.Join(t.TempDir(), "root")
		storage, err := file.CreateFromPath(path, 64<<20)
		assert.NilError(t, err)
		system, err := squashfs.Create(storage, 64<<20, 0, 131072)
		assert.NilError(t, err)
		assert.NilError(t, os.CopyFS(system.Workspace(), os.DirFS(dir)))
		assert.NilError(t, system.Finalize(squashfs.FinalizeOptions{Compression: &squashfs.CompressorZstd{}}))
		assert.NilError(t, storage.Close())
		holds(t, path)
	})
}

// TestDisks makes a disk as NixOS does: a partition for the loader, and an ext4.
func TestDisks(t *testing.T) {
	dir := t.TempDir()
	const start, size = 8 << 20, 64 << 20
	system := filepath.Join(dir, "ext4")
	run(t, "mkfs.ext4", "-q", "-L", "nixos", "-d", tree(t), system, "64M")
	disk := func(t *testing.T, root []byte, parted bool) string {
		t.Helper()
		path := filepath.Join(t.TempDir(), "raw")
		if !parted {
			assert.NilError(t, os.WriteFile(path, root, 0o600))
			return packed(t, path)
		}
		storage, err := file.CreateFromPath(path, start+size+(4<<20))
		assert.NilError(t, err)
		to, err := storage.Writable()
		assert.NilError(t, err)
		table := &gpt.Table{LogicalSectorSize: 512, PhysicalSectorSize: 512, ProtectiveMBR: true, Partitions: []*gpt.Partition{
			{Index: 1, Start: 2048, End: 4095, Type: gpt.EFISystemPartition, Name: "ESP"},
			{Index: 2, Start: start / 512, End: (start+size)/512 - 1, Type: gpt.LinuxFilesystem, Name: "primary"},
		}}
		assert.NilError(t, table.Write(to, start+size+(4<<20)))
		_, err = to.WriteAt(root, start)
		assert.NilError(t, err)
		_, err = to.WriteAt([]byte{0x55, 0xaa}, 2048*512+510)
		assert.NilError(t, err)
		assert.NilError(t, storage.Close())
		return packed(t, path)
	}
	root, err := os.ReadFile(system)
	assert.NilError(t, err)
	t.Run("with partitions", func(t *testing.T) { holds(t, disk(t, root, true)) })
	t.Run("without", func(t *testing.T) { holds(t, disk(t, root, false)) })
	t.Run("of another file system", func(t *testing.T) {
		other := bytes.Clone(root)
		copy(other[ext4MagicAt:], "??")
		_, err := Look(t.Context(), disk(t, other, true))
		assert.ErrorIs(t, err, ErrClosed)
		assert.ErrorContains(t, err, "partition 2: its file system is neither ext4 nor squashfs")
	})
}

func packed(t *testing.T, raw string) string {
	t.Helper()
	run(t, "qemu-img", "convert", "-c", "-f", "raw", "-O", "qcow2", raw, raw+".qcow2")
	return raw + ".qcow2"
}

// TestANewImageHasOnlyAStore is what NixOS makes: the rest comes with a first start.
func TestANewImageHasOnlyAStore(t *testing.T) {
	dir := t.TempDir()
	assert.NilError(t, os.MkdirAll(filepath.Join(dir, "nix/store"), 0o755))
	assert.NilError(t, os.WriteFile(filepath.Join(dir, "nix/store/0aaa-users-groups.json"), []byte(made), 0o600))
	for _, c := range []struct {
		tool string
		make func(t *testing.T, to string) string
	}{
		{"mksquashfs", func(t *testing.T, to string) string {
			t.Helper()
			run(t, "mksquashfs", dir, to, "-quiet", "-no-progress")
			return to
		}},
		{"mkfs.ext4", func(t *testing.T, to string) string {
			t.Helper()
			run(t, "mkfs.ext4", "-q", "-d", dir, to, "32M")
			return packed(t, to)
		}},
	} {
		t.Run(c.tool, func(t *testing.T) {
			found, err := Look(t.Context(), c.make(t, filepath.Join(t.TempDir(), "root")))
			assert.NilError(t, err)
			assert.Equal(t, len(found), 1)
			assert.Equal(t, string(found["nix/store/0aaa-users-groups.json"]), made)
		})
	}
}

func TestWhatIsNone(t *testing.T) {
	for name, text := range map[string]string{"empty": "", "short": "x", "text": "<html>"} {
		path := filepath.Join(t.TempDir(), "root")
		assert.NilError(t, os.WriteFile(path, []byte(text), 0o600))
		_, err := Look(t.Context(), path)
		assert.ErrorIs(t, err, ErrClosed, name)
	}
}
