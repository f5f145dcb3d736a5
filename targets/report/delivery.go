package report

import (
	"errors"
	"io"
	"os"
	"sync"
	"syscall"
)

// Delivery hands results on to their reader and never fails: a run is not left
// half done because nobody takes what it says. Lost tells afterwards what could
// not be written.
type Delivery struct {
	mu       sync.Mutex
	w        io.Writer
	terminal bool // or another device
	gone     bool // the reader went away
	lost     error
}

// NewDelivery gives the delivery to w.
func NewDelivery(w io.Writer) *Delivery {
	d := &Delivery{w: w}
	if file, ok := w.(*os.File); ok {
		info, err := file.Stat()
		d.terminal = err == nil && info.Mode()&os.ModeCharDevice != 0
	}
	return d
}

// Write hands p on, unless something before it was lost: what comes after a gap
// would mislead.
func (d *Delivery) Write(p []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.gone || d.lost != nil {
		return len(p), nil
	}
	if _, err := d.w.Write(p); err != nil {
		// A terminal that went away is an input/output error (tty_ioctl(4)).
		if Gone(err) || d.terminal && errors.Is(err, syscall.EIO) {
			d.gone = true
		} else {
			d.lost = err
		}
	}
	return len(p), nil
}

// Lost is why not everything was written; nil also where the reader went away,
// which has had enough.
func (d *Delivery) Lost() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.lost
}

// Gone reports whether an error of a write says that the reader went away.
func Gone(err error) bool {
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET)
}
