package supervisor

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/methods/tofu/ledger"
)

// memory is a disk that counts its syncs, tells of them, and may fail.
type memory struct {
	bytes.Buffer

	syncs int
	sync  func() // may be nil
	fault error
}

func (m *memory) Close() error { return nil }

func (m *memory) Sync() error {
	if m.sync != nil {
		m.sync()
	}
	m.syncs++
	return m.fault
}

const (
	start    = `{"type":"apply_start"}` + "\n"
	progress = `{"type":"apply_progress"}` + "\n"
	complete = `{"type":"apply_complete"}` + "\n"
)

func TestEvents(t *testing.T) {
	t.Run("what comes at once costs one sync", func(t *testing.T) {
		disk := &memory{}
		e := &events{file: disk}
		_, err := io.WriteString(e, strings.Repeat(start+progress+complete, 100))
		assert.NilError(t, err)
		assert.Equal(t, disk.syncs, 1)
		assert.Equal(t, disk.String(), strings.Repeat(start+complete, 100))
		_, err = io.WriteString(e, progress)
		assert.NilError(t, err)
		assert.Equal(t, disk.syncs, 1, "what need not last waits for no disk")
		assert.NilError(t, e.close(true))
		assert.Equal(t, disk.syncs, 2)
		assert.Assert(t, strings.HasSuffix(disk.String(), string(ledger.End())))
	})
	t.Run("a line comes in pieces", func(t *testing.T) {
		disk := &memory{}
		e := &events{file: disk}
		for piece := range strings.SplitSeq(start+complete+start, "") {
			_, err := io.WriteString(e, piece)
			assert.NilError(t, err)
		}
		_, err := io.WriteString(e, start[:5])
		assert.NilError(t, err)
		assert.NilError(t, e.close(false))
		assert.Equal(t, disk.String(), start+complete+start, "whole lines alone")
		assert.Equal(t, disk.syncs, 3)
	})
	t.Run("nobody hears of it before it is on the disk", func(t *testing.T) {
		var heard bytes.Buffer
		disk := &memory{}
		safe := "" // what was on the disk after the sync before
		disk.sync = func() {
			assert.Equal(t, heard.String(), safe)
			safe = disk.String()
		}
		both := io.MultiWriter(&events{file: disk}, &heard)
		for i := range 50 {
			_, err := fmt.Fprintf(both, `{"type":"apply_start","n":%d}`+"\n", i)
			assert.NilError(t, err)
			assert.Equal(t, disk.syncs, i+1)
			assert.Equal(t, heard.String(), safe)
		}
	})
	t.Run("a disk that fails stops tofu once, and the first fault is told", func(t *testing.T) {
		disk, asked := &memory{fault: syscall.EIO}, 0
		e := &events{file: disk, failed: func() { asked++ }}
		for range 3 {
			_, err := io.WriteString(e, start)
			assert.NilError(t, err, "tofu's reader stays")
			disk.fault = errors.New("another")
		}
		assert.Equal(t, asked, 1)
		assert.Equal(t, disk.String(), strings.Repeat(start, 3), "what can be written is")
		assert.ErrorIs(t, e.close(true), syscall.EIO)
	})
	t.Run("without a file nothing is taken down", func(t *testing.T) {
		e := &events{}
		_, err := io.WriteString(e, start)
		assert.NilError(t, err)
		assert.NilError(t, e.close(true))
	})
}
