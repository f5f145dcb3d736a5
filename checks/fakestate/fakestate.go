// Package fakestate is an HTTP state backend that behaves as those do that were
// met, and fails as they do.
package fakestate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"

	"fediversity.eu/slipway/methods/tofu/backend"
	"fediversity.eu/slipway/targets/env"
)

// The ways of backends. Strict demands the lock's own id on every write. Lax binds
// nobody but LOCK. GitLab takes each serial once, answers 204 for a locked state
// without content, tells the asker's own words back in a conflict, and deletes
// nothing that is locked.
const (
	Strict = "strict"
	Lax    = "lax"
	GitLab = "gitlab"
)

// Ways lists them.
func Ways() []string { return []string{Strict, Lax, GitLab} }

// The manners of which any way may have one. An Echo answers a conflict with the asker's
// own words, id included. A Mute one answers it with none.
const (
	Echo = "echo"
	Mute = "mute"
)

// Who may use it.
const (
	User     = "user"
	Password = "the-real-password"
)

// Answer is what a fault answers with. The zero Answer cuts the connection.
type Answer struct {
	Status int
	Body   string
	Header map[string]string
	Then   func() // what happens between the deed and the answer
}

// Fault looks at the n-th request, counted from 1. It returns nil to let it pass.
// took says that the request was done although the answer says otherwise.
type Fault func(r *http.Request, n int) (answer *Answer, took bool)

// Backend is one state with its lock.
type Backend struct {
	*httptest.Server

	way string

	mu     sync.Mutex
	manner string // of conflicts
	state  []byte
	lock   *backend.LockInfo
	asked  []string
	stored []string
	fault  Fault
}

// New starts one on loopback.
func New(way string) *Backend {
	b := &Backend{way: way}
	b.Server = httptest.NewServer(b)
	return b
}

// Keys point a client at it.
func (b *Backend) Keys() backend.Keys {
	return backend.Keys{
		Address: env.URL(b.URL + "/state"), Lock: env.URL(b.URL + "/lock"), Unlock: env.URL(b.URL + "/lock"),
		Username: User, Password: env.NewSecret(Password),
		UpdateMethod: http.MethodPost, LockMethod: "LOCK", UnlockMethod: "UNLOCK",
	}
}

// Environment points a program at it.
func (b *Backend) Environment() map[string]string {
	return map[string]string{
		"TF_HTTP_ADDRESS": b.URL + "/state", "TF_HTTP_LOCK_ADDRESS": b.URL + "/lock", "TF_HTTP_UNLOCK_ADDRESS": b.URL + "/lock",
		"TF_HTTP_USERNAME": User, "TF_HTTP_PASSWORD": Password,
	}
}

// Break lets f look at every request from now on, counted anew; nil mends it.
func (b *Backend) Break(f Fault) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fault, b.asked = f, nil
}

// Set gives it a state, nil for none, and a lock, nil for none.
func (b *Backend) Set(state []byte, lock *backend.LockInfo) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.state, b.lock = state, lock
}

// State is what it has; empty is nothing.
func (b *Backend) State() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return string(b.state)
}

// Locked is the id of the lock that is held, or empty.
func (b *Backend) Locked() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.lock == nil {
		return ""
	}
	return b.lock.ID
}

// Asked lists the requests since the last Break, "METHOD /path".
func (b *Backend) Asked() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.asked)
}

// Stored lists every state that was ever taken.
func (b *Backend) Stored() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.stored)
}

// ServeHTTP answers a request, or breaks as it was told to.
func (b *Backend) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body)) // for a fault to look at
	b.mu.Lock()
	b.asked = append(b.asked, r.Method+" "+r.URL.Path)
	n, fault := len(b.asked), b.fault
	b.mu.Unlock()
	if user, password, _ := r.BasicAuth(); user != User || password != Password {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	if fault != nil {
		if answer, took := fault(r, n); answer != nil {
			if took {
				b.do(r, body)
			}
			if answer.Then != nil {
				answer.Then()
			}
			answer.write(w)
			return
		}
	}
	status, text := b.do(r, body)
	w.WriteHeader(status)
	_, _ = w.Write(text)
}

func (a *Answer) write(w http.ResponseWriter) {
	if a.Status == 0 {
		panic(http.ErrAbortHandler) // net/http cuts the connection
	}
	for name, value := range a.Header {
		w.Header().Set(name, value)
	}
	w.WriteHeader(a.Status)
	_, _ = io.WriteString(w, a.Body)
}

func (b *Backend) do(r *http.Request, body []byte) (int, []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	id := r.URL.Query().Get("ID")
	switch r.Method {
	case http.MethodGet:
		switch {
		case b.state != nil:
			return http.StatusOK, b.state
		case b.way == GitLab && b.lock != nil:
			return http.StatusNoContent, nil
		}
		return http.StatusNotFound, nil
	case http.MethodPost:
		return b.post(id, body)
	case http.MethodDelete:
		switch {
		case b.way == Strict && b.lock != nil && b.lock.ID != id:
			return b.held(body)
		case b.way == GitLab && b.lock != nil:
			return http.StatusOK, nil // and nothing is done
		}
		b.state = nil
		return http.StatusOK, nil
	case "LOCK", "UNLOCK":
		return b.bolt(r.Method, body)
	}
	return http.StatusMethodNotAllowed, nil
}

func (b *Backend) post(id string, body []byte) (int, []byte) {
	if b.way != Lax && b.lock != nil && b.lock.ID != id {
		return b.held(body)
	}
	if b.way == GitLab {
		if b.lock == nil && id != "" {
			return http.StatusConflict, []byte(`{"message":"409 Conflict"}`)
		}
		if b.state != nil && serial(b.state) >= serial(body) {
			return http.StatusUnprocessableEntity, []byte(`{"message":"serial has been taken"}`)
		}
	}
	b.state = body
	b.stored = append(b.stored, string(body))
	return http.StatusOK, nil
}

func (b *Backend) bolt(method string, body []byte) (int, []byte) {
	var asked backend.LockInfo
	if json.Unmarshal(body, &asked) != nil {
		return http.StatusBadRequest, nil
	}
	if method == "LOCK" {
		if b.lock != nil {
			return b.held(body)
		}
		b.lock = &asked
		return http.StatusOK, nil
	}
	if b.way != Lax && b.lock != nil && asked.ID != "" && b.lock.ID != asked.ID {
		return b.held(body)
	}
	b.lock = nil
	return http.StatusOK, nil
}

// held answers a conflict with the holder.
func (b *Backend) held(body []byte) (int, []byte) {
	switch b.manner {
	case Echo:
		return http.StatusLocked, body
	case Mute:
		return http.StatusLocked, nil
	}
	holder, status := *b.lock, http.StatusLocked
	if b.way == GitLab {
		var asked backend.LockInfo
		_ = json.Unmarshal(body, &asked)
		asked.ID, asked.Created, asked.Who = holder.ID, holder.Created, "gitlab-user"
		holder, status = asked, http.StatusConflict
	}
	text, _ := json.Marshal(holder)
	return status, text
}

func serial(body []byte) int {
	var s struct{ Serial int }
	_ = json.Unmarshal(body, &s)
	return s.Serial
}

// Conflicts makes it answer conflicts in a manner, or, with "", in its own way.
func (b *Backend) Conflicts(manner string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.manner = manner
}

// String says what it holds, for the log of a test.
func (b *Backend) String() string {
	return fmt.Sprintf("%s backend, lock %q, state %.400s", b.way, b.Locked(), b.State())
}
