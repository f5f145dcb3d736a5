package toolchain

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"fediversity.eu/slipway/internal/child"
	"fediversity.eu/slipway/targets/env"
)

// VendorHash computes what nixpkgs' buildGoModule calls vendorHash, of the module
// at dir: the hash of the Nix archive of what go mod vendor writes (nixpkgs manual,
// "Go").
func VendorHash(ctx context.Context, e env.Environment, k Keys, dir string) (string, error) {
	scratch, err := os.MkdirTemp("", "slipway-vendor-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	vendor := filepath.Join(scratch, "vendor")
	if _, err := k.Go(e, dir, nil, "mod", "vendor", "-o", vendor).Output(ctx); err != nil {
		return "", err
	}
	said, err := child.Command{Path: "nix-hash", Args: []string{"--type", "sha256", vendor}, Env: e.Child(nil)}.Output(ctx)
	if err != nil {
		return "", err
	}
	sum, err := hex.DecodeString(strings.TrimSpace(string(said)))
	if err != nil {
		return "", fmt.Errorf("read the answer of nix-hash: %w", err)
	}
	return "sha256-" + base64.StdEncoding.EncodeToString(sum), nil
}
