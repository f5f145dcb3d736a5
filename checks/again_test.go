package checks

import (
	"bytes"
	"cmp"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"
	"gotest.tools/v3/fs"

	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/report"
)

// tried are tests that pass, fail, and fail once.
const tried = `package tried

import (
	"os"
	"testing"
)

func TestFine(t *testing.T) {}

func TestOnce(t *testing.T) {
	if os.Mkdir("met", 0o700) == nil {
		t.Fatal("assertion failed: met for the first time")
	}
}

func TestBroken(t *testing.T) {
	t.Run("in part", func(t *testing.T) { t.Error("assertion failed: broken in part") })
	t.Run("also", func(t *testing.T) { t.Error("another") })
}
`

// TestWhatFailedIsRunAgain runs them, and looks at what is counted and said.
func TestWhatFailedIsRunAgain(t *testing.T) {
	for _, c := range []struct {
		name    string
		what    string    // "tests" where empty
		may     int       // unsteady tests
		fails   []failure // others that failed
		line    string
		printed []string
	}{
		{
			name: "each by itself", line: "1 passed, 2 failed, 0 skipped",
			printed: []string{
				"error: failed: example.org/tried.TestOnce, and passed when it was run again by itself\n", "met for the first time",
				"error: failed: example.org/tried.TestBroken\n", "broken in part",
			},
		},
		{
			name: "on machines, where one may be unsteady", what: machines, may: 1, line: "2 passed, 1 failed, 0 skipped",
			printed: []string{
				"unsteady: example.org/tried.TestOnce failed, and passed when it was run again by itself\n",
				"error: failed: example.org/tried.TestBroken\n",
			},
		},
		{
			name: "on machines, where more are unsteady than may be", what: machines, may: 1, line: "1 passed, 3 failed, 0 skipped",
			fails:   []failure{{name: "another", machines: true, unsteady: true}},
			printed: []string{"error: failed: another, and passed", "error: failed: example.org/tried.TestOnce, and passed"},
		},
		{
			name: "a unit test never is", may: 2, line: "1 passed, 2 failed, 0 skipped",
			printed: []string{"error: failed: example.org/tried.TestOnce, and passed when it was run again by itself\n"},
		},
		{
			name: "not when much failed", fails: make([]failure, mostAgain-1), line: "1 passed, 5 failed, 0 skipped",
			printed: []string{"failed: example.org/tried.TestOnce\n"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			module := fs.NewDir(t, "module", fs.WithFile("go.mod", "module example.org/tried\n\ngo 1.24\n"), fs.WithFile("tried_test.go", tried))
			var said, printed bytes.Buffer
			run := &Run{Environment: env.Process(), Log: report.NewLog(report.Plain(&said)), module: module.Path()}
			all := tally{failed: c.fails}
			assert.NilError(t, run.test(t.Context(), &all, cmp.Or(c.what, "tests"), "-count", "1", "./..."), "%s", &said)
			assert.NilError(t, run.again(t.Context(), &all), "%s", &said)
			all.forgive(c.may)
			assert.Equal(t, all.line(), c.line)
			all.print(report.NewLog(report.Plain(&printed)))
			for _, text := range c.printed {
				assert.Check(t, is.Contains(printed.String(), text))
			}
			assert.ErrorContains(t, all.err(nil), "example.org/tried.TestBroken")
		})
	}
}
