package debian

import (
	"bytes"
	"fmt"
)

// cpio writes the kernel's archive format, "newc".
type cpio struct {
	buf   bytes.Buffer
	inode int
}

func (c *cpio) dir(name string) { c.entry(name, 0o040755, nil) }

func (c *cpio) file(name string, mode int, data []byte) { c.entry(name, 0o100000|mode, data) }

func (c *cpio) bytes() []byte {
	c.entry("TRAILER!!!", 0, nil)
	return c.buf.Bytes()
}

func (c *cpio) entry(name string, mode int, data []byte) {
	c.inode++
	fmt.Fprint(&c.buf, "070701")
	// ino, mode, uid, gid, nlink, mtime, size, device twice, device of a node
	// twice, length of the name with its zero, checksum.
	for _, field := range []int{c.inode, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name) + 1, 0} {
		fmt.Fprintf(&c.buf, "%08x", field)
	}
	c.buf.WriteString(name + "\x00")
	c.pad()
	c.buf.Write(data)
	c.pad()
}

func (c *cpio) pad() {
	for c.buf.Len()%4 != 0 {
		c.buf.WriteByte(0)
	}
}
