package durable

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"
	"gotest.tools/v3/fs"
)

func TestWhatCanBeWrittenIsWritten(t *testing.T) {
	dir := fs.NewDir(t, "written", fs.WithFile("there", "old"), fs.WithDir("folder"))
	for _, c := range []struct {
		name, path, err string
	}{
		{"a new file", "new", ""},
		{"a file that is there", "there", ""},
		{"a folder", "folder", "is there and is no file"},
		{"a file in a folder that is not there", "no/file", "no such file or directory"},
		{"a file below a file", "there/file", "not a directory"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := dir.Join(c.path)
			before, _ := os.ReadFile(path)
			err := Writable(path)
			if c.err != "" {
				assert.ErrorContains(t, err, c.err)
				assert.Assert(t, Write(path, []byte("text")) != nil)
				return
			}
			assert.NilError(t, err)
			after, _ := os.ReadFile(path)
			assert.DeepEqual(t, before, after)
			assert.NilError(t, Write(path, []byte("text")))
			text, err := os.ReadFile(path)
			assert.NilError(t, err)
			assert.Equal(t, string(text), "text")
		})
	}
	left, err := filepath.Glob(dir.Join(".[^.]*"))
	assert.NilError(t, err)
	assert.Assert(t, cmp.Len(left, 0))
}

func TestADeviceIsNoFile(t *testing.T) {
	assert.ErrorContains(t, Writable("/dev/null"), "is there and is no file")
}

func TestWhatIsNotWrittenWholeIsNotThere(t *testing.T) {
	dir := fs.NewDir(t, "half", fs.WithFile("there", "old"))
	full := errors.New("no space left on device")
	for _, name := range []string{"there", "new"} {
		err := Create(dir.Join(name), 0o600, func(w io.Writer) error {
			_, err := io.WriteString(w, "ha")
			return errors.Join(err, full)
		})
		assert.ErrorIs(t, err, full)
	}
	assert.Assert(t, fs.Equal(dir.Path(), fs.Expected(t, fs.WithFile("there", "old"), fs.MatchAnyFileMode)))
}

func TestModes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	for _, mode := range []os.FileMode{0o644, 0o600} {
		assert.NilError(t, Create(path, mode, func(io.Writer) error { return nil }))
		info, err := os.Stat(path)
		assert.NilError(t, err)
		assert.Equal(t, info.Mode(), mode)
	}
	assert.NilError(t, Write(path, nil))
	info, err := os.Stat(path)
	assert.NilError(t, err)
	assert.Equal(t, info.Mode(), os.FileMode(0o600))
}
