// Package broker is the state backend that OpenTofu sees: on loopback, inside the
// program, and never without a state. It gives out the state that the program
// read and judged, and takes new versions only if they go on from it.
package broker

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"fediversity.eu/slipway/methods/tofu/backend"
	"fediversity.eu/slipway/methods/tofu/state"
)

// Taker is given every version that OpenTofu writes. When it returns nil the
// version is safe, whatever became of it beyond.
type Taker func(ctx context.Context, s *state.State) error

// Broker serves one state.
type Broker struct {
	server   *http.Server
	address  string
	user     string
	password string
	take     Taker
	log      func(format string, args ...any)

	mu      sync.Mutex
	current *state.State
	asleep  bool // says "none", for the one command that makes a state
	closed  bool
}

// Open serves s, which is nil for a broker that is to be given its first state.
// Without take it is read-only.
func Open(s *state.State, take Taker, log func(format string, args ...any)) (*Broker, error) {
	// Port 0, so that the kernel finds one that is free.
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("serve the state to OpenTofu: %w", err)
	}
	b := &Broker{
		address: "http://" + listener.Addr().String() + "/state", user: "slipway", password: word(),
		take: take, log: log, current: s, asleep: s == nil,
	}
	b.server = &http.Server{
		Handler: b, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 5 * time.Minute,
		WriteTimeout: 5 * time.Minute, IdleTimeout: time.Minute, MaxHeaderBytes: 64 << 10,
	}
	go func() { _ = b.server.Serve(listener) }()
	return b, nil
}

// Close ends it, once a version that is being written is safe: a tofu that was
// killed may have left one on its way. Nothing is taken afterwards.
func (b *Broker) Close() {
	_ = b.server.Close()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
}

// Environment is what makes OpenTofu use the broker: no lock addresses, since the
// program holds the real lock, and never the real password, since OpenTofu hands
// its environment on to whatever it runs.
func (b *Broker) Environment() map[string]string {
	return map[string]string{
		"TF_HTTP_ADDRESS": b.address, "TF_HTTP_USERNAME": b.user, "TF_HTTP_PASSWORD": b.password, "TF_HTTP_RETRY_MAX": "1",
	}
}

// State is the newest version.
func (b *Broker) State() *state.State {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.current
}

// refusal is an error with the status that OpenTofu is to see.
type refusal struct {
	status int
	err    error
}

func (r *refusal) Error() string { return r.err.Error() }

func refuse(status int, format string, args ...any) error {
	return &refusal{status, fmt.Errorf(format, args...)}
}

// ServeHTTP answers OpenTofu.
func (b *Broker) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := b.answer(r)
	if err != nil {
		status := http.StatusInternalServerError
		if known, ok := errors.AsType[*refusal](err); ok {
			status = known.status
		}
		b.log("broker: %s: %d, %v", r.Method, status, err)
		http.Error(w, err.Error(), status)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(body)
}

func (b *Broker) answer(r *http.Request) ([]byte, error) {
	user, password, _ := r.BasicAuth()
	if user != b.user || subtle.ConstantTimeCompare([]byte(password), []byte(b.password)) != 1 {
		return nil, refuse(http.StatusUnauthorized, "this state is served to one OpenTofu alone")
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	switch r.Method {
	case http.MethodGet:
		if b.asleep {
			return nil, refuse(http.StatusNotFound, "there is no state yet")
		}
		return b.current.Raw, nil
	case http.MethodPost:
		raw, err := io.ReadAll(io.LimitReader(r.Body, backend.Largest+1))
		if err != nil {
			return nil, err
		}
		if len(raw) > backend.Largest { // nobody could read it back
			return nil, refuse(http.StatusRequestEntityTooLarge, "the state has more than %d MiB, the most that is stored", backend.Largest>>20)
		}
		return nil, b.write(r.Context(), raw)
	default:
		return nil, refuse(http.StatusMethodNotAllowed, "%s is not for OpenTofu to ask", r.Method)
	}
}

// write takes a version that goes on from the present one.
func (b *Broker) write(ctx context.Context, raw []byte) error {
	switch {
	case b.take == nil:
		return refuse(http.StatusForbidden, "this run only reads the state")
	case b.closed:
		return refuse(http.StatusServiceUnavailable, "this run has ended")
	}
	s, err := state.Parse(raw)
	if err != nil {
		return refuse(http.StatusConflict, "OpenTofu wrote what is no state: %w", err)
	}
	if !b.asleep {
		switch {
		case s.Lineage != b.current.Lineage:
			return refuse(http.StatusConflict, "OpenTofu wrote lineage %s over %s", s.Lineage, b.current.Lineage)
		case s.Serial == b.current.Serial && state.Equal(s.Raw, b.current.Raw):
			return nil // a second try after an answer that was lost
		case s.Serial <= b.current.Serial:
			return refuse(http.StatusConflict, "OpenTofu wrote serial %d over %d", s.Serial, b.current.Serial)
		}
	}
	// It must end: the connection of a tofu that is told to stop does not count.
	if err := b.take(context.WithoutCancel(ctx), s); err != nil {
		return err
	}
	b.current, b.asleep = s, false
	return nil
}

func word() string {
	random := make([]byte, 16)
	_, _ = rand.Read(random) // never fails (crypto/rand)
	return hex.EncodeToString(random)
}
