package guest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"fediversity.eu/slipway/checks/guest/debian"
	"fediversity.eu/slipway/internal/wait"
)

// cache is the folder that all guests of a user share:
//
//	lock                     held by who builds
//	accel.json               what this host can do
//	<recipe hash>/           what debian.Suite.Build made, and
//	  in-use                 a shared lock of every guest that runs from here
//	  disk-<MiB>.img         the tree as a disk
//	  template-<…>/          a saved machine
//
// Everything is built under a temporary name and renamed when it is whole.
type cache struct {
	dir   string
	suite debian.Suite
	log   io.Writer
}

// base is the folder of the present recipe.
func (c cache) base() string { return filepath.Join(c.dir, c.suite.Hash()) }

// present tells whether a name is that of a folder of one of today's recipes.
func present(name string) bool {
	return slices.ContainsFunc(debian.Suites(), func(s debian.Suite) bool { return s.Hash() == name })
}

// buildLimit bounds the wait for another process that builds.
const buildLimit = 15 * time.Minute

// lock waits until no other process builds in this cache.
func (c cache) lock(ctx context.Context) (unlock func(), err error) {
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return nil, fmt.Errorf("make cache: %w", err)
	}
	return lockFileWithin(ctx, filepath.Join(c.dir, "lock"), buildLimit, func() {
		say(c.log, "waiting for another process that prepares test machines")
	})
}

// silentWait is how long a wait for a lock is not worth a word.
const silentWait = time.Second

// lockFileWithin takes an exclusive lock, and calls waiting once if somebody
// else keeps it.
func lockFileWithin(ctx context.Context, name string, limit time.Duration, waiting func()) (unlock func(), err error) {
	file, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	started, told := time.Now(), false
	turn := wait.For{What: "the lock " + name, Limit: limit, Interval: 50 * time.Millisecond}
	err = turn.Until(ctx, func(context.Context) error {
		err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err != nil && !told && time.Since(started) > silentWait {
			told = true
			waiting()
		}
		return err
	})
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	return func() { _ = file.Close() }, nil
}

// use keeps the present recipe's folder from being removed.
func (c cache) use() (release func(), err error) {
	file, err := os.OpenFile(filepath.Join(c.base(), "in-use"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("use cache: %w", err)
	}
	now := time.Now()
	err = errors.Join(unix.Flock(int(file.Fd()), unix.LOCK_SH), os.Chtimes(file.Name(), now, now))
	if err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("use cache: %w", err)
	}
	return func() { _ = file.Close() }, nil
}

var recipeFolder = regexp.MustCompile(`^[0-9a-f]{16}$`)

// pruneAge is how long a recipe must not have been used before what was built
// from it is removed: two versions of this program may be at work side by side.
const pruneAge = 24 * time.Hour

// prune removes what other recipes left and nobody runs from, and what an
// interrupted build left. Its caller holds the lock.
func (c cache) prune() error {
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		return err
	}
	var errs []error
	for _, entry := range entries {
		dir := filepath.Join(c.dir, entry.Name())
		switch {
		case temporary(entry.Name()):
			errs = append(errs, os.RemoveAll(dir))
		case !present(entry.Name()) && recipeFolder.MatchString(entry.Name()):
			file, err := os.OpenFile(filepath.Join(dir, "in-use"), os.O_CREATE|os.O_RDWR, 0o600)
			if err != nil {
				errs = append(errs, err)
				continue
			}
			used, err := file.Stat()
			if err == nil && time.Since(used.ModTime()) > pruneAge && unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
				say(c.log, "removing %s, of another recipe", dir)
				errs = append(errs, os.RemoveAll(dir))
			}
			_ = file.Close()
		}
	}
	return errors.Join(errs...)
}

const temporaryPrefix = ".new-"

func temporary(name string) bool {
	return strings.HasPrefix(name, temporaryPrefix)
}

// build makes target, a file or folder, through a temporary name beside it.
func build(target string, fill func(temporary string) error) error {
	temporary := filepath.Join(filepath.Dir(target), temporaryPrefix+filepath.Base(target))
	if err := os.RemoveAll(temporary); err != nil {
		return err
	}
	err := fill(temporary)
	if err == nil {
		err = os.Rename(temporary, target)
	}
	if err != nil {
		return errors.Join(err, os.RemoveAll(temporary))
	}
	return nil
}

// room checks that mib MiB are free where dir is.
func room(dir string, mib int) error {
	var free unix.Statfs_t
	if err := unix.Statfs(dir, &free); err != nil {
		return fmt.Errorf("look for room in %s: %w", dir, err)
	}
	has := int(free.Bavail * uint64(free.Bsize) >> 20)
	if has < mib {
		return fmt.Errorf("%s has %d MiB free, %d MiB are needed: make room or choose another folder", dir, has, mib)
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
