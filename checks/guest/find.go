package guest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"fediversity.eu/slipway/checks/guest/qemu"
)

// Find gives the guest that an earlier Start made in dir. The error is
// ErrNoGuest when none was, and ErrNotRunning when it has ended since or never
// came up: then Start makes a new one.
//
// No process number is believed: the machine itself must answer at the socket
// in dir, and with the identity that it was started with.
func Find(dir string) (*Guest, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(filepath.Join(dir, stateFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w", dir, ErrNoGuest)
	}
	if err != nil {
		return nil, fmt.Errorf("find guest: %w", err)
	}
	var known state
	if err := json.Unmarshal(text, &known); err != nil {
		return nil, fmt.Errorf("find guest: read %s: %w", filepath.Join(dir, stateFile), err)
	}
	if !known.Complete {
		return nil, fmt.Errorf("%s: its start was interrupted: %w", known.Name, ErrNotRunning)
	}
	ctx := context.Background()
	monitor, err := qemu.DialMonitor(ctx, dir)
	if qemu.Gone(err) {
		return nil, fmt.Errorf("%s: %w", known.Name, ErrNotRunning)
	}
	if err != nil {
		return nil, fmt.Errorf("find %s: %w", known.Name, err)
	}
	defer monitor.Close()
	id, err := monitor.UUID(ctx)
	if err != nil {
		return nil, fmt.Errorf("find %s: %w", known.Name, err)
	}
	if !strings.EqualFold(id, known.UUID) {
		return nil, fmt.Errorf("%s: another machine answers: %w", known.Name, ErrNotRunning)
	}
	return &Guest{
		kind: VM, name: known.Name, dir: dir, access: known.Access, ports: known.Ports,
		engine: &vm{dir: dir}, release: func() {},
	}, nil
}
