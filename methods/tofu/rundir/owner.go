package rundir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"

	"fediversity.eu/slipway/targets/report"
)

// writable are the bits of a mode by which others than the owner may write.
const writable fs.FileMode = 0o022

// ours refuses a directory that is another user's, or that others may write to, and one
// with such a file or folder in it: what lies there is believed and goes into the
// backend. The superuser, who could take it over, is refused too. An empty one of the
// user's, as a umask of 002 makes it, becomes the user's alone.
func ours(path string, uid int) error {
	info, entries, err := listing(path)
	if err == nil && len(entries) == 0 && info.Mode()&writable != 0 && owner(info) == uid {
		if err := os.Chmod(path, 0o700); err != nil {
			return err
		}
		info, entries, err = listing(path) // somebody may have been faster
	}
	if err != nil {
		return err
	}
	faults := []error{foreign(path, info, uid)}
	for _, e := range entries {
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue // the run before is removing its private directory
		}
		if err != nil {
			return err
		}
		faults = append(faults, foreign(filepath.Join(path, e.Name()), info, uid))
	}
	if err := errors.Join(faults...); err != nil {
		return &report.Fault{
			Code: report.Usage, What: "use the run directory " + path, Why: err,
			Hint: "nothing was changed. Name a folder of " + called(uid) + " alone by STATE_DIR, or run as the owner of this one; " +
				"where nobody else has written there, chown -R " + strconv.Itoa(uid) + " and chmod -R go-w make it one",
		}
	}
	return nil
}

// listing gives a directory, and what is in it.
func listing(path string) (fs.FileInfo, []fs.DirEntry, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, nil, err
	}
	entries, err := os.ReadDir(path)
	if errors.Is(err, fs.ErrPermission) {
		err = nil // it is another's, or its owner shut it
	}
	return info, entries, err
}

// foreign says whose a file is, or that others may write to it.
func foreign(path string, info fs.FileInfo, uid int) error {
	switch {
	case owner(info) != uid:
		return fmt.Errorf("%s belongs to %s, and this run is of %s", path, called(owner(info)), called(uid))
	case info.Mode().Type() != fs.ModeSymlink && info.Mode()&writable != 0:
		return fmt.Errorf("others than its owner may write to %s (mode %04o)", path, info.Mode().Perm())
	}
	return nil
}

// owner is the number of the user whose file it is.
func owner(info fs.FileInfo) int {
	return int(info.Sys().(*syscall.Stat_t).Uid) //nolint:forcetypeassert // os.FileInfo of a system with users
}

// called is a user by name and number.
func called(uid int) string {
	number := strconv.Itoa(uid)
	if known, err := user.LookupId(number); err == nil {
		return known.Username + " (" + number + ")"
	}
	return "user " + number
}
