package supervisor

import (
	"bytes"
	"io"
	"os"

	"fediversity.eu/slipway/methods/tofu/ledger"
	"fediversity.eu/slipway/methods/tofu/rundir"
)

// events is the writer of what tofu makes: whole lines, on the disk before
// anything more is read. While the disk takes one lot the next gathers in tofu's
// pipe, so that many at once cost one sync, and nobody hears of an object before a
// file tells of it. The zero events takes nothing down.
type events struct {
	file   disk
	part   []byte // of a line
	failed func() // called when the disk takes no more
	fault  error  // the first
}

// disk is what a file has for it.
type disk interface {
	io.WriteCloser
	Sync() error
}

func (e *events) open(path string) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	e.file = file
	return nil
}

// Write never fails: a tofu whose reader is gone loses its state.
func (e *events) Write(p []byte) (int, error) {
	if e.file == nil {
		return len(p), nil
	}
	var lot []byte
	e.part = append(e.part, p...)
	rest := e.part
	for {
		end := bytes.IndexByte(rest, '\n')
		if end < 0 {
			break
		}
		if line := rest[:end+1]; ledger.Durable(line) {
			lot = append(lot, line...)
		}
		rest = rest[end+1:]
	}
	e.part = append(e.part[:0], rest...)
	e.commit(lot)
	return len(p), nil
}

// commit puts lines on the disk. When it does not take them tofu is to stop, before
// there is more of which no file tells.
func (e *events) commit(lines []byte) {
	if len(lines) == 0 {
		return
	}
	_, err := e.file.Write(lines)
	if err == nil {
		err = e.file.Sync()
	}
	if err != nil && e.fault == nil {
		e.fault = err
		e.failed()
	}
}

// close ends it; ended says that tofu ended by itself.
func (e *events) close(ended bool) error {
	if e.file == nil {
		return nil
	}
	if ended {
		e.commit(ledger.End())
	}
	if err := e.file.Close(); e.fault == nil {
		e.fault = err
	}
	return e.fault
}

// note writes down which process tofu is, for a run that finds the lock free and
// tofu alive because somebody killed its supervisor.
func note(path string, pid int) {
	if name, err := rundir.Process(pid); err == nil {
		_ = os.WriteFile(path, []byte(name), 0o600)
	}
}
