package front

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/charmbracelet/x/vt"
	"github.com/creack/pty"
	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"
	"gotest.tools/v3/poll"
)

// console is a process at a terminal, and what stands on its screen.
type console struct {
	t    *testing.T
	cmd  *exec.Cmd
	tty  *os.File // our end of it
	done chan struct{}

	mu  sync.Mutex
	vt  *vt.Emulator
	raw strings.Builder
}

// at starts a process at a terminal of its own.
func at(t *testing.T, columns, rows int, cmd *exec.Cmd) *console {
	t.Helper()
	c := &console{t: t, cmd: cmd, vt: vt.NewEmulator(columns, rows), done: make(chan struct{})}
	var err error
	c.tty, err = pty.StartWithSize(cmd, &pty.Winsize{Cols: uint16(columns), Rows: uint16(rows)})
	assert.NilError(t, err)
	go func() {
		defer close(c.done)
		_, _ = io.Copy(c, c.tty) // until the other end is closed
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = c.tty.Close()
		<-c.done
	})
	return c
}

func (c *console) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.raw.Write(p)
	return c.vt.Write(p)
}

// screen is what stands there, and what was sent.
func (c *console) screen() (string, string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var lines []string
	for line := range strings.Lines(c.vt.String()) {
		lines = append(lines, strings.TrimRight(line, " \r\n"))
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n"), c.raw.String()
}

// shows waits until every text stands on the screen.
func (c *console) shows(texts ...string) {
	c.t.Helper()
	poll.WaitOn(c.t, func(poll.LogT) poll.Result {
		screen, _ := c.screen()
		for _, text := range texts {
			if !strings.Contains(screen, text) {
				return poll.Continue("%q is not on the screen:\n%s", text, screen)
			}
		}
		return poll.Success()
	}, poll.WithTimeout(30*time.Second), poll.WithDelay(20*time.Millisecond))
}

// end waits for the process and gives its exit code and the last screen.
func (c *console) end() (int, string) {
	c.t.Helper()
	_ = c.cmd.Wait() // its exit code is asked for below
	<-c.done
	screen, _ := c.screen()
	c.mu.Lock()
	defer c.mu.Unlock()
	assert.Assert(c.t, !c.vt.CursorHidden())
	assert.Equal(c.t, c.vt.CursorPosition().X, 0, "the next prompt begins a line:\n%s", screen)
	assert.Equal(c.t, c.vt.CursorPosition().Y, strings.Count(screen, "\n")+1, "nothing is left below:\n%s", screen)
	return c.cmd.ProcessState.ExitCode(), screen
}

var terminal = []string{"TERM=xterm-256color", "DB_FAKE_HOST=db.example", "WEB_FAKE_HOST=web.example"}

func TestAnAggregateAtATerminal(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{80, 24}, {200, 50}} {
		t.Run(fmt.Sprint(size[0]), func(t *testing.T) {
			t.Parallel()
			c := at(t, size[0], size[1], call(t, asMain, terminal, "slipway", "hosting-provider-all-wait"))
			c.shows("hosting-provider-all-wait      ", "0 of 2 ended, 2 running", "hosting-provider-ssh-web-wait  ", "hosting-provider-ssh-db-wait   ")
			c.shows("web: web waits", "db: db waits") // results, above what moves
			c.shows("  1s")                           // nothing happens, and time goes on
			_, err := c.tty.WriteString("\x03")       // Ctrl-C, as it is typed
			assert.NilError(t, err)
			code, screen := c.end()
			assert.Equal(t, code, 130)
			for _, want := range []string{
				"hosting-provider-ssh-web-wait  interrupted", "hosting-provider-ssh-db-wait   interrupted",
				"[hosting-provider-all-wait] error: 2 of 2 did not end healthy: 2 interrupted",
			} {
				assert.Assert(t, cmp.Contains(screen, want))
			}
			assert.Assert(t, !strings.Contains(screen, "running"), "what moved is gone:\n%s", screen)
			for line := range strings.Lines(screen) {
				if strings.HasPrefix(line, "hosting-") { // a row
					assert.Assert(t, cmp.Contains(line, "wait: stopped by"))
				}
			}
		})
	}
}

