package remote

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/poll"
)

// relay is the network between us and a server: it can be cut, and it can go
// silent without a word to either side.
type relay struct {
	port int

	mu     sync.Mutex
	thaw   *sync.Cond
	frozen bool
	conns  []net.Conn
}

func startRelay(t *testing.T, to string) *relay {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	assert.NilError(t, err)
	r := &relay{port: l.Addr().(*net.TCPAddr).Port}
	r.thaw = sync.NewCond(&r.mu)
	var running sync.WaitGroup
	running.Go(func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", to)
			if err != nil {
				_ = near.Close()
				continue
			}
			r.mu.Lock()
			r.conns = append(r.conns, near, far)
			r.mu.Unlock()
			running.Go(func() { r.pass(near, far) })
			running.Go(func() { r.pass(far, near) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		r.freeze(false)
		r.cut()
		running.Wait()
	})
	return r
}

func (r *relay) pass(to, from net.Conn) {
	defer func() { _ = to.Close() }()
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		r.mu.Lock()
		for r.frozen {
			r.thaw.Wait()
		}
		r.mu.Unlock()
		if n > 0 {
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

func (r *relay) freeze(on bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.frozen = on
	r.thaw.Broadcast()
}

func (r *relay) cut() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.conns {
		_ = c.Close()
	}
	r.conns = nil
}

// over is the target reached through the relay.
func (r *relay) over(t Target) Target {
	t.Host, t.Port = "127.0.0.1", r.port
	return t
}

// processes counts those whose command line holds the text, here and in the
// namespaces of our servers.
func processes(text string) int {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	n := 0
	for _, file := range files {
		if line, err := os.ReadFile(file); err == nil && strings.Contains(strings.ReplaceAll(string(line), "\x00", " "), text) {
			n++
		}
	}
	return n
}

// await waits until as many processes with the text run as wanted.
func await(t *testing.T, text string, want int, limit time.Duration) {
	t.Helper()
	poll.WaitOn(t, func(poll.LogT) poll.Result {
		if n := processes(text); n != want {
			return poll.Continue("%d processes with %q, want %d", n, text, want)
		}
		return poll.Success()
	}, poll.WithTimeout(limit), poll.WithDelay(20*time.Millisecond))
}

// endless is an input that never ends.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

func uniqueSleep() string { return fmt.Sprintf("sleep 3600.%09d", time.Now().UnixNano()%1e9) }

// goroutines counts those that run product code of this package or of the ssh
// library.
func goroutines() int {
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	n := 0
	for stack := range strings.SplitSeq(string(stacks), "\n\n") {
		if !strings.Contains(stack, "_test.go") && (strings.Contains(stack, "methods/remote.") || strings.Contains(stack, "crypto/ssh.")) {
			n++
		}
	}
	return n
}
