package image

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"
	"gotest.tools/v3/fs"

	"fediversity.eu/slipway/groups"
	"fediversity.eu/slipway/internal/incus"
	"fediversity.eu/slipway/targets/report"
	"fediversity.eu/slipway/targets/task"
)

func TestFaultsOfDeclarations(t *testing.T) {
	err := New(nil).Check(groups.Group{Images: []groups.Image{{Name: "Base", Modules: []string{"x"}}, {Name: "base"}, {Name: "base", Modules: []string{"x"}}}})
	for _, text := range []string{`image "Base": its name`, `image "base": no NixOS module`, `image "base": declared twice`} {
		assert.Check(t, cmp.ErrorContains(err, text))
	}
	assert.NilError(t, New(nil).Check(groups.Group{Images: []groups.Image{{Name: "base", Modules: []string{"x"}}}}))
	assert.Assert(t, cmp.Len(New(nil).Verbs(groups.Group{}), 0))
}

func TestWhatComesBeforeMachines(t *testing.T) {
	for _, c := range []struct{ method, verb, want string }{
		{"tf-incus", task.Apply, publish}, {"tf-incus-operator", "plan", plan}, {"tf-incus", "destroy", ""}, {"ssh", task.Apply, ""}, {"tf", task.Apply, ""},
	} {
		assert.Equal(t, (*Effect)(nil).Prepares(c.method, c.verb), c.want)
	}
}

func TestThePartsOfAnImageWhereverNixOSPutsThem(t *testing.T) {
	for _, c := range []struct {
		name  string
		files []fs.PathOp
		vm    bool
		root  string // empty is an error
	}{
		{"a squashfs in a folder", []fs.PathOp{fs.WithDir("root", fs.WithFile("nixos-lxc-image-x86_64-linux.squashfs", ""))}, false, "root/nixos-lxc-image-x86_64-linux.squashfs"},
		{"a squashfs that is a file", []fs.PathOp{fs.WithFile("root", "")}, false, "root"},
		{"a tar archive", []fs.PathOp{fs.WithDir("root", fs.WithDir("tarball", fs.WithFile("x.tar.xz", "")))}, false, "root/tarball/x.tar.xz"},
		{"a disk", []fs.PathOp{fs.WithDir("root", fs.WithFile("nixos.qcow2", ""))}, true, "root/nixos.qcow2"},
		{"no disk", []fs.PathOp{fs.WithDir("root", fs.WithFile("nixos.squashfs", ""))}, true, ""},
		{"two disks", []fs.PathOp{fs.WithDir("root", fs.WithFile("a.qcow2", ""), fs.WithFile("b.qcow2", ""))}, true, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := fs.NewDir(t, "image", append(c.files, fs.WithDir("metadata", fs.WithDir("tarball", fs.WithFile("nixos.tar.xz", ""))))...)
			f, err := find(dir.Path(), c.vm)
			if c.root == "" {
				assert.Assert(t, err != nil)
				return
			}
			assert.NilError(t, err)
			assert.Equal(t, f.Root, dir.Join(c.root))
			assert.Equal(t, f.Metadata, dir.Join("metadata/tarball/nixos.tar.xz"))
		})
	}
}

// archive is a tar archive of files with their texts, in this order.
func archive(t *testing.T, files ...string) []byte {
	t.Helper()
	var out bytes.Buffer
	pack := tar.NewWriter(&out)
	for i := 0; i < len(files); i += 2 {
		assert.NilError(t, pack.WriteHeader(&tar.Header{Name: files[i], Mode: 0o600, Size: int64(len(files[i+1]))}))
		_, err := pack.Write([]byte(files[i+1]))
		assert.NilError(t, err)
	}
	assert.NilError(t, pack.Close())
	return out.Bytes()
}

