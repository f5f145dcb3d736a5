package report

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"
)

// Screen is what a Terminal draws on.
type Screen struct {
	Size    func() (columns, rows int) // asked for at every drawing, so that it may change
	Colours bool
}

// Terminal prints lines as Plain does, and below them one line about each
// program that runs: its name, for how long it runs, and what it does.
//
// The cursor stays visible and waits at the upper left corner of the lines that
// move. So there is nothing to restore when a run is killed, and a window that
// changes its size takes the corner along.
type Terminal struct {
	mu      sync.Mutex
	w       io.Writer
	screen  Screen
	paint   paint
	board   board
	pending []string // lines that were said since the last drawing
	drawn   []string // the lines that move, as they stand there
	at      time.Time
	stop    chan struct{} // ends the clock; nil when it does not run
	closed  bool
}

// redraw is the least time between two drawings.
const redraw = 100 * time.Millisecond

// NewTerminal gives the sink for a terminal. Close takes what moves off it.
func NewTerminal(w io.Writer, screen Screen) *Terminal {
	t := &Terminal{w: w, screen: screen}
	if screen.Colours {
		t.paint = coloured
	}
	return t
}

// Take notes an event, and draws when the last drawing is long enough ago.
func (t *Terminal) Take(e Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e = e.shown()
	t.board.take(e)
	if e.Kind != KindProgress && !e.unseen() {
		t.pending = append(t.pending, t.said(e))
	}
	if t.closed {
		t.draw(nil)
		return
	}
	if t.stop == nil {
		t.stop = make(chan struct{})
		go t.tick(t.stop)
	}
	if time.Since(t.at) >= redraw {
		t.draw(t.lines())
	}
}

// said is the line of an event: a row of a table has no prefix, and is one row.
func (t *Terminal) said(e Event) string {
	if e.Kind != KindRow {
		return lineOf(e, t.paint)
	}
	columns, _ := t.size()
	e.Program, e.Text = "", cut(e.Text, columns-1)
	return lineOf(e, t.paint)
}

// tick draws at the pace of a clock, for seconds pass when nothing happens.
func (t *Terminal) tick(stop <-chan struct{}) {
	clock := time.NewTicker(redraw)
	defer clock.Stop()
	for {
		select {
		case <-stop:
			return
		case <-clock.C:
			t.mu.Lock()
			if !t.closed {
				t.draw(t.lines())
			}
			t.mu.Unlock()
		}
	}
}

func (t *Terminal) size() (columns, rows int) {
	columns, rows = t.screen.Size()
	if columns <= 0 {
		columns = 80
	}
	if rows <= 0 {
		rows = 24
	}
	return columns, rows
}

func (t *Terminal) lines() []string {
	columns, rows := t.size()
	return t.board.lines(time.Now(), columns, rows)
}

// ECMA-48: erase to the end of the line, of the screen.
const (
	clearLine = "\x1b[K"
	clearRest = "\x1b[J"
)

// clearCorner clears from the first column of a row on. It is not clearRest alone:
// at the upper left corner of the screen that means all of it, which tmux keeps
// in its history.
const clearCorner = " " + clearRest + "\r" + clearLine

// draw writes one frame in one write: what was said, then the lines that move.
func (t *Terminal) draw(lines []string) {
	if len(t.pending) == 0 && slices.Equal(lines, t.drawn) {
		return
	}
	var b strings.Builder
	if len(t.drawn) > 0 {
		b.WriteString("\r") // a ^C that was typed is echoed at the cursor
	}
	if len(t.drawn) > 0 && (len(t.pending) > 0 || len(lines) == 0) {
		b.WriteString(clearCorner)
	}
	for _, line := range t.pending {
		b.WriteString(line + "\r\n")
	}
	for i, line := range lines {
		if i > 0 {
			b.WriteString("\r\n")
		}
		b.WriteString(line + clearLine)
	}
	if len(lines) > 0 && len(t.drawn) > 0 {
		b.WriteString(clearRest)
	}
	if len(lines) > 0 {
		b.WriteString("\r")
	}
	if len(lines) > 1 {
		fmt.Fprintf(&b, "\x1b[%dA", len(lines)-1)
	}
	t.pending, t.drawn, t.at = nil, lines, time.Now()
	_, _ = io.WriteString(t.w, b.String())
}

// Close takes the lines that move off the screen and ends the clock. What is
// said later is printed as it comes.
func (t *Terminal) Close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.end()
}

// Abandon is Close for a process that ends at once: it waits for nobody who may
// be drawing.
func (t *Terminal) Abandon() {
	if t.mu.TryLock() {
		defer t.mu.Unlock()
		t.end()
	}
}

func (t *Terminal) end() {
	if t.stop != nil {
		close(t.stop)
		t.stop = nil
	}
	t.closed = true
	t.draw(nil)
}

// Results gives a writer to w that does not write into the lines that move,
// should w be the same terminal: they make room for every whole line. Flush
// hands on a last line without an end.
func (t *Terminal) Results(w io.Writer) *Results { return &Results{terminal: t, w: w} }

// Results is a writer of results beside a Terminal.
type Results struct {
	terminal *Terminal
	w        io.Writer
	mu       sync.Mutex
	begun    []byte // a line that has no end yet
}

// Write hands on whole lines.
func (r *Results) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.begun = append(r.begun, p...)
	end := bytes.LastIndexByte(r.begun, '\n') + 1
	if end == 0 {
		return len(p), nil
	}
	err := r.pass(r.begun[:end])
	r.begun = append(r.begun[:0], r.begun[end:]...)
	return len(p), err
}

// Flush hands on what is left.
func (r *Results) Flush() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	rest := r.begun
	r.begun = nil
	if len(rest) == 0 {
		return nil
	}
	return r.pass(rest)
}

func (r *Results) pass(text []byte) error {
	t := r.terminal
	t.mu.Lock()
	defer t.mu.Unlock()
	t.draw(nil)
	_, err := r.w.Write(text)
	if !t.closed {
		t.draw(t.lines())
	}
	return err
}
