//go:build checks

package guest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/poll"

	"fediversity.eu/slipway/internal/disposition"
)

// helperMode makes the test binary a caller of its own, to be killed by a test.
const helperMode = "GUEST_TEST_HELPER"

func TestMain(m *testing.M) {
	if mode := os.Getenv(helperMode); mode != "" {
		if err := help(mode); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	disposition.Default()
	os.Exit(m.Run())
}

// report is what a helper says of its guest, as a line of JSON.
type report struct {
	Access Access
	Groups []string
}

// sticking is a log in which a start sticks for ever when the machine is up and
// nobody was told so yet. Then it reports.
type sticking struct{}

func (sticking) Write(p []byte) (int, error) {
	if strings.Contains(string(p), " is up (") {
		if err := json.NewEncoder(os.Stdout).Encode(report{}); err != nil {
			return 0, err
		}
		select {}
	}
	return len(p), nil
}

// help makes a guest as told by JSON on standard input. With "boot" it keeps it
// until it is killed, with "start" it ends at once, with "start and stick" it does
// not come to its end.
func help(mode string) error {
	input := bufio.NewReader(os.Stdin)
	line, err := input.ReadBytes('\n')
	if err != nil {
		return err
	}
	var o Options
	if err := json.Unmarshal(line, &o); err != nil {
		return err
	}
	start := Boot
	switch mode {
	case "start":
		start = Start
	case "start and stick":
		start, o.Log = Start, sticking{}
	}
	g, err := start(context.Background(), o)
	if err != nil {
		return err
	}
	told := report{Access: g.Access()}
	if c, ok := g.engine.(*container); ok {
		told.Groups = c.groups
	}
	if err := json.NewEncoder(os.Stdout).Encode(told); err != nil {
		return err
	}
	if mode == "boot" {
		_, err = input.ReadByte() // for ever: the test kills us
	}
	return err
}

// helper is a running helper process.
type helper struct {
	cmd *exec.Cmd
	out *bufio.Reader
}

func startHelper(t *testing.T, mode string, o Options) helper {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), helperMode+"="+mode)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	assert.NilError(t, err)
	out, err := cmd.StdoutPipe()
	assert.NilError(t, err)
	assert.NilError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	o.Log = nil
	assert.NilError(t, json.NewEncoder(in).Encode(o))
	return helper{cmd, bufio.NewReader(out)}
}

func (h helper) report(t *testing.T) report {
	t.Helper()
	line, err := h.out.ReadBytes('\n')
	assert.NilError(t, err)
	var r report
	assert.NilError(t, json.Unmarshal(line, &r))
	return r
}

// options are those of a guest of this test, on a host that can have one.
func options(t *testing.T, kind Kind) Options {
	t.Helper()
	if missing := Missing(kind); len(missing) > 0 {
		t.Skipf("missing part: %s", missing[0])
	}
	return Options{
		Kind: kind, Name: "web", Dir: filepath.Join(t.TempDir(), "guest"),
		Cache: userCache(t), Log: logWriter{t},
	}
}

// userCache is kept between runs, and used by all checks.
func userCache(tb testing.TB) string {
	tb.Helper()
	dir, err := os.UserCacheDir()
	assert.NilError(tb, err)
	return filepath.Join(dir, "slipway", "guest")
}

type logWriter struct{ t *testing.T }

func (w logWriter) Write(p []byte) (int, error) {
	w.t.Log(strings.TrimSpace(string(p)))
	return len(p), nil
}

// boot boots a guest, which is gone when the test ends.
func boot(t *testing.T, o Options) *Guest {
	t.Helper()
	g, err := Boot(t.Context(), o)
	assert.NilError(t, err)
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(g.Console())
		}
		assert.Check(t, g.Close())
		assertNothingLeft(t, g.dir, groups(g))
	})
	return g
}

func groups(g *Guest) []string {
	if c, ok := g.engine.(*container); ok {
		return c.groups
	}
	return nil
}

// sh runs a command in the guest, which must succeed.
func sh(t *testing.T, g *Guest, command string) string {
	t.Helper()
	out, err := g.access.run(t.Context(), command)
	assert.NilError(t, err, "%s: %s", command, out)
	return strings.TrimSpace(string(out))
}

// assertNothingLeft waits until no process works in a guest's folder, and no
// control group of it is left. Mounts and network name spaces have no names:
// they end with the last process.
func assertNothingLeft(t *testing.T, dir string, groups []string) {
	t.Helper()
	poll.WaitOn(t, func(poll.LogT) poll.Result {
		if left := processesOf(dir); len(left) > 0 {
			return poll.Continue("processes of %s: %v", dir, left)
		}
		for _, group := range groups {
			if exists(group) {
				return poll.Continue("control group %s is left", group)
			}
		}
		mounts, err := os.ReadFile("/proc/mounts")
		if err != nil {
			return poll.Error(err)
		}
		if strings.Contains(string(mounts), dir) {
			return poll.Continue("something is mounted below %s", dir)
		}
		return poll.Success()
	}, poll.WithTimeout(2*time.Minute), poll.WithDelay(20*time.Millisecond))
}

// processesOf lists processes whose directory is dir or whose arguments name it.
func processesOf(dir string) []string {
	var found []string
	procs, _ := filepath.Glob("/proc/[0-9]*")
	for _, proc := range procs {
		if filepath.Base(proc) == strconv.Itoa(os.Getpid()) {
			continue
		}
		cwd, _ := os.Readlink(filepath.Join(proc, "cwd"))
		args, _ := os.ReadFile(filepath.Join(proc, "cmdline"))
		if cwd == dir || strings.Contains(string(args), dir) {
			found = append(found, fmt.Sprintf("%s %.60q", filepath.Base(proc), args))
		}
	}
	return found
}

// killPID kills the process whose number a file of ours holds.
func killPID(t *testing.T, text string) {
	t.Helper()
	pid, err := strconv.Atoi(strings.TrimSpace(text))
	assert.NilError(t, err)
	process, err := os.FindProcess(pid)
	assert.NilError(t, err)
	assert.NilError(t, process.Kill())
}

// bootID changes with every boot of a guest.
func bootID(ctx context.Context, g *Guest) (string, error) {
	out, err := g.access.run(ctx, "cat /proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(out)), err
}

// waitRebooted waits until the guest answers with another boot ID.
func waitRebooted(t *testing.T, g *Guest, before string) {
	t.Helper()
	poll.WaitOn(t, func(poll.LogT) poll.Result {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		now, err := bootID(ctx, g)
		if err == nil && now != before {
			return poll.Success()
		}
		return poll.Continue("boot ID %q: %v", now, errors.Join(err, ctx.Err()))
	}, poll.WithTimeout(5*time.Minute), poll.WithDelay(100*time.Millisecond))
}
