// Package port keeps ports of the loopback for servers that are told where to
// listen.
package port

import (
	"net"
	"os"
	"strconv"
	"syscall"
	"testing"

	"gotest.tools/v3/assert"
)

// Keep gives a free port of 127.0.0.1 that stays the test's until it ends: it is
// bound, so that the kernel gives it to nobody who asks for any port, and refuses
// connections. A server that is told to listen there and sets SO_REUSEADDR, as
// most do, still can, also again and again (socket(7)).
func Keep(t testing.TB) int {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	assert.NilError(t, err)
	t.Cleanup(func() { assert.Check(t, syscall.Close(fd)) })
	assert.NilError(t, os.NewSyscallError("setsockopt", syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1)))
	assert.NilError(t, os.NewSyscallError("bind", syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}})))
	name, err := syscall.Getsockname(fd)
	assert.NilError(t, err)
	return name.(*syscall.SockaddrInet4).Port
}

// Address is a kept port with its host.
func Address(number int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(number)) }
