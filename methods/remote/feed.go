package remote

import (
	"errors"
	"fmt"
	"io"
	"sync"
)

const (
	frameMax = 1 << 20  // of input; the other side holds one frame in memory
	readMax  = 64 << 10 // of one read from the caller's input
	writeMax = 32 << 10 // of one write, so that a stop is noticed in between
)

// feed writes frames to a command: first those that start it, then its input.
// Reading and writing run side by side, so that small pieces gather into large
// frames while the network is busy.
type feed struct {
	mu     sync.Mutex
	change *sync.Cond
	buf    []byte // read, not yet written
	ended  bool   // there is no more input
	halted bool   // by stop
}

// newFeed starts to write. failed is told when the caller's input fails, which
// never passes for its end. A nil input is an empty one.
func newFeed(to io.WriteCloser, frames []string, input io.Reader, failed func(error)) *feed {
	f := &feed{ended: input == nil}
	f.change = sync.NewCond(&f.mu)
	go f.write(to, frames)
	if input != nil {
		go f.read(input, failed)
	}
	return f
}

// stop ends the stream at once, whether or not its input had ended: on the other
// side this is the end of the lease.
func (f *feed) stop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.halted = true
	f.change.Broadcast()
}

func (f *feed) stopped() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.halted
}

func (f *feed) read(input io.Reader, failed func(error)) {
	piece := make([]byte, readMax)
	for {
		n, err := input.Read(piece)
		f.mu.Lock()
		for len(f.buf)+n > frameMax && !f.halted {
			f.change.Wait()
		}
		f.buf = append(f.buf, piece[:n]...)
		f.ended = errors.Is(err, io.EOF)
		halted := f.halted
		f.change.Broadcast()
		f.mu.Unlock()
		switch {
		case halted:
			return
		case err == nil:
		case errors.Is(err, io.EOF):
			return
		default:
			failed(fmt.Errorf("read input: %w", err))
			return
		}
	}
}

// write is the only one to use the stream: its end must not overtake a write.
func (f *feed) write(to io.WriteCloser, frames []string) {
	defer func() { _ = to.Close() }()
	for _, frame := range frames {
		if f.frame(to, []byte(frame)) != nil {
			return
		}
	}
	var spare []byte
	for {
		f.mu.Lock()
		for len(f.buf) == 0 && !f.ended && !f.halted {
			f.change.Wait()
		}
		full, ended, halted := f.buf, f.ended, f.halted
		f.buf = spare[:0]
		f.change.Broadcast()
		f.mu.Unlock()
		if halted || len(full) > 0 && f.frame(to, full) != nil {
			return
		}
		spare = full
		if ended {
			break
		}
	}
	if _, err := io.WriteString(to, "0\n"); err != nil {
		return
	}
	f.mu.Lock()
	for !f.halted {
		f.change.Wait()
	}
	f.mu.Unlock()
}

func (f *feed) frame(to io.Writer, data []byte) error {
	head := fmt.Appendf(nil, "%d\n", len(data))
	for len(head) > 0 || len(data) > 0 {
		piece := head
		if len(piece) == 0 {
			piece = data[:min(writeMax, len(data))]
			data = data[len(piece):]
		}
		head = nil
		if f.stopped() {
			return errors.New("stopped")
		}
		if _, err := to.Write(piece); err != nil {
			return err
		}
	}
	return nil
}