func TestEmptyPasswords(t *testing.T) {
	const locked, empty = "root:!:1::::::\n", "bin:*:1::::::\nroot::1::::::\n"
	for _, c := range []struct {
		name  string
		files []string
		open  bool
	}{
		{"locked", []string{"./etc/shadow", locked}, false},
		{"empty", []string{"etc/shadow", empty}, true},
		{"empty in passwd", []string{"/etc/passwd", "root::0:0::/root:/bin/sh\n"}, true},
		{"in shadow, as passwd says", []string{"etc/passwd", "root:x:0:0::/root:/bin/sh\n", "etc/shadow", locked}, false},
		{"the last of two counts", []string{"etc/shadow", empty, "etc/shadow", locked}, false},
		{"somebody else's", []string{"etc/shadow", "bin::1::::::\n" + locked}, false},
		{"none", []string{"nix/store/x", ""}, false},
		{"to be made empty", []string{"nix/store/0a-users-groups.json", `{"users":[{"name":"bin","password":""},{"name":"root","hashedPassword":null,"initialHashedPassword":""}]}`}, true},
		{"to be made locked", []string{"nix/store/0a-users-groups.json", `{"users":[{"name":"root","hashedPassword":"!","initialHashedPassword":null}]}`}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			var zipped bytes.Buffer
			zip := gzip.NewWriter(&zipped)
			_, err := zip.Write(archive(t, c.files...))
			assert.NilError(t, err)
			assert.NilError(t, zip.Close())
			encoder, err := zstd.NewWriter(nil)
			assert.NilError(t, err)
			for name, text := range map[string][]byte{
				"root.tar": archive(t, c.files...), "root.tar.gz": zipped.Bytes(), "root.tar.zst": encoder.EncodeAll(archive(t, c.files...), nil),
			} {
				path := filepath.Join(t.TempDir(), name)
				assert.NilError(t, os.WriteFile(path, text, 0o600))
				err := guard(t.Context(), incus.Files{Root: path}, report.NewLog(&said{}))
				if c.open {
					assert.Equal(t, report.CodeOf(err), report.Refused, name)
				} else {
					assert.NilError(t, err, name)
				}
			}
		})
	}
}

// said is what a log was told.
type said struct{ lines []string }

func (s *said) Take(e report.Event) { s.lines = append(s.lines, string(e.Level)+" "+e.Text) }

func TestARootThatCannotBeLookedIntoIsNoSilentPass(t *testing.T) {
	for name, text := range map[string][]byte{"it can't be looked into": []byte("something"), "it holds no file of accounts": archive(t, "nix/store/x", "")} {
		path := filepath.Join(t.TempDir(), "root")
		assert.NilError(t, os.WriteFile(path, text, 0o600))
		log := &said{}
		assert.NilError(t, guard(t.Context(), incus.Files{Root: path}, report.NewLog(log)))
		assert.Assert(t, cmp.Len(log.lines, 1))
		assert.Assert(t, cmp.Contains(log.lines[0], "was not seen"))
		assert.Assert(t, cmp.Contains(log.lines[0], name))
	}
}

