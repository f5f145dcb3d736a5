//go:build checks

package checks

import (
	"bufio"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/internal/child"
	"fediversity.eu/slipway/internal/toolchain"
	"fediversity.eu/slipway/methods/statebackend"
	"fediversity.eu/slipway/methods/statebackend/protocol"
	"fediversity.eu/slipway/targets/env"
)

const (
	stateUser     = "deployer"
	statePassword = "correct horse battery"
	stateLineage  = "77777777-1111-4222-8333-444455556666"
	serverLimit   = time.Minute // to start
)

// server is a state backend as a process of its own.
type server struct {
	t       *testing.T
	base    string
	signals chan syscall.Signal
	ended   chan struct{} // closed when it has
	err     error         // how
}

// buildServer builds the program that serves states.
func buildServer(t *testing.T) string {
	t.Helper()
	_, tools, _ := given(t)
	module, err := toolchain.Module()
	assert.NilError(t, err)
	path := filepath.Join(t.TempDir(), "stateserver")
	assert.NilError(t, tools.Go(env.Process(), module, nil, "build", "-o", path, "./checks/stateserver").Run(t.Context()))
	return path
}

// anyPort lets a server choose where it listens.
const anyPort = "127.0.0.1:0"

// startServer starts a state backend, which is killed at the end of the test at the
// latest. argv is the server, or a program that runs it.
func startServer(t *testing.T, dir, listen string, argv ...string) *server {
	t.Helper()
	reader, writer := io.Pipe()
	s := &server{t: t, signals: make(chan syscall.Signal, 3), ended: make(chan struct{})}
	t.Cleanup(func() {
		s.strike()
		<-s.ended
	})
	go func() {
		defer close(s.ended)
		s.err = child.Command{
			Path: argv[0], Args: argv[1:], Stdout: writer, Stderr: io.Discard, Signals: s.signals,
			Env: []string{
				"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "STATE_DIR=" + dir, "STATE_LISTEN=" + listen,
				"STATE_USER=" + stateUser, "STATE_PASSWORD=" + statePassword,
			},
		}.Run(context.WithoutCancel(t.Context()))
		_ = writer.CloseWithError(errors.Join(errors.New("the server ended"), s.err))
	}()
	late := time.AfterFunc(serverLimit, func() { _ = writer.CloseWithError(errors.New("the server did not start in a minute")) })
	defer late.Stop()
	line, err := bufio.NewReader(reader).ReadString('\n')
	assert.NilError(t, err)
	s.base = strings.TrimSpace(line)
	return s
}

// strike kills the server without a look back; once is enough.
func (s *server) strike() {
	select {
	case s.signals <- syscall.SIGKILL:
	default: // it is on its way
	}
}

// kill kills the server and waits until it is gone.
func (s *server) kill() {
	s.t.Helper()
	s.strike()
	<-s.ended
	var failure *child.Error
	assert.Assert(s.t, errors.As(s.err, &failure))
}

func (s *server) backend(name string) protocol.Backend {
	address := s.base + name
	return protocol.Backend{
		URL: address, LockURL: address, LockMethod: "LOCK", UnlockURL: address, UnlockMethod: "UNLOCK",
		User: stateUser, Password: statePassword,
	}
}

// TestStateBackendKilled kills a state backend again and again while a client
// writes. What was acknowledged must be there ever after, and what was not may or
// may not, but whole.
func TestStateBackendKilled(t *testing.T) {
	const kills, most = 200, 3000
	kinds := []string{"post", "lock", "unlock"}
	dir, program := filepath.Join(t.TempDir(), "states"), buildServer(t)
	w := &writer{t: t, sent: map[string]bool{}, cut: map[string]int{}, took: map[string]time.Duration{}}
	n := 0
	// Whether a request is cut short is chance; that each kind was, once, is not.
	for ; n < kills || n < most && slices.ContainsFunc(kinds, func(what string) bool { return w.cut[what] == 0 }); n++ {
		s := startServer(t, dir, anyPort, program)
		w.b = s.backend("web")
		w.verify()
		reads := make(chan int)
		go func() { reads <- w.read(w.b) }()
		w.aim, w.strike = kinds[n%len(kinds)], s.strike
		w.work()
		s.kill()
		w.reads += <-reads
		if t.Failed() {
			return
		}
	}
	w.b = startServer(t, dir, anyPort, program).backend("web")
	w.verify()
	t.Logf("%d kills: %d states and %d locks acknowledged, %d reads; cut short: %v", n, w.serial, w.locks, w.reads, w.cut)
	for _, what := range kinds {
		assert.Check(t, w.cut[what] > 0, "no %s was cut short, so this showed nothing about it", what)
	}

	// A write that is not cut short also removes what those before it had no time to.
	lock := ""
	if w.held {
		lock = w.lock.ID
	}
	last := protocol.State(stateLineage, w.serial+1, 1)
	w.sent[last] = true
	assert.Equal(t, w.b.Post(t.Context(), last, lock).Status, http.StatusOK)
	entries, err := os.ReadDir(filepath.Join(dir, "web"))
	assert.NilError(t, err)
	versions := 0
	for _, entry := range entries {
		if !strings.HasSuffix(entry.Name(), ".tfstate") {
			assert.Check(t, entry.Name() == "lock.json", "%s is left", entry.Name())
			continue
		}
		versions++
		text, err := os.ReadFile(filepath.Join(dir, "web", entry.Name()))
		assert.NilError(t, err)
		assert.Check(t, w.sent[string(text)], "%s is not what was sent", entry.Name())
	}
	assert.Equal(t, versions, statebackend.DefaultKeep)
}

