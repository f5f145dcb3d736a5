package report

import (
	"bytes"
	"fmt"
	"io"
	"sync"
)

// Lines gives a writer whose lines become events of level output: whole lines
// only, however they are written. Close hands on a last line without an end.
func (l *Log) Lines() io.WriteCloser { return &lines{log: l} }

// lines keeps of a line that is too long its beginning and its end.
type lines struct {
	mu   sync.Mutex
	log  *Log
	buf  []byte
	head []byte // of a line longer than longestLine
	lost int    // how many bytes are gone between head and buf
}

// longestLine bounds what is kept of a line.
const longestLine = 64 << 10

func (w *lines) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for rest := p; len(rest) > 0; {
		end := bytes.IndexByte(rest, '\n')
		if end < 0 {
			w.keep(rest)
			break
		}
		w.keep(rest[:end])
		w.emit()
		rest = rest[end+1:]
	}
	return len(p), nil
}

func (w *lines) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.buf)+len(w.head) > 0 {
		w.emit()
	}
	return nil
}

func (w *lines) keep(part []byte) {
	w.buf = append(w.buf, part...)
	if len(w.buf) <= longestLine {
		return
	}
	if w.head == nil {
		w.head = bytes.Clone(w.buf[:longestLine/2])
		w.buf = w.buf[longestLine/2:]
	}
	if extra := len(w.buf) - longestLine/2; extra > 0 {
		w.lost += extra
		w.buf = bytes.Clone(w.buf[extra:])
	}
}

// emit drops what a progress bar overwrote.
func (w *lines) emit() {
	line := bytes.TrimRight(w.buf, "\r")
	if i := bytes.LastIndexByte(line, '\r'); i >= 0 {
		line = line[i+1:]
	} else if w.head != nil {
		gap := ""
		if w.lost > 0 {
			gap = fmt.Sprintf("… (%d bytes cut) …", w.lost)
		}
		line = append(append(w.head, gap...), line...)
	}
	text := string(line)
	w.buf, w.head, w.lost = w.buf[:0], nil, 0
	w.log.take(Event{Kind: KindLine, Level: Output, Text: text})
}