func TestStreams(t *testing.T) {
	dir := fs.NewDir(t, "image", fs.WithFile("metadata.tar.xz", "meta"), fs.WithFile("nixos.qcow2", "disk"))
	r := &run{group: groups.Group{Name: "operator"}}
	b := built{
		Image: groups.Image{Name: "vm", Description: "a machine", VM: true}, Files: incus.Files{Metadata: dir.Join("metadata.tar.xz"), Root: dir.Join("nixos.qcow2"), VM: true},
	}
	var err error
	b.Fingerprint, err = b.Files.Fingerprint()
	assert.NilError(t, err)
	to := filepath.Join(t.TempDir(), "streams")
	s, err := openStreams(to)
	assert.NilError(t, err)
	assert.Assert(t, !s.has(r.product(b), b))
	assert.NilError(t, s.add(t.Context(), r.product(b), r.moving(b), b, time.Date(2026, 11, 30, 1, 2, 3, 0, time.UTC)))
	assert.NilError(t, s.write())

	s, err = openStreams(to)
	assert.NilError(t, err)
	assert.Assert(t, s.has(r.product(b), b))
	text, err := os.ReadFile(filepath.Join(to, catalogFile))
	assert.NilError(t, err)
	var read map[string]any
	assert.NilError(t, json.Unmarshal(text, &read))
	for _, part := range []string{
		`"operator:vm:amd64:vm"`, `"aliases": "operator/vm"`, `"20261130_010203"`, `"ftype": "disk-kvm.img"`, `"secureboot": "false"`,
		`"combined_disk-kvm-img_sha256": "` + b.Fingerprint + `"`, `"path": "images/operator/vm/amd64/vm/20261130_010203/disk-kvm.img"`,
	} {
		assert.Check(t, cmp.Contains(string(text), part))
	}
	disk, err := os.ReadFile(filepath.Join(to, "images/operator/vm/amd64/vm/20261130_010203/disk-kvm.img"))
	assert.NilError(t, err)
	assert.Equal(t, string(disk), "disk")
	index, err := os.ReadFile(filepath.Join(to, indexFile))
	assert.NilError(t, err)
	assert.Check(t, cmp.Contains(string(index), `"operator:vm:amd64:vm"`))

	// A newer one stands beside it.
	newer := b
	newer.Fingerprint = "other"
	assert.NilError(t, s.add(t.Context(), r.product(b), r.moving(b), newer, time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)))
	assert.Assert(t, s.has(r.product(b), b) && s.has(r.product(b), newer))

	// So does one that comes within the same second.
	assert.NilError(t, os.WriteFile(b.Root, []byte("later"), 0o600))
	later := b
	later.Fingerprint = "later"
	assert.NilError(t, s.add(t.Context(), r.product(b), r.moving(b), later, time.Date(2026, 11, 30, 1, 2, 3, 0, time.UTC)))
	assert.Assert(t, s.has(r.product(b), b) && s.has(r.product(b), later))
	disk, err = os.ReadFile(filepath.Join(to, "images/operator/vm/amd64/vm/20261130_010203/disk-kvm.img"))
	assert.NilError(t, err)
	assert.Equal(t, string(disk), "disk")
}

func TestOldVersionsOfAFolder(t *testing.T) {
	r := &run{group: groups.Group{Name: "operator"}}
	image := fs.NewDir(t, "image", fs.WithFile("metadata.tar.xz", "meta"), fs.WithFile("nixos.squashfs", "root"))
	day := func(n int) time.Time { return time.Date(2026, 11, n, 1, 2, 3, 0, time.UTC) }
	version := func(n int) built {
		return built{Image: groups.Image{Name: "base"}, Files: incus.Files{Metadata: image.Join("metadata.tar.xz"), Root: image.Join("nixos.squashfs")}, Fingerprint: day(n).String()}
	}
	product := r.product(version(1))
	for _, c := range []struct {
		name    string
		keep    int
		current int
		other   string // another index of the folder
		left    []string
	}{
		{"all", 0, 5, "", []string{"20261101_010203", "20261102_010203", "20261103_010203", "20261104_010203", "20261105_010203", "mine"}},
		{"more than there are", 9, 5, "", []string{"20261101_010203", "20261102_010203", "20261103_010203", "20261104_010203", "20261105_010203", "mine"}},
		{"two", 2, 5, "", []string{"20261104_010203", "20261105_010203", "mine"}},
		{"one", 1, 5, "", []string{"20261105_010203", "mine"}},
		{"the current one is old", 2, 1, "", []string{"20261101_010203", "20261105_010203", "mine"}},
		{"another index names one", 1, 5, `{"path":"images\/operator\/base\/amd64\/container\/20261102_010203\/squashfs"}`, []string{"20261102_010203", "20261105_010203", "mine"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "[images]")
			assert.NilError(t, os.Mkdir(dir, 0o755))
			s, err := openStreams(dir)
			assert.NilError(t, err)
			for n := 1; n <= 5; n++ {
				assert.NilError(t, s.add(t.Context(), product, "operator/base", version(n), day(n)))
			}
			assert.NilError(t, s.add(t.Context(), "other:base:amd64:container", "other/base", version(1), day(1)))
			folder := filepath.Join(dir, "images/operator/base/amd64/container")
			for _, more := range []string{"mine", "20261106_000000", "20261001_000000"} { // a person's, one that is being written, one that was cut off
				assert.NilError(t, os.Mkdir(filepath.Join(folder, more), 0o755))
			}
			assert.NilError(t, s.write())
			if c.other != "" {
				assert.NilError(t, os.WriteFile(filepath.Join(dir, "streams/v1/other.json"), []byte(c.other), 0o600))
			}
			retired := s.retire(product, version(c.current), c.keep)
			assert.Assert(t, cmp.Len(s.retire(product, version(c.current), c.keep), 0), "once")
			assert.NilError(t, s.write())
			if c.keep > 0 {
				_, err = s.sweep(product, retired, day(6))
				assert.NilError(t, err)
				again, err := s.sweep(product, nil, day(6))
				assert.NilError(t, err)
				assert.Assert(t, cmp.Len(again, 0))
			}
			entries, err := os.ReadDir(folder)
			assert.NilError(t, err)
			var left []string
			for _, e := range entries {
				if e.Name() != "20261106_000000" && (c.keep > 0 || e.Name() != "20261001_000000") {
					left = append(left, e.Name())
				}
			}
			assert.DeepEqual(t, left, c.left)
			_, err = os.Stat(filepath.Join(folder, "20261106_000000"))
			assert.NilError(t, err)
			assert.Assert(t, s.has(product, version(c.current)))
			assert.Assert(t, s.has("other:base:amd64:container", version(1)))
		})
	}
}

