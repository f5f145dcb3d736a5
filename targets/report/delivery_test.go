package report

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"testing"

	"gotest.tools/v3/assert"
)

// failing fails from its second write on.
type failing struct {
	bytes.Buffer
	err error
}

func (f *failing) Write(p []byte) (int, error) {
	if f.Len() > 0 {
		return 0, f.err
	}
	return f.Buffer.Write(p)
}

func TestADeliveryNeverFails(t *testing.T) {
	for _, c := range []struct {
		name string
		err  error
		lost bool
	}{
		{"its reader went away", &os.PathError{Op: "write", Path: "/dev/stdout", Err: syscall.EPIPE}, false},
		{"its reader at a socket did", syscall.ECONNRESET, false},
		{"its disk is full", &os.PathError{Op: "write", Path: "/dev/stdout", Err: syscall.ENOSPC}, true},
		{"its file may not grow", syscall.EFBIG, true},
		{"its disk is broken", syscall.EIO, true},
		{"its quota is used up", syscall.EDQUOT, true},
		{"something else", errors.New("something else"), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			to := &failing{err: c.err}
			d := NewDelivery(to)
			for range 3 {
				_, err := io.WriteString(d, "text\n")
				assert.NilError(t, err)
			}
			assert.Equal(t, to.String(), "text\n")
			if !c.lost {
				assert.NilError(t, d.Lost())
				return
			}
			assert.ErrorIs(t, d.Lost(), c.err)
		})
	}
}

func TestADeliveryToADevice(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	assert.NilError(t, err)
	t.Cleanup(func() { _ = full.Close() })
	d := NewDelivery(full)
	assert.Assert(t, d.terminal) // as far as a mode says
	_, err = fmt.Fprintln(d, "text")
	assert.NilError(t, err)
	assert.ErrorIs(t, d.Lost(), syscall.ENOSPC)
}
