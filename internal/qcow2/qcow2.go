// Package qcow2 reads disks in QEMU's format (QEMU documentation, "qcow2 image file
// format"), versions 2 and 3: whole ones, that stand on no other and are not
// encrypted.
package qcow2

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// Magic is what every such file begins with.
const Magic = "QFI\xfb"

// Disk is what a guest sees of a disk.
type Disk struct {
	file    io.ReaderAt
	size    int64
	bits    uint // of a cluster's size
	l1      []uint64
	zstd    bool
	version uint32

	mu     sync.Mutex
	tables map[uint64][]uint64 // the second of the two levels, by where they are
	recent map[uint64][]byte   // clusters that were compressed
}

// Fields of the header, and of the entries of both tables.
const (
	smallest   = 72 // a header of version 2
	largest    = 104
	corrupt    = 1 << 1
	external   = 1 << 2
	compressed = 1 << 3
	extended   = 1 << 4
	offsetMask = 0x00fffffffffffe00
	isZero     = 1
	isPacked   = 1 << 62
	sector     = 512
	maxTable   = 32 << 20 // bytes of the first table, as QEMU allows
	maxRecent  = 64
)

// Open reads the header and the first table.
func Open(file io.ReaderAt) (*Disk, error) {
	header := make([]byte, largest+1)
	n, err := file.ReadAt(header, 0)
	if n < smallest {
		return nil, fmt.Errorf("read the header of the disk: %w", err)
	}
	word := func(at int) uint32 { return binary.BigEndian.Uint32(header[at:]) }
	long := func(at int) uint64 { return binary.BigEndian.Uint64(header[at:]) }
	d := &Disk{file: file, version: word(4), bits: uint(word(20)), tables: map[uint64][]uint64{}, recent: map[uint64][]byte{}}
	d.size = int64(long(24)) //nolint:gosec // checked below
	entries := word(36)
	var features uint64
	if d.version >= 3 {
		features = long(72)
	}
	switch {
	case string(header[:4]) != Magic:
		return nil, errors.New("it is no qcow2 disk")
	case d.version != 2 && d.version != 3:
		return nil, fmt.Errorf("version %d of qcow2 is not known", d.version)
	case long(8) != 0:
		return nil, errors.New("the disk stands on another")
	case word(32) != 0:
		return nil, errors.New("the disk is encrypted")
	case features&^(1|compressed) != 0:
		return nil, fmt.Errorf("the disk is corrupt, or has its data elsewhere or otherwise: features %#x", features&(corrupt|external|extended))
	case d.bits < 9 || d.bits > 21 || d.size < 0 || uint64(entries)*8 > maxTable:
		return nil, errors.New("the header of the disk makes no sense")
	}
	d.zstd = features&compressed != 0 && word(100) > largest && header[largest] == 1
	d.l1, err = d.table(long(40)&offsetMask, int(entries))
	return d, err
}

// Size is that of the disk, in bytes.
func (d *Disk) Size() int64 { return d.size }

func (d *Disk) table(at uint64, entries int) ([]uint64, error) {
	raw := make([]byte, entries*8)
	if _, err := d.file.ReadAt(raw, int64(at)); err != nil { //nolint:gosec // 56 bits
		return nil, fmt.Errorf("read a table of the disk: %w", err)
	}
	table := make([]uint64, entries)
	for i := range table {
		table[i] = binary.BigEndian.Uint64(raw[i*8:])
	}
	return table, nil
}

// ReadAt reads as a guest would: what was never written is zero.
func (d *Disk) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, errors.New("read before the start of the disk")
	}
	done := 0
	for done < len(p) {
		at := off + int64(done)
		if at >= d.size {
			return done, io.EOF
		}
		within := at & (1<<d.bits - 1)
		part := min(int64(len(p)-done), 1<<d.bits-within, d.size-at)
		if err := d.read(p[done:done+int(part)], uint64(at)>>d.bits, within); err != nil { //nolint:gosec // above zero
			return done, err
		}
		done += int(part)
	}
	return done, nil
}

// read reads a part of one cluster.
func (d *Disk) read(p []byte, cluster uint64, within int64) error {
	entry, err := d.entry(cluster)
	if err != nil {
		return err
	}
	switch {
	case entry&isPacked != 0:
		text, err := d.unpacked(entry)
		if err == nil {
			copy(p, text[within:])
		}
		return err
	case entry&offsetMask == 0, entry&isZero != 0 && d.version >= 3:
		clear(p)
		return nil
	}
	n, err := d.file.ReadAt(p, int64(entry&offsetMask)+within) //nolint:gosec // 56 bits
	if errors.Is(err, io.EOF) {
		clear(p[n:]) // the file may end before its last cluster does
		return nil
	}
	return err
}

// entry is what the tables say of a cluster.
func (d *Disk) entry(cluster uint64) (uint64, error) {
	per := uint64(1) << (d.bits - 3)
	first := cluster / per
	if first >= uint64(len(d.l1)) || d.l1[first]&offsetMask == 0 {
		return 0, nil
	}
	at := d.l1[first] & offsetMask
	d.mu.Lock()
	defer d.mu.Unlock()
	table, ok := d.tables[at]
	if !ok {
		var err error
		if table, err = d.table(at, int(per)); err != nil { //nolint:gosec // at most 2^18
			return 0, err
		}
		d.tables[at] = table
	}
	return table[cluster%per], nil
}

// unpacked is a cluster that is compressed.
func (d *Disk) unpacked(entry uint64) ([]byte, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if text, ok := d.recent[entry]; ok {
		return text, nil
	}
	split := 62 - (d.bits - 8)
	at := entry & (1<<split - 1)
	sectors := (entry&^isPacked)>>split&(1<<(d.bits-8)-1) + 1
	packed := make([]byte, sectors*sector-at%sector)
	n, err := d.file.ReadAt(packed, int64(at)) //nolint:gosec // 54 bits
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	var from io.Reader = flate.NewReader(bytes.NewReader(packed[:n]))
	if d.zstd {
		decoder, err := zstd.NewReader(bytes.NewReader(packed[:n]), zstd.WithDecoderConcurrency(1))
		if err != nil {
			return nil, err
		}
		defer decoder.Close()
		from = decoder
	}
	text := make([]byte, 1<<d.bits)
	if _, err := io.ReadFull(from, text); err != nil {
		return nil, fmt.Errorf("unpack a cluster of the disk: %w", err)
	}
	if len(d.recent) == maxRecent {
		clear(d.recent)
	}
	d.recent[entry] = text
	return text, nil
}
