package incusd

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"fediversity.eu/slipway/checks/guest/debian"
	"fediversity.eu/slipway/internal/child"
)

// packages are what the daemon's own root file system is made of.
var packages = []string{
	"attr", "base-passwd", "bash", "coreutils", "dnsmasq-base", "findutils", "grep", "gzip", "incus-base", "incus-client",
	"iproute2", "iptables", "kmod", "libc-bin", "mount", "nftables", "procps", "sed", "squashfs-tools", "tar", "util-linux",
	"xz-utils", "zstd",
}

// configure is what the packages' own scripts would have done, as far as the daemon
// needs it.
const configure = `set -eu
cd "$1"
ln -sf bash usr/bin/sh
cp usr/share/base-passwd/passwd.master etc/passwd
cp usr/share/base-passwd/group.master etc/group
echo root:1000000:1000000000 | tee etc/subuid >etc/subgid
ldconfig -r .
rm -r usr/lib/systemd/system # who runs it has units of its own
mkdir -p proc sys dev run tmp mnt root share var/lib/incus var/log/incus
`

// Tree makes the daemon's root file system, unless the cache has it. Laid below that
// of a guest it gives it Incus.
func Tree(ctx context.Context, cache string, log io.Writer) (string, error) {
	sum := sha256.Sum256([]byte(string(debian.Trixie) + configure + strings.Join(packages, " ")))
	dir := filepath.Join(cache, "incus")
	tree := filepath.Join(dir, hex.EncodeToString(sum[:8]))
	if _, err := os.Stat(tree); err == nil {
		return tree, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	started := time.Now()
	half, err := os.MkdirTemp(dir, ".new-*")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(half) }()
	if err := debian.Trixie.Tree(ctx, packages, half); err != nil {
		return "", err
	}
	if err := (child.Command{Path: "sh", Args: []string{"-c", configure, "configure", half}, Env: environment()}).Run(ctx); err != nil {
		return "", err
	}
	if err := os.Chmod(half, 0o755); err != nil {
		return "", err
	}
	err = os.Rename(half, tree)
	if _, there := os.Stat(tree); there == nil {
		err = nil // ours, or that of a run beside us
	}
	_, _ = fmt.Fprintf(log, "Incus unpacked in %.1f s\n", time.Since(started).Seconds())
	return tree, err
}
