// Package bounded keeps what another program writes, up to a limit: who writes
// without end must not take the memory of who reads.
package bounded

import (
	"bytes"
	"fmt"
)

// Error is output that was longer than what is taken. The beginning of it is there.
type Error struct{ Limit int }

// Error says how much is taken.
func (e *Error) Error() string {
	return fmt.Sprintf("it wrote more than %d MiB, and the rest was cut", e.Limit>>20)
}

// Buffer takes up to Limit bytes. The first Write above it fails, and tells Full,
// where there is one, why.
type Buffer struct {
	Limit int
	Full  func(error)

	kept bytes.Buffer // not embedded: its ReadFrom knows no limit
	full bool
}

// Bytes gives what was taken.
func (b *Buffer) Bytes() []byte { return b.kept.Bytes() }

// String gives what was taken.
func (b *Buffer) String() string { return b.kept.String() }

// Write adds what there is room for.
func (b *Buffer) Write(p []byte) (int, error) {
	if room := b.Limit - b.kept.Len(); len(p) > room {
		n, _ := b.kept.Write(p[:max(0, room)])
		err := &Error{b.Limit}
		if !b.full && b.Full != nil {
			b.Full(err)
		}
		b.full = true
		return n, err
	}
	return b.kept.Write(p)
}
