package image

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	"github.com/klauspost/compress/zstd"

	"fediversity.eu/slipway/internal/incus"
	"fediversity.eu/slipway/targets/report"
)

// guard refuses an image in which root has an empty password, whoever made it. The
// evaluation refuses those that NixOS would make so; here is looked at what lies in
// a root that can be read, which a squashfs or a disk can't.
func guard(ctx context.Context, f incus.Files) error {
	file, err := os.Open(f.Root)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	archive, err := unpacked(f.Root, file)
	if err != nil || archive == nil {
		return err
	}
	open, err := opensToAll(ctx, archive)
	if err != nil {
		return fmt.Errorf("read %s: %w", f.Root, err)
	}
	if open {
		return report.Refuse("look at the image", errors.New("root has an empty password in its /etc/shadow or /etc/passwd"),
			"whoever reaches a machine made from it could log in: set users.users.root.hashedPassword to \"!\"; nothing was published")
	}
	return nil
}

// unpacked reads an archive; nil is one that can't be read.
func unpacked(name string, file io.Reader) (io.Reader, error) {
	switch {
	case strings.HasSuffix(name, ".tar"):
		return file, nil
	case strings.HasSuffix(name, ".tar.gz"):
		return gzip.NewReader(file)
	case strings.HasSuffix(name, ".tar.zst"):
		return zstd.NewReader(file)
	}
	return nil, nil
}

// opensToAll tells whether an archive holds accounts in which root's password is
// empty. Of two files of one name the last is the one that is unpacked.
func opensToAll(ctx context.Context, archive io.Reader) (bool, error) {
	open := map[string]bool{}
	r := tar.NewReader(archive)
	for {
		header, err := r.Next()
		switch {
		case errors.Is(err, io.EOF):
			return open["etc/shadow"] || open["etc/passwd"], nil
		case err != nil:
			return false, err
		case ctx.Err() != nil:
			return false, context.Cause(ctx)
		}
		name := strings.TrimPrefix(path.Clean("/"+header.Name), "/")
		if name != "etc/shadow" && name != "etc/passwd" {
			continue
		}
		text, err := io.ReadAll(io.LimitReader(r, 1<<20))
		if err != nil {
			return false, err
		}
		open[name] = emptyRoot(text)
	}
}

// emptyRoot tells whether the second field of root's line is empty (passwd(5),
// shadow(5)).
func emptyRoot(text []byte) bool {
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		if rest, ok := strings.CutPrefix(lines.Text(), "root:"); ok {
			return strings.HasPrefix(rest, ":")
		}
	}
	return false
}
