package root

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"time"

	"github.com/diskfs/go-diskfs/backend"
	"github.com/diskfs/go-diskfs/filesystem/ext4"
	"github.com/diskfs/go-diskfs/filesystem/squashfs"
	"github.com/diskfs/go-diskfs/partition"
)

// part is a part of a disk, as the library wants it.
type part struct{ *io.SectionReader }

var _ backend.Storage = (*part)(nil)

// Close leaves the disk open: others read it.
func (*part) Close() error { return nil }

// Stat is a file's.
func (p *part) Stat() (fs.FileInfo, error) { return about{p.Size()}, nil }

// Sys is for devices.
func (*part) Sys() (*os.File, error) { return nil, backend.ErrNotSuitable }

// Writable is for those who write.
func (*part) Writable() (backend.WritableFile, error) { return nil, backend.ErrIncorrectOpenMode }

// Path is of none.
func (*part) Path() string { return "" }

type about struct{ size int64 }

func (about) Name() string           { return "disk" }
func (a about) Size() int64          { return a.size }
func (about) Mode() fs.FileMode      { return 0o400 }
func (about) ModTime() (t time.Time) { return t }
func (about) IsDir() bool            { return false }
func (about) Sys() any               { return nil }

const sectorSize = 512

// Where a file system says what it is (ext4 documentation, "Super Block").
const (
	ext4MagicAt = 1024 + 0x38
	ext4Magic   = "\x53\xef"
)

// onDisk reads the partitions of a disk, or the disk where it has none. One that can't
// be looked into matters where no other has the accounts.
func onDisk(ctx context.Context, disk io.ReaderAt, size int64) (Accounts, error) {
	type place struct{ start, size int64 }
	places := []place{{0, size}}
	table, err := partition.Read(&part{io.NewSectionReader(disk, 0, size)}, sectorSize, sectorSize)
	if err == nil {
		places = nil
		for _, p := range table.GetPartitions() {
			if p.GetSize() > 0 {
				places = append(places, place{p.GetStart(), p.GetSize()})
			}
		}
	}
	found := Accounts{}
	var unknown error // why the first of those that could not be looked into could not
	for i, p := range places {
		section := io.NewSectionReader(disk, p.start, p.size)
		system, err := mounted(section)
		if err != nil {
			if unknown == nil {
				unknown = fmt.Errorf("partition %d: %w", i+1, err)
			}
			continue
		}
		if system == nil {
			continue
		}
		accounts, err := inFiles(ctx, system)
		if err != nil {
			return nil, err
		}
		maps.Copy(found, accounts)
	}
	if unknown != nil && len(found) == 0 {
		return nil, closed("%w", unknown) // the accounts may be there
	}
	return found, nil
}

// mounted is the file system of a partition; nil is one that holds no accounts.
func mounted(section *io.SectionReader) (fs.FS, error) {
	head := make([]byte, ext4MagicAt+len(ext4Magic))
	if _, err := section.ReadAt(head, 0); err != nil {
		return nil, fmt.Errorf("read its start: %w", err)
	}
	switch {
	case string(head[ext4MagicAt:]) == ext4Magic:
		return ext4.Read(&part{section}, section.Size(), 0, sectorSize)
	case string(head[:len(squashMagic)]) == squashMagic:
		return squashfs.Read(&part{section}, section.Size(), 0, 0)
	case head[510] == 0x55 && head[511] == 0xaa:
		return nil, nil // FAT, or the code of a loader
	}
	for _, b := range head {
		if b != 0 {
			return nil, errors.New("its file system is neither ext4 nor squashfs")
		}
	}
	return nil, nil // nothing is there, as in the space of a BIOS's loader
}
