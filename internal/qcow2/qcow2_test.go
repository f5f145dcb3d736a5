package qcow2

import (
	"bytes"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"gotest.tools/v3/assert"
)

// TestDisksOfQEMU has QEMU write a disk in every way, and reads it back.
func TestDisksOfQEMU(t *testing.T) {
	if _, err := exec.LookPath("qemu-img"); err != nil {
		t.Skip("missing part: qemu-img")
	}
	dir := t.TempDir()
	// Noise that can't be packed, what can, and what was never written.
	raw := make([]byte, 9<<20+512)
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // any noise will do
	for i := range 1 << 20 {
		raw[i] = byte(random.Uint32())
	}
	for i := 3 << 20; i < 4<<20; i++ {
		raw[i] = byte(i >> 12)
	}
	copy(raw[len(raw)-5:], "the e")
	plain := filepath.Join(dir, "raw")
	assert.NilError(t, os.WriteFile(plain, raw, 0o600))
	for _, c := range []struct {
		name string
		args []string
	}{
		{"as it comes", nil},
		{"packed", []string{"-c"}},
		{"packed by zstd", []string{"-c", "-o", "compression_type=zstd"}},
		{"of version 2", []string{"-c", "-o", "compat=0.10"}},
		{"in small clusters", []string{"-c", "-o", "cluster_size=512"}},
		{"in large clusters", []string{"-o", "cluster_size=2M"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			to := filepath.Join(t.TempDir(), "disk")
			args := append([]string{"convert", "-f", "raw", "-O", "qcow2"}, c.args...)
			out, err := exec.CommandContext(t.Context(), "qemu-img", append(args, plain, to)...).CombinedOutput()
			assert.NilError(t, err, "%s", out)
			file, err := os.Open(to)
			assert.NilError(t, err)
			defer func() { _ = file.Close() }()
			d, err := Open(file)
			assert.NilError(t, err)
			assert.Equal(t, d.Size(), int64(len(raw)))
			text, err := io.ReadAll(io.NewSectionReader(d, 0, d.Size()))
			assert.NilError(t, err)
			assert.Assert(t, bytes.Equal(text, raw))
			part := make([]byte, 100)
			n, err := d.ReadAt(part, 1<<20-50)
			assert.NilError(t, err)
			assert.Assert(t, bytes.Equal(part[:n], raw[1<<20-50:1<<20+50]))
			n, err = d.ReadAt(part, d.Size()-5)
			assert.Equal(t, err, io.EOF)
			assert.Equal(t, string(part[:n]), "the e")
		})
	}
}

func TestDisksThatCannotBeRead(t *testing.T) {
	header := func(change func(h []byte)) []byte {
		h := make([]byte, 112)
		copy(h, Magic)
		h[7], h[23] = 3, 16
		change(h)
		return h
	}
	for _, c := range []struct {
		name, why string
		text      []byte
	}{
		{"nothing", "read the header", nil},
		{"something else", "no qcow2", make([]byte, 200)},
		{"of another version", "version 4", header(func(h []byte) { h[7] = 4 })},
		{"on another", "stands on another", header(func(h []byte) { h[15] = 1 })},
		{"encrypted", "encrypted", header(func(h []byte) { h[35] = 1 })},
		{"corrupt", "corrupt", header(func(h []byte) { h[79] = corrupt })},
		{"with data elsewhere", "elsewhere", header(func(h []byte) { h[79] = external })},
		{"without sense", "makes no sense", header(func(h []byte) { h[23] = 40 })},
		{"cut off", "read a table", header(func(h []byte) { h[39], h[46] = 9, 2 })},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Open(bytes.NewReader(c.text))
			assert.ErrorContains(t, err, c.why)
		})
	}
}