// writer is a client that knows what it was promised.
type writer struct {
	t *testing.T
	b protocol.Backend

	serial  int    // of the last state that was acknowledged
	state   string // that state
	pending string // a state that was sent and not answered
	lock    protocol.Lock
	held    bool   // lock is ours for sure
	unsure  string // "lock" or "unlock": was sent and not answered

	mu   sync.Mutex
	sent map[string]bool // every state

	locks, reads int
	cut          map[string]int // requests without an answer

	aim    string                   // the kind of request to be cut short
	strike func()                   // kills the server
	took   map[string]time.Duration // the last request of each kind
}

// verify compares what a new server has with what the last one promised.
func (w *writer) verify() {
	w.t.Helper()
	ctx := w.t.Context()
	got := w.b.Get(ctx)
	switch {
	case got.Status == http.StatusOK && w.pending != "" && got.Body == w.pending:
		w.serial, w.state = w.serial+1, w.pending
	case got.Status == http.StatusNotFound:
		assert.Equal(w.t, w.serial, 0, "serial %d was acknowledged and is lost", w.serial)
	default:
		assert.Equal(w.t, got.Status, http.StatusOK, "%s", got)
		assert.Assert(w.t, got.Body == w.state, "serial %d was acknowledged, and there is %s", w.serial, got)
	}
	w.pending = ""

	stranger := protocol.NewLock("plan")
	switch got := w.b.Lock(ctx, stranger); got.Status {
	case http.StatusOK:
		assert.Assert(w.t, !w.held || w.unsure == "unlock", "the lock %s was acknowledged and is lost", w.lock.ID)
		assert.Equal(w.t, w.b.Unlock(ctx, stranger).Status, http.StatusOK)
		w.held = false
	case http.StatusLocked:
		assert.Assert(w.t, w.held || w.unsure == "lock", "the lock was given back, and is held: %s", got)
		assert.Assert(w.t, strings.Contains(got.Body, w.lock.ID), "%s", got)
		w.held = true
	default:
		w.t.Fatalf("%s", got)
	}
	w.unsure = ""
}

// cutting sends a request. Of the kind that is aimed at, one in three is about to be
// cut short, at any moment of it: as long as the last of its kind took, this host has
// just shown.
func (w *writer) cutting(what string, send func() protocol.Answer) bool {
	if what == w.aim && rand.N(3) == 0 {
		defer time.AfterFunc(rand.N(w.took[what]+time.Millisecond), w.strike).Stop()
	}
	began := time.Now()
	answer := send()
	w.took[what] = time.Since(began)
	return w.answered(what, answer)
}

// work locks, writes and unlocks until an answer stays out.
func (w *writer) work() {
	ctx := w.t.Context()
	for {
		if !w.held {
			w.lock, w.unsure = protocol.NewLock("apply"), "lock"
			if !w.cutting("lock", func() protocol.Answer { return w.b.Lock(ctx, w.lock) }) {
				return
			}
			w.held, w.locks = true, w.locks+1
		}
		for range 1 + rand.N(3) {
			w.pending = protocol.State(stateLineage, w.serial+1, 1+rand.N(400))
			w.mu.Lock()
			w.sent[w.pending] = true
			w.mu.Unlock()
			if !w.cutting("post", func() protocol.Answer { return w.b.Post(ctx, w.pending, w.lock.ID) }) {
				return
			}
			w.serial, w.state, w.pending = w.serial+1, w.pending, ""
		}
		w.unsure = "unlock"
		if !w.cutting("unlock", func() protocol.Answer { return w.b.Unlock(ctx, w.lock) }) {
			return
		}
		w.held = false
	}
}

// answered tells whether a request was. Any answer but yes is a fault.
func (w *writer) answered(what string, a protocol.Answer) bool {
	if a.Err != nil && a.Status == 0 {
		w.cut[what]++
		return false
	}
	w.unsure = ""
	if a.Status != http.StatusOK {
		w.t.Errorf("%s: %s", what, a)
		return false
	}
	return true
}

// read reads until an answer stays out, and counts the states that it got.
func (w *writer) read(b protocol.Backend) int {
	for n := 0; ; n++ {
		got := b.Get(w.t.Context())
		if got.Err != nil {
			return n
		}
		w.mu.Lock()
		whole := w.sent[got.Body] || got.Status == http.StatusNotFound
		w.mu.Unlock()
		if !whole {
			w.t.Errorf("a torn state was served: %s", got)
			return n
		}
	}
}
