// Package rundir is the directory in which runs over one state work, one at a
// time: where each version of the state lies before anybody is told that it was
// written, what was made by whom, and a folder of its own for every run.
//
//	lock              held by the run
//	tofu.lock         held by the supervisor of its tofu, which may outlive it
//	tofu.pid          the tofu that the supervisor runs
//	journal/          what is not known to be in the backend: LINEAGE-SERIAL.json,
//	                  and the bootstrap that it belongs to
//	known             which versions the backend may have that are ours
//	events-RUN.jsonl  what tofu said that it made and removed
//	run-RUN/          configuration, plan and tofu's own files
package rundir

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"fediversity.eu/slipway/internal/wait"
	"fediversity.eu/slipway/targets/report"
)

// Dir is a directory that this run has for itself.
type Dir struct {
	Path string
	Run  string // the name of this run
	uid  int    // whose it must be
	lock *os.File
}

// dyingLimit is how long the tofu of a run that was killed may take to end: it
// finishes what it is at and writes it down.
const dyingLimit = 5 * time.Minute

// Open takes the directory, which it makes if needed. The error has exit code 75
// when another run is in it, and 2 when it is not this user's alone.
func Open(ctx context.Context, path, run string, log *report.Log) (*Dir, error) {
	d := &Dir{Path: path, Run: run, uid: os.Geteuid()}
	if err := d.take(); err != nil {
		return nil, err
	}
	if err := d.survivors(ctx, log); err != nil {
		_ = d.release()
		return nil, err
	}
	if err := os.MkdirAll(d.Work(), 0o700); err != nil {
		_ = d.release()
		return nil, fmt.Errorf("make the work directory: %w", err)
	}
	return d, nil
}

// take makes the directory and locks it. Nothing but the lock is put there before
// it is ours: the run before may be removing its private directory.
func (d *Dir) take() error {
	var err error
	for range 100 {
		if err = d.claim(); err == nil {
			break
		}
		if !errors.Is(err, os.ErrNotExist) && !errors.Is(err, os.ErrExist) {
			return err
		}
	}
	if err != nil {
		return err
	}
	err = os.MkdirAll(d.journal(), 0o700)
	if err == nil {
		err = os.Chmod(d.Path, 0o700)
	}
	if err != nil {
		_ = d.release()
		return fmt.Errorf("make the run directory: %w", err)
	}
	return nil
}

// claim locks the directory. The error is that something is not there, or is
// already, where another run removed the directory in between.
func (d *Dir) claim() error {
	if err := os.MkdirAll(d.Path, 0o700); err != nil {
		return fmt.Errorf("make the run directory: %w", err)
	}
	err := ours(d.Path, d.uid)
	if err != nil {
		return err
	}
	if d.lock, err = os.OpenFile(d.file("lock"), os.O_CREATE|os.O_RDWR, 0o600); err != nil {
		return fmt.Errorf("lock the run directory: %w", err)
	}
	err = syscall.Flock(int(d.lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	switch {
	case errors.Is(err, syscall.EWOULDBLOCK):
		err = busy(d.Path, errors.New("another run works in it"))
	case err != nil:
		err = fmt.Errorf("lock the run directory: %w", err)
	case !d.current():
		err = fmt.Errorf("lock the run directory: %w", os.ErrNotExist)
	default:
		return nil
	}
	return errors.Join(err, d.lock.Close())
}

// release gives the lock back. A child that another goroutine is just about to start
// has the file too, for a moment, and closing it alone would keep it locked so long.
func (d *Dir) release() error {
	return errors.Join(syscall.Flock(int(d.lock.Fd()), syscall.LOCK_UN), d.lock.Close())
}

// current tells whether the file that is locked is still the one of that name: a
// run before may have removed its private directory in between.
func (d *Dir) current() bool {
	ours, err := d.lock.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(d.file("lock"))
	return err == nil && os.SameFile(ours, there)
}

func busy(path string, why error) error {
	return &report.Fault{
		Code: report.Busy, What: "use the run directory " + path, Why: why,
		Hint: "try again when that run has ended; nothing was changed",
	}
}

// survivors waits for the tofu that a killed run left: it still makes and writes.
func (d *Dir) survivors(ctx context.Context, log *report.Log) error {
	told := false
	err := wait.For{What: "the OpenTofu of a run that was killed", Limit: dyingLimit}.Until(ctx, func(context.Context) error {
		err := d.alone()
		if err != nil && !told {
			log.Infof("waiting for the OpenTofu of a run that was killed to end and to write its state")
			told = true
		}
		return err
	})
	if err != nil && ctx.Err() == nil {
		return busy(d.Path, err)
	}
	return err
}

// alone is nil when no supervisor and no tofu of an earlier run is left.
func (d *Dir) alone() error {
	file, err := os.OpenFile(d.SupervisorLock(), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return wait.Stop(err)
	}
	defer func() { _ = file.Close() }()
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return errors.New("its supervisor is still there")
	}
	return Gone(d.TofuProcess())
}

// Gone is nil when the process that a file names is no more, and then nothing of
// its group is either.
func Gone(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil //nolint:nilerr // none is written down
	}
	name := strings.TrimSpace(string(text))
	if Lives(name) {
		return errors.New("process " + name + " is still there")
	}
	End(name)
	return nil
}

