package deploy

import (
	"context"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	xssh "golang.org/x/crypto/ssh"
	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"fediversity.eu/slipway/methods/remote"
	"fediversity.eu/slipway/targets/report"
	"fediversity.eu/slipway/targets/task"
)

// narrow is an ssh server that allows a number of sessions at once, and runs no
// commands: it counts them.
type narrow struct {
	allowed int64
	open    atomic.Int64
	asked   atomic.Int64 // for commands
	target  remote.Target
}

func startNarrow(t *testing.T, allowed int64) *narrow {
	t.Helper()
	signer, err := xssh.ParsePrivateKey([]byte(privateKey(t)))
	assert.NilError(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	assert.NilError(t, err)
	n := &narrow{allowed: allowed, target: remote.Target{
		Host: "127.0.0.1", Port: l.Addr().(*net.TCPAddr).Port, Keys: []xssh.Signer{signer},
		HostKeys: []string{string(xssh.MarshalAuthorizedKey(signer.PublicKey()))},
	}}
	config := &xssh.ServerConfig{NoClientAuth: true}
	config.AddHostKey(signer)
	var running sync.WaitGroup
	running.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			running.Go(func() { n.serve(conn, config) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		running.Wait()
	})
	return n
}

func (n *narrow) serve(conn net.Conn, config *xssh.ServerConfig) {
	defer func() { _ = conn.Close() }()
	_, channels, requests, err := xssh.NewServerConn(conn, config)
	if err != nil {
		return
	}
	go xssh.DiscardRequests(requests)
	for offered := range channels {
		if n.open.Add(1) > n.allowed {
			n.open.Add(-1)
			_ = offered.Reject(xssh.ConnectionFailed, "open failed")
			continue
		}
		channel, requests, err := offered.Accept()
		if err != nil {
			return
		}
		go func() {
			defer n.open.Add(-1)
			defer func() { _ = channel.Close() }()
			for r := range requests {
				n.asked.Add(1)
				_ = r.Reply(false, nil)
			}
		}()
	}
}

// here is the way to a machine that is there.
type here struct{ target remote.Target }

func (h here) Coordinates() []any { return nil }
func (h here) Check() error       { return nil }
func (h here) Find(context.Context, *task.Run) (Reached, error) {
	return Reached{Target: h.target}, nil
}

func (h here) Up(ctx context.Context, run *task.Run) (Reached, error) { return h.Find(ctx, run) }

func TestTooFewSessionsAreFoundBeforeTheLock(t *testing.T) {
	t.Parallel()
	for allowed := range int64(sessionsAtOnce + 1) {
		t.Run(strconv.FormatInt(allowed, 10), func(t *testing.T) {
			t.Parallel()
			server := startNarrow(t, allowed)
			var said strings.Builder
			c := &change{Run: &task.Run{Log: report.NewLog(report.Plain(&said)), Record: &report.Record{}}, reach: Reach{Way: here{server.target}}}
			defer c.end()
			err := classify(c.begin(t.Context()), false)
			assert.Equal(t, report.CodeOf(err), report.Refused)
			if allowed == sessionsAtOnce {
				assert.Assert(t, server.asked.Load() > 0, "enough: the lock was asked for")
				return
			}
			assert.Equal(t, server.asked.Load(), int64(0), "nothing was asked of the machine")
			assert.ErrorContains(t, err, "the server allows "+strconv.FormatInt(allowed, 10)+" at once over one connection, and 4 are needed")
			assert.Assert(t, cmp.Contains(strings.Join(report.Hints(err), " "), "set MaxSessions to 4 or more"))
		})
	}
}
