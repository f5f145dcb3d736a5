package debian

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"fediversity.eu/slipway/internal/child"
)

// unpackScript unpacks the packages "$@" into $TREE. dpkg itself would take ten
// times as long.
const unpackScript = `set -eu
for deb; do
  dpkg-deb --fsys-tarfile "$deb" | tar -x -C "$TREE" $OWNER --keep-directory-symlink \
    --exclude=./usr/share/man/* --exclude=./usr/share/doc/* --exclude=./usr/share/info/* --exclude=./usr/share/locale/*
done`

// unpackers is how many packages are unpacked at a time.
const unpackers = 2

// unpack makes a tree of packages.
func unpack(ctx context.Context, debs []string, tree string) error {
	// The links from /bin to /usr/bin and their like go first: in some suites no
	// package has them, and in none may a directory take their place.
	for _, name := range []string{"bin", "sbin", "lib", "lib64"} {
		if err := os.MkdirAll(filepath.Join(tree, "usr", name), 0o755); err != nil {
			return err
		}
		if err := os.Symlink(filepath.Join("usr", name), filepath.Join(tree, name)); err != nil {
			return err
		}
	}
	errs := make(chan error, unpackers)
	for worker := range unpackers {
		var share []string
		for i := worker; i < len(debs); i += unpackers {
			share = append(share, debs[i])
		}
		go func() { errs <- unpackSome(ctx, share, tree) }()
	}
	var failed error
	for range unpackers {
		if err := <-errs; err != nil && failed == nil {
			failed = err
		}
	}
	return failed
}

func unpackSome(ctx context.Context, debs []string, tree string) error {
	owner := "--same-owner"
	if os.Geteuid() != 0 {
		owner = "--no-same-owner"
	}
	return child.Command{
		Path: "bash", Args: append([]string{"-o", "pipefail", "-c", unpackScript, "unpack"}, debs...),
		Env: environment("TREE="+tree, "OWNER="+owner),
	}.Run(ctx)
}

// configure makes a bootable machine of a tree.
func (s Suite) configure(ctx context.Context, tree, recipe string) error {
	if err := asRoot(ctx, "bash", filepath.Join(recipe, "configure.sh"), tree, recipe, string(s)); err != nil {
		return fmt.Errorf("configure root file system: %w", err)
	}
	return nil
}

// Image makes an ext4 disk of mib MiB with the tree of the folder dir. The file
// is sparse; it has a small journal, so that a machine survives a power cut.
func Image(ctx context.Context, dir, file string, mib int) error {
	image, err := os.OpenFile(file, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	err = image.Truncate(int64(mib) << 20)
	if closed := image.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	err = asRoot(ctx, "mke2fs", "-q", "-F", "-t", "ext4", "-m", "0", "-J", "size=8",
		"-O", "^metadata_csum,^64bit", "-E", "lazy_itable_init=1,root_owner=0:0",
		"-d", filepath.Join(dir, Root), file, fmt.Sprintf("%dM", mib))
	if err != nil {
		return fmt.Errorf("make disk image: %w", err)
	}
	return nil
}
