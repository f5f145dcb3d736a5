//go:build checks

package checks

import (
	"context"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"gotest.tools/v3/assert"
)

// narrow leads a port of 127.0.0.1 to a server. The first connection that has sent more
// than a limit falls silent: nothing of it gets there any more, and neither side is
// told. A check cuts or ends a transfer in its middle by it, however fast the host is.
type narrow struct {
	address string
	silent  chan struct{} // closed when a connection has fallen silent

	dial  func(ctx context.Context, network, address string) (net.Conn, error)
	to    string
	limit int64
	once  sync.Once
}

// newNarrow makes one; a limit of 0 means that all connections pass.
func newNarrow(t *testing.T, listener net.Listener, to string, dial func(ctx context.Context, network, address string) (net.Conn, error), limit int64) *narrow {
	t.Helper()
	n := &narrow{address: listener.Addr().String(), silent: make(chan struct{}), dial: dial, to: to, limit: limit}
	var all sync.WaitGroup
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	t.Cleanup(func() {
		cancel()
		_ = listener.Close()
		all.Wait()
	})
	all.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return // closed
			}
			all.Go(func() { n.pass(ctx, conn) })
		}
	})
	return n
}

func (n *narrow) pass(ctx context.Context, near net.Conn) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	far, err := n.dial(ctx, "tcp", n.to)
	if err != nil {
		_ = near.Close()
		return
	}
	context.AfterFunc(ctx, func() {
		_ = near.Close()
		_ = far.Close()
	})
	go func() {
		defer cancel()
		_, _ = io.Copy(near, far)
	}()
	_, _ = io.Copy(&limited{way: n, to: far}, near)
}

// limited is the sending half of a connection.
type limited struct {
	way    *narrow
	to     io.Writer
	passed int64
	silent bool
}

func (l *limited) Write(p []byte) (int, error) {
	l.passed += int64(len(p))
	if l.way.limit > 0 && l.passed > l.way.limit {
		l.way.once.Do(func() {
			l.silent = true
			close(l.way.silent)
		})
	}
	if l.silent {
		return len(p), nil
	}
	return l.to.Write(p)
}

// await waits until a connection has fallen silent.
func (n *narrow) await(t *testing.T) {
	t.Helper()
	select {
	case <-n.silent:
	case <-time.After(5 * time.Minute):
		t.Fatalf("nobody has sent more than %d bytes", n.limit)
	}
}

// narrow leads to a guest by way of a port at which one connection falls silent.
func (w *world) narrow(limit int64) *narrow {
	w.t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(w.t.Context(), "tcp", "127.0.0.1:0")
	assert.NilError(w.t, err)
	return newNarrow(w.t, listener, net.JoinHostPort(w.env["SSH_HOST"], w.env["SSH_PORT"]), (&net.Dialer{}).DialContext, limit)
}

// port is the port of the near end.
func (n *narrow) port() string {
	_, port, _ := net.SplitHostPort(n.address)
	return port
}
