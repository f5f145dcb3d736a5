package port

import (
	"net"
	"syscall"
	"testing"

	"gotest.tools/v3/assert"
)

func TestAKeptPortIsForWhoKnowsIt(t *testing.T) {
	number := Keep(t)
	for range 2 { // a server may come, go, and come again
		_, err := new(net.Dialer).DialContext(t.Context(), "tcp", Address(number))
		assert.ErrorIs(t, err, syscall.ECONNREFUSED)
		listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", Address(number))
		assert.NilError(t, err)
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", Address(number))
		assert.NilError(t, err)
		assert.NilError(t, conn.Close())
		assert.NilError(t, listener.Close())
	}
	assert.Assert(t, Keep(t) != number)
}