func TestAFolderThatIsNoStreamIsLeftAlone(t *testing.T) {
	dir := fs.NewDir(t, "streams", fs.WithDir("streams", fs.WithDir("v1", fs.WithFile("images.json", "<html>"))))
	_, err := openStreams(dir.Path())
	assert.Equal(t, report.CodeOf(err), report.Refused)
}

// FuzzStreams opens a folder whose catalog somebody else wrote: it is refused, or an
// image can be added, found, and older ones retired.
func FuzzStreams(f *testing.F) {
	for _, seed := range []string{
		`{"products":{}}`, `{"products":{"operator:base:amd64:container":null}}`, `null`, `{"products":null}`,
		`{"products":{"operator:base:amd64:container":{"versions":{"20261101_010203":{"items":{"incus.tar.xz":{"path":"../../x"}}},"x":{}}}}}`,
	} {
		f.Add(seed)
	}
	image := fs.NewDir(f, "image", fs.WithFile("metadata.tar.xz", "meta"), fs.WithFile("nixos.squashfs", "root"))
	b := built{Image: groups.Image{Name: "base"}, Files: incus.Files{Metadata: image.Join("metadata.tar.xz"), Root: image.Join("nixos.squashfs")}, Fingerprint: "f"}
	now := time.Date(2026, 11, 1, 1, 2, 3, 0, time.UTC)
	f.Fuzz(func(t *testing.T, text string) {
		r := &run{group: groups.Group{Name: "operator"}}
		outer := t.TempDir()
		dir := filepath.Join(outer, "images")
		assert.NilError(t, os.MkdirAll(filepath.Join(dir, "streams", "v1"), 0o755))
		assert.NilError(t, os.WriteFile(filepath.Join(dir, catalogFile), []byte(text), 0o600))
		s, err := openStreams(dir)
		if err != nil {
			assert.Equal(t, report.CodeOf(err), report.Refused)
			return
		}
		assert.NilError(t, s.add(t.Context(), r.product(b), "base", b, now))
		assert.Assert(t, s.has(r.product(b), b))
		retired := s.retire(r.product(b), b, 1)
		assert.NilError(t, s.write())
		_, err = s.sweep(r.product(b), retired, now)
		assert.NilError(t, err)
		again, err := openStreams(dir)
		assert.NilError(t, err)
		assert.Assert(t, again.has(r.product(b), b))
		beside, err := os.ReadDir(outer)
		assert.NilError(t, err)
		assert.Equal(t, len(beside), 1)
	})
}

func TestACopyThatIsCutOffLeavesNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	dir := t.TempDir()
	_, _, err := write(ctx, bytes.NewReader([]byte("half")), filepath.Join(dir, "file"))
	assert.ErrorIs(t, err, context.Canceled)
	entries, err := os.ReadDir(dir)
	assert.NilError(t, err)
	assert.Assert(t, cmp.Len(entries, 0))
}
