package front

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"fediversity.eu/slipway/targets/report"
)

// noReader is the end of a pipe that nobody reads.
func noReader(t *testing.T) *os.File {
	t.Helper()
	r, w, err := os.Pipe()
	assert.NilError(t, err)
	assert.NilError(t, r.Close())
	t.Cleanup(func() { _ = w.Close() })
	return w
}

// fullDisk takes nothing.
func fullDisk(t *testing.T) *os.File {
	t.Helper()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	assert.NilError(t, err)
	t.Cleanup(func() { _ = full.Close() })
	return full
}

// TestARunOutlivesItsReaders holds that a run ends in order, with its record,
// whoever stops to listen.
func TestARunOutlivesItsReaders(t *testing.T) {
	t.Parallel()
	const full = "write the results: write /dev/stdout: no space left on device"
	kept := func(*testing.T) io.Writer { return nil }
	closed := func(t *testing.T) io.Writer { t.Helper(); return noReader(t) }
	disk := func(t *testing.T) io.Writer { t.Helper(); return fullDisk(t) }
	for _, c := range []struct {
		name     string
		out, err func(*testing.T) io.Writer
		program  string
		code     report.Code
		says     string // in the record's error
	}{
		{"results have no reader", closed, kept, "ssh-web", report.Healthy, ""},
		{"events have no reader", kept, closed, "ssh-web", report.Healthy, ""},
		{"nobody reads anything", closed, closed, "ssh-web", report.Healthy, ""},
		{"nobody reads of several", closed, closed, "all", report.Healthy, ""},
		{"nobody reads that it is refused", closed, closed, "ssh-web-refuse", report.Refused, "token"},
		{"nobody reads that coordinates are missing", closed, closed, "ssh-db", report.Usage, "FAKE_HOST"},
		{"no room for results", disk, kept, "ssh-web", report.Failed, full},
		{"no room for results of several", disk, kept, "all", report.Failed, full},
		{"no room for events", kept, disk, "ssh-web", report.Healthy, ""},
		{"no room for anything", disk, disk, "ssh-web", report.Failed, full},
		{"no room to say that it is refused", disk, disk, "ssh-web-refuse", report.Refused, "token"},
	} {
		for _, role := range []string{asMain, asMage} {
			for _, progress := range []string{"plain", "json"} {
				t.Run(c.name+" as "+role+" "+progress, func(t *testing.T) {
					t.Parallel()
					path := filepath.Join(t.TempDir(), "record")
					variables := []string{"REPORT=" + path, "PROGRESS=" + progress}
					if c.program == "all" {
						variables = append(variables, terminal[1:]...)
					}
					cmd := call(t, role, variables, "slipway", "hosting-provider-"+c.program)
					cmd.Stdout, cmd.Stderr = c.out(t), c.err(t)
					_ = cmd.Run() // its exit code is asked for below
					assert.Equal(t, cmd.ProcessState.ExitCode(), int(c.code), "%s", cmd.ProcessState)
					record, err := report.ReadRecord(path)
					assert.NilError(t, err)
					assert.Equal(t, record.ExitCode, c.code)
					if c.says == "" {
						assert.Assert(t, record.Error == nil)
						return
					}
					assert.Assert(t, cmp.Contains(record.Error.What, c.says))
				})
			}
		}
	}
}

// TestARunWithoutStreams starts one whose streams are closed, as a careless
// service does.
func TestARunWithoutStreams(t *testing.T) {
	t.Parallel()
	for _, closed := range []string{"<&-", ">&-", "2>&-", "<&- >&- 2>&-"} {
		path := filepath.Join(t.TempDir(), "record")
		cmd := byShell(t, `exec "$@" `+closed, []string{"REPORT=" + path}, "slipway", "hosting-provider-ssh-web")
		_ = cmd.Run() // its exit code is asked for below
		assert.Equal(t, cmd.ProcessState.ExitCode(), 0, closed)
		record, err := report.ReadRecord(path)
		assert.NilError(t, err, closed)
		assert.Equal(t, record.ExitCode, report.Healthy)
	}
}

// TestNoRoomForTheRecord limits what a file may hold: the run can begin and has no
// room at its end.
func TestNoRoomForTheRecord(t *testing.T) {
	t.Parallel()
	for program, code := range map[string]int{"ssh-web": 1, "ssh-web-refuse": 4} {
		path := filepath.Join(t.TempDir(), "record")
		assert.NilError(t, os.WriteFile(path, []byte("an older one"), 0o600))
		var errs bytes.Buffer
		cmd := byShell(t, `ulimit -f 0; exec "$@"`, []string{"REPORT=" + path}, "slipway", "hosting-provider-"+program)
		cmd.Stderr = &errs
		_ = cmd.Run() // its exit code is asked for below
		assert.Equal(t, cmd.ProcessState.ExitCode(), code, "%s", &errs)
		assert.Assert(t, cmp.Contains(errs.String(), "write record: "), program)
		assert.Assert(t, cmp.Contains(errs.String(), "file too large"), program)
		left, err := os.ReadFile(path)
		assert.NilError(t, err)
		assert.Equal(t, string(left), "an older one")
	}
}

func TestATerminalThatGoesAway(t *testing.T) {
	t.Parallel()
	t.Run("ends a run in order", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "record")
		c := at(t, 80, 24, call(t, asMain, append([]string{"REPORT=" + path}, terminal...), "slipway", "hosting-provider-all-wait"))
		c.shows("web: web waits", "db: db waits")
		assert.NilError(t, c.tty.Close())
		_ = c.cmd.Wait() // its exit code is asked for below
		assert.Equal(t, c.cmd.ProcessState.ExitCode(), 143)
		record, err := report.ReadRecord(path)
		assert.NilError(t, err)
		assert.Equal(t, record.ExitCode, report.Terminated)
		assert.Assert(t, cmp.Len(record.Members, 2))
	})
	t.Run("does not where hang-ups are ignored", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		cmd := byShell(t, `trap "" HUP; echo ready; until [ -e "$GO" ]; do sleep 0.05; done; exec "$@"`,
			append([]string{"REPORT=" + dir + "/record", "GO=" + dir + "/go"}, terminal...), "slipway", "hosting-provider-all")
		c := at(t, 80, 24, cmd)
		c.shows("ready")
		assert.NilError(t, c.tty.Close())
		assert.NilError(t, os.WriteFile(dir+"/go", nil, 0o600))
		_ = c.cmd.Wait() // its exit code is asked for below
		assert.Equal(t, c.cmd.ProcessState.ExitCode(), 0)
		record, err := report.ReadRecord(dir + "/record")
		assert.NilError(t, err)
		assert.Equal(t, record.ExitCode, report.Healthy)
	})
}

func TestAnAnswerWhoseReaderHasHadEnough(t *testing.T) {
	t.Parallel()
	for _, words := range answers {
		var errs bytes.Buffer
		cmd := call(t, asMain, nil, append([]string{"slipway"}, strings.Fields(words)...)...)
		cmd.Stdout, cmd.Stderr = noReader(t), &errs
		assert.NilError(t, cmd.Run(), "slipway %s", words)
		assert.Equal(t, errs.String(), "", "slipway %s", words)
	}
}
