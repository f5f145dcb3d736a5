package image

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"fediversity.eu/slipway/internal/wait"
	"fediversity.eu/slipway/targets/report"
)

// turnLimit is how long another run may write images to the same folder: they are
// large, and disks are slow.
const turnLimit = 15 * time.Minute

// alone waits until no other run publishes to a folder, and keeps others from it
// until it is closed: a run writes down again all that it read there.
func alone(ctx context.Context, dir string, log *report.Log) (*os.File, error) {
	fail := func(err error) error { return report.Fail("lock "+dir, err, "nothing was written there") }
	path := filepath.Join(dir, filepath.Dir(filepath.FromSlash(catalogFile)))
	if err := os.MkdirAll(path, 0o755); err != nil { //nolint:gosec // a web server reads it
		return nil, fail(err)
	}
	folder, err := os.Open(path)
	if err != nil {
		return nil, fail(err)
	}
	told := false
	taken := errors.New("it is not through yet")
	err = wait.For{What: "another run that publishes to " + dir, Limit: turnLimit}.Until(ctx, func(context.Context) error {
		switch err := unix.Flock(int(folder.Fd()), unix.LOCK_EX|unix.LOCK_NB); {
		case err == nil:
			return nil
		case !errors.Is(err, unix.EWOULDBLOCK):
			return wait.Stop(err)
		case !told:
			log.Infof("waiting for another run that publishes to %s", dir)
			told = true
		}
		return taken
	})
	if err == nil {
		return folder, nil
	}
	_ = folder.Close()
	if errors.Is(err, taken) {
		return nil, &report.Fault{Code: report.Busy, What: "publish to " + dir, Why: err, Hint: "nothing was written there; publish again when the other run has ended"}
	}
	return nil, fail(err)
}