func TestASecondCtrlCLeavesACleanTerminal(t *testing.T) {
	t.Parallel()
	c := at(t, 80, 24, call(t, asMain, terminal, "slipway", "hosting-provider-ssh-web-stay"))
	c.shows("web waits", "hosting-provider-ssh-web-stay")
	_, err := c.tty.WriteString("\x03")
	assert.NilError(t, err)
	c.shows("web stays")
	_, err = c.tty.WriteString("\x03")
	assert.NilError(t, err)
	code, screen := c.end()
	assert.Equal(t, code, 130)
	assert.Assert(t, cmp.Regexp(`^web waits\nweb stays \d+$`, screen))
}

func TestAWindowOfAnotherSize(t *testing.T) {
	t.Parallel()
	c := at(t, 200, 50, call(t, asMain, terminal, "slipway", "hosting-provider-all-wait"))
	c.shows("2 running")
	c.mu.Lock()
	c.vt.Resize(40, 6)
	c.mu.Unlock()
	assert.NilError(t, pty.Setsize(c.tty, &pty.Winsize{Cols: 40, Rows: 6}))
	c.shows("…ovider-ssh-web-wait") // its name takes half of a row at most
	assert.NilError(t, c.cmd.Process.Signal(syscall.SIGTERM))
	code, screen := c.end()
	assert.Equal(t, code, 143)
	assert.Assert(t, cmp.Contains(screen, "did not end healthy"))
}

func TestWhatKeepsATerminalPlain(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		set    string
		escape bool // are there sequences at all?
		colour bool
	}{
		{"nothing", "TERM=xterm", true, true},
		{"NO_COLOR", "NO_COLOR=1", true, false},
		{"a dumb terminal", "TERM=dumb", false, false},
		{"PROGRESS=plain", "PROGRESS=plain", false, false},
		{"PROGRESS=json", "PROGRESS=json", false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			console := at(t, 80, 24, call(t, asMain, append(slices.Clip(terminal), c.set), "slipway", "hosting-provider-all-refuse"))
			code, _ := console.end()
			assert.Equal(t, code, 4)
			_, raw := console.screen()
			assert.Equal(t, strings.Contains(raw, "\x1b"), c.escape || c.colour, "%q", raw)
			assert.Equal(t, strings.Contains(raw, "\x1b[31m"), c.colour, "%q", raw)
		})
	}
}

func TestEventsInAFileAreLines(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "events")
	file, err := os.Create(path)
	assert.NilError(t, err)
	cmd := call(t, asMain, terminal, "slipway", "hosting-provider-all")
	cmd.Stderr = file
	c := at(t, 80, 24, cmd)
	code, screen := c.end()
	assert.NilError(t, file.Close())
	assert.Equal(t, code, 0)
	lines := strings.Split(screen, "\n")
	assert.Assert(t, cmp.Len(lines, 2), "results and nothing else: %s", screen)
	text, err := os.ReadFile(path)
	assert.NilError(t, err)
	assert.Assert(t, !strings.ContainsRune(string(text), 0x1b))
	assert.Assert(t, cmp.Contains(string(text), "[hosting-provider-ssh-web-apply] done after "))
}

func TestAPagerHasTheTerminalToItself(t *testing.T) {
	t.Parallel()
	c := at(t, 80, 24, byShell(t, `"$@" | cat`, terminal, "slipway", "hosting-provider-all"))
	_, screen := c.end()
	_, raw := c.screen()
	assert.Assert(t, !strings.ContainsRune(raw, 0x1b), "%q", raw)
	assert.Assert(t, cmp.Contains(screen, "web: web deployed"))
}

func TestResultsInAFileAreAlone(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "results")
	file, err := os.Create(path)
	assert.NilError(t, err)
	cmd := call(t, asMain, terminal, "slipway", "hosting-provider-ssh-web")
	cmd.Stdout = file
	c := at(t, 80, 24, cmd)
	code, screen := c.end()
	assert.NilError(t, file.Close())
	assert.Equal(t, code, 0)
	text, err := os.ReadFile(path)
	assert.NilError(t, err)
	assert.Equal(t, string(text), "web deployed\n")
	assert.Assert(t, cmp.Regexp(`^\[hosting-provider-ssh-web-apply\] deploying\n\[hosting-provider-ssh-web-apply\] done after 0\.\d s$`, screen))
}
