package supervisor

import (
	"bytes"
	"os"
	"sync"

	"fediversity.eu/slipway/methods/tofu/ledger"
	"fediversity.eu/slipway/methods/tofu/rundir"
)

// events is the writer of what tofu makes: whole lines, each on the disk as soon
// as the disk can take it. Many at once cost one sync. The zero events takes
// nothing down.
type events struct {
	file  *os.File
	part  []byte // of a line
	lines chan []byte
	done  sync.WaitGroup
	fault error
}

func (e *events) open(path string) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	e.file, e.lines = file, make(chan []byte, 4096)
	e.done.Go(e.write)
	return nil
}

// Write never fails: tofu must not be held up by what is known of it.
func (e *events) Write(p []byte) (int, error) {
	if e.file == nil {
		return len(p), nil
	}
	e.part = append(e.part, p...)
	for {
		end := bytes.IndexByte(e.part, '\n')
		if end < 0 {
			return len(p), nil
		}
		if line := e.part[:end+1]; ledger.Durable(line) {
			e.lines <- bytes.Clone(line)
		}
		e.part = e.part[end+1:]
	}
}

func (e *events) write() {
	for line := range e.lines {
		batch := line
	more:
		for {
			select {
			case next, ok := <-e.lines:
				if !ok {
					break more
				}
				batch = append(batch, next...)
			default:
				break more
			}
		}
		if _, err := e.file.Write(batch); err != nil {
			e.fault = err
			continue
		}
		if err := e.file.Sync(); err != nil {
			e.fault = err
		}
	}
}

// close writes the rest down; ended says that tofu ended by itself.
func (e *events) close(ended bool) error {
	if e.file == nil {
		return nil
	}
	if ended {
		e.lines <- ledger.End()
	}
	close(e.lines)
	e.done.Wait()
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
