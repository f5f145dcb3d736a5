package source

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"fediversity.eu/slipway/internal/child"
)

// mostPacked is how long a tarball may be, in bytes.
const mostPacked = mostBytes

// fetchTarball unpacks a tarball into an empty folder. It is read from a copy that
// nobody else can change, after its hash was found to be the pinned one.
func (s *Shelf) fetchTarball(ctx context.Context, a Address, dir string) error {
	path := a.where
	if scheme.MatchString(path) {
		var err error
		if path, err = s.prefetch(ctx, a); err != nil {
			return err
		}
	}
	copied, err := os.Create(filepath.Join(filepath.Dir(dir), "tarball"))
	if err != nil {
		return err
	}
	defer func() { _ = copied.Close() }()
	found, err := copyHashed(copied, path)
	if err != nil {
		return err
	}
	if found != a.pin {
		return &refusal{fmt.Errorf("its hash is %s, and that which was pinned is %s: it is not that file", found, a.pin), "nothing of it was unpacked"}
	}
	if _, err := copied.Seek(0, io.SeekStart); err != nil {
		return err
	}
	if err := unpack(copied, dir); err != nil {
		return &refusal{err, "a module source holds text files, folders, and links among them"}
	}
	return nil
}

// copyHashed copies a file and gives its hash as sha256-BASE64.
func copyHashed(to io.Writer, path string) (string, error) {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is no file")
	}
	if err != nil {
		return "", err
	}
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }()
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(to, sum), io.LimitReader(file, mostPacked+1))
	if err == nil && n > mostPacked {
		err = errTooLarge
	}
	return hashPrefix + base64.StdEncoding.EncodeToString(sum.Sum(nil)), err
}

// prefetch has Nix fetch a tarball, which takes it into its store when the hash is
// the pinned one. Nix's own netrc file may hold what a server wants to know.
func (s *Shelf) prefetch(ctx context.Context, a Address) (string, error) {
	sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(a.pin, hashPrefix))
	if err != nil {
		return "", err
	}
	out, err := child.Command{
		Path: "nix-prefetch-url", Env: s.environment.Child(nil),
		Args: []string{"--type", "sha256", "--print-path", "--name", "module-source", a.where, fmt.Sprintf("%x", sum)},
	}.Output(ctx)
	if err != nil {
		return "", failed(ctx, err, "Nix", "nix-prefetch-url of Nix fetches it")
	}
	lines := strings.Fields(string(out))
	if len(lines) != 2 || !filepath.IsAbs(lines[1]) {
		return "", fmt.Errorf("nix-prefetch-url answered %q", out)
	}
	return lines[1], nil
}
