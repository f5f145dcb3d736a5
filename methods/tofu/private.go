package tofu

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"fediversity.eu/slipway/methods/tofu/broker"
	"fediversity.eu/slipway/methods/tofu/rundir"
)

// The private folders lie where temporary files do; heldFile is the file in one that a
// run has locked for as long as it lives.
const (
	privately = "slipway-tofu-"
	heldFile  = "held"
)

// private gives work a folder that is removed afterwards, be it by a later run.
func (e *Engine) private(ctx context.Context, d Deployment, b *broker.Broker, work func(context.Context, *workshop) error) (err error) {
	sweep(os.TempDir())
	dir, err := os.MkdirTemp("", privately)
	if err != nil {
		return fmt.Errorf("make the work directory: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	lock, err := hold(dir)
	if err != nil {
		return fmt.Errorf("make the work directory: %w", err)
	}
	defer func() { _ = lock.Close() }()
	w, err := e.open(ctx, d, dir, inPrivate(dir), b)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	return work(ctx, w)
}

func inPrivate(dir string) place {
	return place{lock: filepath.Join(dir, "lock"), process: filepath.Join(dir, "pid")}
}

// hold locks a folder. Its file is there by that name once it is locked, so that no
// sweep comes in between.
func hold(dir string) (*os.File, error) {
	file, err := os.CreateTemp(dir, heldFile)
	if err != nil {
		return nil, err
	}
	if err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err == nil {
		err = os.Rename(file.Name(), filepath.Join(dir, heldFile))
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// sweep removes the private folders of runs that were killed: they tell of a state,
// and hold nothing that anybody needs. What can't be removed is left to others.
func sweep(temporary string) {
	entries, err := os.ReadDir(temporary)
	if err != nil {
		return
	}
	for _, entry := range entries {
		dir := filepath.Join(temporary, entry.Name())
		info, err := entry.Info()
		if err != nil || !entry.IsDir() || !strings.HasPrefix(entry.Name(), privately) {
			continue
		}
		if owner, ok := info.Sys().(*syscall.Stat_t); !ok || int(owner.Uid) != os.Getuid() {
			continue
		}
		place := inPrivate(dir)
		if name, err := os.ReadFile(place.process); err == nil && rundir.Lives(strings.TrimSpace(string(name))) {
			continue
		}
		if free(filepath.Join(dir, heldFile), false) && free(place.lock, true) {
			_ = rundir.Drop(dir)
		}
	}
}

// free tells whether nobody has locked a file. One that is not there says absent.
func free(path string, absent bool) bool {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return absent && errors.Is(err, os.ErrNotExist)
	}
	defer func() { _ = file.Close() }()
	return syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}
