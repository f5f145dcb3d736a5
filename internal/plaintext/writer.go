package plaintext

import (
	"bytes"
	"io"
	"sync"
)

// Writer cleans what is written through it, line by line, and cuts nothing: results
// are for programs too. Flush hands on a last line without an end.
type Writer struct {
	mu    sync.Mutex
	to    io.Writer
	begun []byte
}

// NewWriter gives a Writer to w.
func NewWriter(w io.Writer) *Writer { return &Writer{to: w} }

// longest bounds what is held back of a line without an end.
const longest = 64 << 10

// Write hands on whole lines; the error is that of the writer behind.
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.begun = append(w.begun, p...)
	end := bytes.LastIndexByte(w.begun, '\n') + 1
	if end == 0 && len(w.begun) > longest {
		end = whole(w.begun)
	}
	if end == 0 {
		return len(p), nil
	}
	err := w.pass(w.begun[:end])
	w.begun = append(w.begun[:0], w.begun[end:]...)
	return len(p), err
}

// whole gives where the last character that may be whole ends.
func whole(text []byte) int {
	for i := len(text) - 1; i > len(text)-4; i-- {
		if text[i] < 0x80 || text[i] >= 0xC0 {
			return i
		}
	}
	return len(text)
}

// Flush hands on what is left.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	rest := w.begun
	w.begun = nil
	if len(rest) == 0 {
		return nil
	}
	return w.pass(rest)
}

func (w *Writer) pass(text []byte) error {
	_, err := io.WriteString(w.to, Lines(string(text)))
	return err
}
