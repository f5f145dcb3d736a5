package debian

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strconv"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"
)

var entryFields = gocmp.AllowUnexported(sourceEntry{})

func TestRecipeIsWhole(t *testing.T) {
	for _, name := range []string{"packages", "modules", "masked"} {
		names, err := list(name)
		assert.NilError(t, err)
		assert.Assert(t, len(names) > 0)
		sorted := slices.Sorted(slices.Values(names))
		assert.Equal(t, len(slices.Compact(sorted)), len(names), "%s names something twice", name)
	}
	assert.Assert(t, cmp.Regexp(`^[0-9a-f]{16}$`, Trixie.Hash()))
	assert.Equal(t, Trixie.Hash(), Trixie.Hash())
	assert.Assert(t, Trixie.Hash() != Bookworm.Hash())
}

func TestPrivateAptKeepsOnlyHowTheHostReachesAnArchive(t *testing.T) {
	text := aptConfig("/private", "Acquire \"\";\nAcquire::http::Proxy \"http://proxy.example:3128\";\nAPT::Periodic \"1\";\n")
	assert.Assert(t, cmp.Contains(text, "Acquire::http::Proxy \"http://proxy.example:3128\";\n"))
	assert.Assert(t, cmp.Contains(text, "Dir::State \"/private\";\n"))
	assert.Assert(t, cmp.Contains(text, "Dir::Etc::sourceparts \"/dev/null\";\n"))
	assert.Assert(t, !strings.Contains(text, "Periodic"))
}

func TestNewestKernelIsFound(t *testing.T) {
	name, err := dependency("linux-image-cloud-amd64\n  Depends: linux-image-6.12.1-cloud-amd64\n  Suggests: x\n", "linux-image-")
	assert.NilError(t, err)
	assert.Equal(t, name, "linux-image-6.12.1-cloud-amd64")
	_, err = dependency("x\n  Depends: y\n", "linux-image-")
	assert.ErrorContains(t, err, "find kernel: no dependency on linux-image-")
}

func TestVersionsAreRecorded(t *testing.T) {
	got := versions([]string{"/d/zstd_1.5_amd64.deb", "/d/bash_5.2-1_amd64.deb", "/d/dbus_1%3a1.16_amd64.deb"})
	assert.Equal(t, got, "bash 5.2-1\ndbus 1:1.16\nzstd 1.5\n")
}

func TestKernelIsTakenOutOfItsImage(t *testing.T) {
	kernel := append([]byte("\x7fELF"), bytes.Repeat([]byte("kernel"), 1000)...)
	for _, c := range []struct {
		name   string
		change func(image []byte) []byte
		err    string
	}{
		{"a bzImage", func(image []byte) []byte { return image }, ""},
		{"no image", func([]byte) []byte { return []byte("hello") }, "not a bzImage"},
		{"another kind of image", func(image []byte) []byte { image[0x202] = 'X'; return image }, "not a bzImage"},
		{"an image cut short", func(image []byte) []byte { return image[:len(image)-20] }, "payload lies outside of the image"},
		{"another compression", func(image []byte) []byte { image[1024+16] = 0; return image }, "decompress zstd"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := elfKernel(c.change(bzImage(t, kernel)))
			if c.err != "" {
				assert.ErrorContains(t, err, c.err)
				return
			}
			assert.NilError(t, err)
			assert.Assert(t, bytes.Equal(got, kernel))
		})
	}
	_, err := elfKernel(bzImage(t, []byte("a script, say")))
	assert.ErrorContains(t, err, "payload is no ELF file")
}

// bzImage is the smallest image with a kernel: one sector of set-up code, the
// payload 16 bytes behind it, and the unpacked size at its end.
func bzImage(t *testing.T, kernel []byte) []byte {
	t.Helper()
	encoder, err := zstd.NewWriter(nil)
	assert.NilError(t, err)
	payload := binary.LittleEndian.AppendUint32(encoder.EncodeAll(kernel, nil), uint32(len(kernel)))
	image := make([]byte, 1024+16)
	image[0x1f1] = 1
	copy(image[0x202:], "HdrS")
	binary.LittleEndian.PutUint32(image[0x248:], 16)
	binary.LittleEndian.PutUint32(image[0x24c:], uint32(len(payload)))
	return append(image, payload...)
}

func TestInitrdIsAnArchiveForTheKernel(t *testing.T) {
	archive := &cpio{}
	archive.dir("bin")
	archive.file("bin/x", 0o755, []byte("abcde"))
	got := readCPIO(t, archive.bytes())
	assert.DeepEqual(t, got, []string{"bin 40755 ", "bin/x 100755 abcde", "TRAILER!!! 0 "})
}

func readCPIO(t *testing.T, data []byte) []string {
	t.Helper()
	field := func(at, n int) int {
		value, err := strconv.ParseInt(string(data[at+6+8*n:at+14+8*n]), 16, 64)
		assert.NilError(t, err)
		return int(value)
	}
	align := func(n int) int { return (n + 3) &^ 3 }
	var entries []string
	for at := 0; at < len(data); {
		assert.Equal(t, string(data[at:at+6]), "070701")
		mode, size, name := field(at, 1), field(at, 6), field(at, 11)
		nameEnd := at + 110 + name
		assert.Equal(t, data[nameEnd-1], byte(0))
		start := align(nameEnd)
		entries = append(entries, string(data[at+110:nameEnd-1])+" "+strconv.FormatInt(int64(mode), 8)+" "+string(data[start:start+size]))
		at = align(start + size)
	}
	return entries
}
