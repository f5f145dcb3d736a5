package guest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"fediversity.eu/slipway/checks/guest/netns"
)

// forward leads a port of 127.0.0.1 to a port of a container, as QEMU's user
// network does for a virtual machine: it accepts at once, and a connection
// hangs while the guest cannot be reached.
type forward struct {
	listener net.Listener
	target   string
	wire     *netns.Space
	cancel   context.CancelFunc
	all      sync.WaitGroup
}

func newForward(ctx context.Context, wire *netns.Space, guestPort int) (*forward, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("forward port %d: %w", guestPort, err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	f := &forward{
		listener: listener, wire: wire, cancel: cancel,
		target: net.JoinHostPort(guestAddress, strconv.Itoa(guestPort)),
	}
	f.all.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return // closed
			}
			f.all.Go(func() { f.serve(ctx, conn.(*net.TCPConn)) })
		}
	})
	return f, nil
}

func (f *forward) port() int { return f.listener.Addr().(*net.TCPAddr).Port }

// close ends the listener and all connections.
func (f *forward) close() {
	_ = f.listener.Close()
	f.cancel()
	f.all.Wait()
}

func (f *forward) serve(ctx context.Context, client *net.TCPConn) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer func() { _ = client.Close() }()
	guest, err := f.dial(ctx)
	if err != nil {
		_ = client.SetLinger(0) // refused inside: tell so with a reset
		return
	}
	defer func() { _ = guest.Close() }()
	stop := context.AfterFunc(ctx, func() {
		_ = client.Close()
		_ = guest.Close()
	})
	defer stop()
	var both sync.WaitGroup
	both.Go(func() { splice(guest, client) })
	both.Go(func() { splice(client, guest) })
	both.Wait()
}

// splice copies until the source ends, and hands its end on. A source that was
// reset resets the target.
func splice(to, from *net.TCPConn) {
	if _, err := io.Copy(to, from); err != nil {
		_ = to.SetLinger(0)
		_ = to.Close()
		_ = from.Close()
		return
	}
	_ = to.CloseWrite()
}

// dialLimit is how long one try to connect takes; the guest is a cable away.
const dialLimit = 100 * time.Millisecond

// dial connects to the guest from the far end of its cable.
func (f *forward) dial(ctx context.Context) (*net.TCPConn, error) {
	for {
		var conn net.Conn
		err := f.wire.Do(func() error {
			dialer := net.Dialer{Timeout: dialLimit}
			var err error
			conn, err = dialer.DialContext(ctx, "tcp", f.target)
			return err
		})
		if err == nil {
			return conn.(*net.TCPConn), nil
		}
		if ctx.Err() != nil || !unreachable(err) {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// unreachable tells a network that is cut, or not there yet, from a guest that
// refuses.
func unreachable(err error) bool {
	var network net.Error
	return errors.Is(err, unix.ENETUNREACH) || errors.Is(err, unix.EHOSTUNREACH) ||
		errors.As(err, &network) && network.Timeout()
}
