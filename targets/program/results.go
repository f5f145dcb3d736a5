package program

import (
	"bytes"
	"io"
	"sync"
)

// labelled writes the results of one of several machines: whole lines, each with
// the machine's name before it. Flush hands on a last line without an end.
type labelled struct {
	label string
	to    io.Writer

	mu    sync.Mutex
	begun []byte
}

func (l *labelled) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.begun = append(l.begun, p...)
	for {
		end := bytes.IndexByte(l.begun, '\n')
		if end < 0 {
			return len(p), nil
		}
		if err := l.pass(l.begun[:end]); err != nil {
			return 0, err
		}
		l.begun = l.begun[end+1:]
	}
}

func (l *labelled) Flush() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.begun) == 0 {
		return nil
	}
	line := l.begun
	l.begun = nil
	return l.pass(line)
}

func (l *labelled) pass(line []byte) error {
	_, err := l.to.Write(append(append([]byte(l.label+": "), line...), '\n'))
	return err
}
