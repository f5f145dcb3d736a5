package rundir

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/methods/tofu/state"
	"fediversity.eu/slipway/targets/report"
)

func open(t *testing.T, path, run string) *Dir {
	t.Helper()
	d, err := Open(t.Context(), path, run, nil)
	assert.NilError(t, err)
	return d
}

func version(t *testing.T, text string) *state.State {
	t.Helper()
	s, err := state.Parse([]byte(text))
	assert.NilError(t, err)
	return s
}

const (
	three = `{"version":4,"lineage":"l","serial":3}`
	four  = `{"version":4,"lineage":"l","serial":4}`
	five  = `{"version":4,"lineage":"l","serial":5}`
)

func TestOneRunAtATime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	first := open(t, path, "one")
	_, err := Open(t.Context(), path, "two", nil)
	assert.Equal(t, report.CodeOf(err), report.Busy)
	assert.ErrorContains(t, err, "another run works in it")
	assert.NilError(t, first.Close(false))
	second := open(t, path, "two")
	info, err := os.Stat(path)
	assert.NilError(t, err)
	assert.Equal(t, info.Mode().Perm(), os.FileMode(0o700))
	assert.NilError(t, second.Close(true))
	_, err = os.Stat(path)
	assert.ErrorIs(t, err, os.ErrNotExist, "a private one goes")
}

// TestAPrivateOneGoesAsAWhole has runs begin at the moments in which others end.
func TestAPrivateOneGoesAsAWhole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	var all sync.WaitGroup
	for i := range 3 {
		all.Go(func() {
			for n := 0; n < 100; {
				d, err := Open(t.Context(), path, fmt.Sprintf("%d-%d", i, n), nil)
				if report.CodeOf(err) == report.Busy {
					continue
				}
				if !assert.Check(t, err) {
					return
				}
				n++
				for _, folder := range []string{d.journal(), d.Work()} {
					_, err := os.Stat(folder)
					assert.Check(t, err, "it was taken from under the run")
				}
				assert.Check(t, d.Close(true))
			}
		})
	}
	all.Wait()
	left, err := os.ReadDir(filepath.Dir(path))
	assert.NilError(t, err)
	assert.Equal(t, len(left), 0)
}

