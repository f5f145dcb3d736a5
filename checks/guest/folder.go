package guest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"fediversity.eu/slipway/checks/guest/qemu"
)

// Files of a guest's folder, besides those that QEMU names.
const (
	keyFile      = "key"
	stateFile    = "guest.json"
	diskFile     = "disk.qcow2"
	machineLog   = "machine.log" // what QEMU, nspawn and their guardian complain of
	identityFile = "identity.tar"
	treeFolder   = "tree"         // mount point, inside of the guardian's name space only
	guardianFile = "guardian.pid" // container: whose name spaces these are
	lockFile     = "lock"         // held while Start works here
)

// makeFolder makes a guest's folder, private. A machine that runs from it is
// ended, and what an earlier guest left is removed.
func makeFolder(ctx context.Context, dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make guest folder: %w", err)
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return fmt.Errorf("make guest folder: %w", err)
	}
	if err := qemu.Kill(ctx, dir); err != nil {
		return err
	}
	return cleanFolder(dir)
}

// cleanFolder removes what guests put there, and nothing else.
func cleanFolder(dir string) error {
	var errs []error
	for _, name := range []string{
		keyFile, stateFile, diskFile, machineLog, identityFile, guardianFile, treeFolder,
		qemu.QMPSocket, qemu.IdentitySocket, qemu.ConsoleFile,
	} {
		err := os.Remove(filepath.Join(dir, name))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// consoleTail is how much of each file Console shows.
const consoleTail = 8 << 10

// Console is the end of what the guest wrote to its console, and of what QEMU
// or nspawn complained of: the evidence when something went wrong.
func (g *Guest) Console() string { return console(g.dir) }

func console(dir string) string {
	var text strings.Builder
	for _, name := range []string{qemu.ConsoleFile, machineLog} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || len(data) == 0 {
			continue
		}
		fmt.Fprintf(&text, "--- %s\n%s\n", name, data[max(0, len(data)-consoleTail):])
	}
	return text.String()
}