// Close lets go of the directory. What a later run needs stays; if that is
// nothing, and private says that nobody else asked for the directory, it goes.
func (d *Dir) Close(private bool) error {
	defer func() { _ = d.release() }()
	if d.Kept() != "" {
		return nil
	}
	if err := d.Clear(false); err != nil || !private {
		return err
	}
	if aside, err := matches(d.Path, asidePrefix+"*"); err != nil || len(aside) > 0 {
		return err // what was put aside is nowhere else
	}
	// Aside in one step, so that a run that begins now finds a whole one or none. Its
	// lock may still come to lie in ours.
	gone := d.Path + ".gone-" + d.Run
	err := os.Rename(d.Path, gone)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove the run directory: %w", err)
	}
	for range 3 {
		if err = os.RemoveAll(gone); err == nil {
			return nil
		}
	}
	return fmt.Errorf("remove the run directory: %w", err)
}

// Kept says what a later run needs of this directory; empty means nothing. What
// can't be looked at counts as needed.
func (d *Dir) Kept() string {
	versions, unread := d.versions()
	unwritten, unseen := d.unwritten()
	events, unheard := matches(d.Path, "events-*.jsonl")
	err := errors.Join(unread, unseen, unheard)
	switch {
	case len(versions) > 0:
		return "a version of the state that is not in the backend"
	case len(unwritten) > 0:
		return "a version of the state that OpenTofu could not write"
	case len(events) > 0:
		return "the record of objects that may be in no state"
	case err != nil:
		return "what can't be read: " + err.Error()
	}
	return ""
}

// elsewhere is how links in the folder of a run begin, to what it has elsewhere.
const elsewhere = "elsewhere-"

// Note has a later run remove path, which lies outside of the folder of this run, if
// this one is killed before it does so itself.
func Note(work, path string) error {
	return os.Symlink(path, filepath.Join(work, elsewhere+filepath.Base(path)))
}

// Clear removes what earlier runs and this one left: the state is where it
// belongs. The events stay where they tell of what is in no state, and with them what
// the backend had then: another's version may hold other objects at their addresses.
func (d *Dir) Clear(keepEvents bool) error {
	runs, err := matches(d.Path, "run-*")
	faults := []error{err}
	for _, run := range runs {
		if run == d.Work() {
			faults = append(faults, os.RemoveAll(run)) // what it has elsewhere is in use
			continue
		}
		faults = append(faults, Drop(run))
	}
	journal, err := matches(d.journal(), "*")
	faults = append(faults, err)
	gone := slices.Concat(journal, []string{d.TofuProcess()})
	if !keepEvents {
		events, err := matches(d.Path, "events-*.jsonl")
		gone = append(gone, d.known())
		gone, faults = append(gone, events...), append(faults, err)
	}
	for _, path := range gone {
		faults = append(faults, os.RemoveAll(path))
	}
	return errors.Join(faults...)
}

func (d *Dir) file(name string) string { return filepath.Join(d.Path, name) }
func (d *Dir) journal() string         { return d.file("journal") }

// Work is the folder of this run alone, so that what a dying tofu of another run
// writes late is never taken for ours.
func (d *Dir) Work() string { return d.file("run-" + d.Run) }

// SupervisorLock is the lock that the supervisor of tofu holds.
func (d *Dir) SupervisorLock() string { return d.file("tofu.lock") }

// TofuProcess is where the supervisor writes which process its tofu is.
func (d *Dir) TofuProcess() string { return d.file("tofu.pid") }

// Events is where the supervisor writes what tofu made in this run.
func (d *Dir) Events() string { return d.file("events-" + d.Run + ".jsonl") }

// Peek says what a later run needs of a directory that this run does not take. The
// error has exit code 75 when a run is in it.
func Peek(path string) (string, error) {
	d := &Dir{Path: path}
	kept := d.Kept()
	if kept == "" {
		return "", nil
	}
	file, err := os.Open(d.file("lock"))
	if err != nil {
		return kept, nil // nobody locked it
	}
	defer func() { _ = file.Close() }()
	if syscall.Flock(int(file.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) != nil {
		return "", busy(path, errors.New("another run works in it"))
	}
	return d.Kept(), nil
}
