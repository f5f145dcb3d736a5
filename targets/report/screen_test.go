package report

import (
	"strings"
	"sync"
	"testing"

	"github.com/charmbracelet/x/vt"
	"gotest.tools/v3/assert"
)

// emulated is a terminal that shows what it was sent.
type emulated struct {
	mu     sync.Mutex
	t      *testing.T
	vt     *vt.Emulator
	frames int
}

func emulate(t *testing.T, columns, rows int) *emulated {
	t.Helper()
	e := &emulated{t: t, vt: vt.NewEmulator(columns, rows)}
	return e
}

// Write takes a frame. A line end alone begins a line, as the line discipline of
// a terminal makes it do.
func (e *emulated) Write(p []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.frames++
	_, err := e.vt.WriteString(strings.ReplaceAll(string(p), "\n", "\r\n"))
	return len(p), err
}

func (e *emulated) Size() (columns, rows int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.vt.Width(), e.vt.Height()
}

func (e *emulated) resize(columns, rows int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.vt.Resize(columns, rows)
}

// screen is what stands on it, without the blank lines at its end.
func (e *emulated) screen() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var lines []string
	for line := range strings.Lines(e.vt.String()) {
		lines = append(lines, strings.TrimRight(line, " \r\n"))
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n")
}

// all is the screen and what went off its upper end.
func (e *emulated) all() string {
	var lines []string
	e.mu.Lock()
	back := e.vt.Scrollback()
	for i := range back.Len() {
		lines = append(lines, strings.TrimRight(back.Line(i).String(), " "))
	}
	e.mu.Unlock()
	return strings.TrimSpace(strings.Join(append(lines, e.screen()), "\n"))
}

func (e *emulated) cursor() (column, row int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	at := e.vt.CursorPosition()
	assert.Assert(e.t, !e.vt.CursorHidden())
	return at.X, at.Y
}

// written is how many frames there were.
func (e *emulated) written() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.frames
}
