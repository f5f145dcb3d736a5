package debian

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/zstd"

	"fediversity.eu/slipway/internal/child"
)

// makeKernel takes a kernel package apart: the kernel itself as Kernel, the few
// modules that it needs to find its disk in Initrd.
func makeKernel(ctx context.Context, deb, work, out string) error {
	err := child.Command{Path: "dpkg-deb", Args: []string{"-x", deb, work}, Env: environment()}.Run(ctx)
	if err != nil {
		return err
	}
	images, err := filepath.Glob(filepath.Join(work, "boot", "vmlinuz-*"))
	if err != nil || len(images) != 1 {
		return fmt.Errorf("unpack kernel: %d images", len(images))
	}
	compressed, err := os.ReadFile(images[0])
	if err != nil {
		return err
	}
	kernel, err := elfKernel(compressed)
	if err != nil {
		return fmt.Errorf("unpack kernel: %w", err)
	}
	if err := os.WriteFile(filepath.Join(out, Kernel), kernel, 0o644); err != nil {
		return err
	}
	version := strings.TrimPrefix(filepath.Base(images[0]), "vmlinuz-")
	initrd, err := makeInitrd(ctx, filepath.Join(work, "usr/lib/modules", version, "kernel"),
		filepath.Join(out, Root, "usr/bin/busybox"))
	if err != nil {
		return fmt.Errorf("make initrd: %w", err)
	}
	return os.WriteFile(filepath.Join(out, Initrd), initrd, 0o644)
}

// elfKernel takes the ELF kernel out of a bzImage. Unpacking it once here saves
// every emulated boot from doing so. Field offsets are those of the x86 boot
// protocol, 2.08 and later.
func elfKernel(image []byte) ([]byte, error) {
	const setupSectors, magic, payloadOffset, payloadLength = 0x1f1, 0x202, 0x248, 0x24c
	if len(image) < 0x260 || string(image[magic:magic+4]) != "HdrS" {
		return nil, errors.New("not a bzImage")
	}
	start := (int64(image[setupSectors])+1)*512 + int64(binary.LittleEndian.Uint32(image[payloadOffset:]))
	end := start + int64(binary.LittleEndian.Uint32(image[payloadLength:]))
	if start > end-4 || end > int64(len(image)) {
		return nil, errors.New("payload lies outside of the image")
	}
	// The last four bytes are the unpacked size, not part of the stream.
	decoder, err := zstd.NewReader(bytes.NewReader(image[start:end-4]), zstd.WithDecoderMaxWindow(1<<28))
	if err != nil {
		return nil, err
	}
	defer decoder.Close()
	kernel, err := io.ReadAll(decoder)
	if err != nil {
		return nil, fmt.Errorf("decompress zstd: %w", err)
	}
	if !bytes.HasPrefix(kernel, []byte("\x7fELF")) {
		return nil, errors.New("payload is no ELF file")
	}
	return kernel, nil
}

// makeInitrd packs busybox, the recipe's modules and a script that loads them.
func makeInitrd(ctx context.Context, modules, busybox string) ([]byte, error) {
	names, err := list("modules")
	if err != nil {
		return nil, err
	}
	init, err := recipe.ReadFile("recipe/init.sh")
	if err != nil {
		return nil, err
	}
	shell, err := os.ReadFile(busybox)
	if err != nil {
		return nil, err
	}
	archive := &cpio{}
	for _, dir := range []string{"bin", "dev", "proc", "root", "modules"} {
		archive.dir(dir)
	}
	archive.file("init", 0o755, init)
	archive.file("bin/busybox", 0o755, shell)
	for i, name := range names {
		module, err := child.Command{
			Path: "xz", Args: []string{"-dc", "--", filepath.Join(modules, name+".ko.xz")}, Env: environment(),
		}.Output(ctx)
		if err != nil {
			return nil, err
		}
		archive.file(fmt.Sprintf("modules/%02d-%s.ko", i, path.Base(name)), 0o644, module)
	}
	return archive.bytes(), nil
}
