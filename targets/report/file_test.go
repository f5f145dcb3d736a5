package report

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"
	"gotest.tools/v3/fs"
)

func TestWhatCanBeSavedIsSaved(t *testing.T) {
	dir := fs.NewDir(t, "saved", fs.WithFile("there", "old"), fs.WithDir("folder"))
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
			err := Savable(path)
			if c.err != "" {
				assert.ErrorContains(t, err, c.err)
				assert.Assert(t, Save(path, []byte("text")) != nil)
				return
			}
			assert.NilError(t, err)
			after, _ := os.ReadFile(path)
			assert.DeepEqual(t, before, after)
			assert.NilError(t, Save(path, []byte("text")))
			text, err := os.ReadFile(path)
			assert.NilError(t, err)
			assert.Equal(t, string(text), "text")
		})
	}
	left, err := filepath.Glob(dir.Join(".slipway-*"))
	assert.NilError(t, err)
	assert.Assert(t, cmp.Len(left, 0))
}

func TestADeviceIsNoFile(t *testing.T) {
	assert.ErrorContains(t, Savable("/dev/null"), "is there and is no file")
}

func TestRecordsAreReadAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "record.json")
	r := full()
	assert.NilError(t, r.Write(path, nil))
	again, err := ReadRecord(path)
	assert.NilError(t, err)
	assert.Equal(t, again.Program, r.Program)
	assert.DeepEqual(t, again.Units, r.Units)
	for text, want := range map[string]string{
		"{}": "not a record of version 1", `{"version":2,"program":"p"}`: "not a record of version 1", "no": "invalid character",
	} {
		assert.NilError(t, os.WriteFile(path, []byte(text), 0o600))
		_, err := ReadRecord(path)
		assert.ErrorContains(t, err, want)
	}
	_, err = ReadRecord(path + ".none")
	assert.ErrorIs(t, err, os.ErrNotExist)
}

func TestDurationIsForPeople(t *testing.T) {
	for _, c := range []struct {
		of   time.Duration
		want string
	}{
		{-time.Second, "0 ms"},
		{12*time.Millisecond + 400*time.Microsecond, "12 ms"},
		{100 * time.Millisecond, "0.1 s"},
		{44 * time.Second, "44.0 s"},
		{59*time.Second + 949*time.Millisecond, "59.9 s"},
		{59*time.Second + 951*time.Millisecond, "1m00s"},
		{187 * time.Second, "3m07s"},
		{62 * time.Minute, "1h02m"},
	} {
		assert.Equal(t, Duration(c.of), c.want)
	}
}