func TestVersionsAreFoundNewestFirst(t *testing.T) {
	for _, name := range []string{"state", "[prod]", "[", "*", "?", `\`, `a\b`} {
		t.Run(name, func(t *testing.T) { versionsAreFound(t, filepath.Join(t.TempDir(), name, "web")) })
	}
}

func versionsAreFound(t *testing.T, path string) {
	t.Helper()
	d := open(t, path, "one")
	m := &state.Marker{Run: "one", Host: "h", Dir: path, At: time.Unix(5, 0).UTC()}
	_, err := d.Keep(version(t, three), m)
	assert.NilError(t, err)
	_, err = d.Keep(version(t, four), m)
	assert.NilError(t, err)
	late := filepath.Join(d.Work(), "configuration", errored)
	assert.NilError(t, os.MkdirAll(filepath.Dir(late), 0o700))
	assert.NilError(t, os.WriteFile(late, []byte(five), 0o600))
	assert.NilError(t, d.Close(true))

	d = open(t, path, "two")
	assert.Assert(t, d.Knows("one"))
	assert.Assert(t, !d.Knows("three"))
	_, err = Peek(path)
	assert.Equal(t, report.CodeOf(err), report.Busy)
	left, marker, err := d.Leftovers()
	assert.NilError(t, err)
	assert.DeepEqual(t, marker, m)
	assert.Equal(t, len(left), 2)
	assert.Equal(t, left[0].State.Serial, uint64(5))
	assert.Equal(t, left[1].State.Serial, uint64(4))

	assert.NilError(t, d.Stored())
	assert.Equal(t, d.Kept(), "a version of the state that OpenTofu could not write")
	assert.NilError(t, d.Close(true))
	kept, err := Peek(path)
	assert.NilError(t, err)
	assert.Equal(t, kept, "a version of the state that OpenTofu could not write")
	d = open(t, path, "three")
	assert.NilError(t, d.Clear(false))
	left, marker, err = d.Leftovers()
	assert.NilError(t, err)
	assert.Equal(t, len(left), 0)
	assert.Assert(t, marker == nil)
	assert.NilError(t, os.WriteFile(d.Events(), nil, 0o600))
	assert.Equal(t, d.Kept(), "the record of objects that may be in no state")
	assert.NilError(t, d.Clear(true))
	assert.Assert(t, d.Kept() != "")
	assert.NilError(t, d.Clear(false))
	assert.NilError(t, d.Close(true))
}

func TestWhatAKilledRunHadElsewhereGoes(t *testing.T) {
	path, folder, used := filepath.Join(t.TempDir(), "[prod]"), t.TempDir(), filepath.Join(t.TempDir(), "plugin3")
	file := filepath.Join(t.TempDir(), "plugin1")
	for _, socket := range []string{file, filepath.Join(folder, "plugin2"), used} {
		assert.NilError(t, os.WriteFile(socket, nil, 0o600))
	}
	d := open(t, path, "killed")
	for _, there := range []string{folder, file, filepath.Join(path, "gone already")} {
		assert.NilError(t, Note(d.Work(), there))
	}
	assert.NilError(t, d.lock.Close())
	d = open(t, path, "next")
	assert.NilError(t, Note(d.Work(), used))
	assert.NilError(t, d.Close(true))
	for _, gone := range []string{folder, file} {
		_, err := os.Stat(gone)
		assert.ErrorIs(t, err, os.ErrNotExist)
	}
	_, err := os.Stat(used)
	assert.NilError(t, err, "its own run removes it")
}

func TestUnreadableVersionIsNotNone(t *testing.T) {
	d := open(t, filepath.Join(t.TempDir(), "state"), "one")
	assert.NilError(t, os.WriteFile(filepath.Join(d.journal(), "l-9.json"), []byte("{"), 0o600))
	_, _, err := d.Leftovers()
	assert.ErrorContains(t, err, "l-9.json")
	late := filepath.Join(d.Work(), "configuration", errored)
	assert.NilError(t, os.MkdirAll(filepath.Dir(late), 0o700))
	assert.NilError(t, os.WriteFile(late, nil, 0o600))
	assert.NilError(t, d.Stored())
	left, _, err := d.Leftovers()
	assert.NilError(t, err)
	assert.Equal(t, len(left), 0, "a file that was only opened holds nothing")
	assert.NilError(t, d.Close(false))
}

// TestWhatWasPutAsideOutlivesItsFolder closes a directory that nobody asked for, which
// goes when no run needs it: not with the only copy of a state.
func TestWhatWasPutAsideOutlivesItsFolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "private")
	d, err := Open(t.Context(), path, "one", nil)
	assert.NilError(t, err)
	s, err := state.Parse([]byte(`{"version":4,"lineage":"a","serial":7}`))
	assert.NilError(t, err)
	_, err = d.Keep(s, nil)
	assert.NilError(t, err)
	left, _, err := d.Leftovers()
	assert.NilError(t, err)
	folder, err := d.Aside(left)
	assert.NilError(t, err)
	assert.Equal(t, d.Kept(), "", "no run needs it")
	assert.NilError(t, d.Close(true))
	for range 2 { // and the runs to come
		d, err = Open(t.Context(), path, "another", nil)
		assert.NilError(t, err)
		assert.NilError(t, d.Close(true))
		kept, err := matches(folder, "*.tfstate")
		assert.NilError(t, err)
		assert.Equal(t, len(kept), 1)
		text, err := os.ReadFile(kept[0])
		assert.NilError(t, err)
		assert.Equal(t, string(text), string(s.Raw))
	}
}

// TestALockIsGivenBackWhateverAChildHas is of a child that was just being started, and
// has every open file until it is.
func TestALockIsGivenBackWhateverAChildHas(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	for range 2 {
		d, err := Open(t.Context(), path, "run", &report.Log{})
		assert.NilError(t, err)
		child, err := syscall.Dup(int(d.lock.Fd()))
		assert.NilError(t, err)
		defer func() { _ = syscall.Close(child) }()
		assert.NilError(t, d.Close(false))
	}
}
