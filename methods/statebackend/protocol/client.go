package protocol

import (
	"context"
	"crypto/md5"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
)

// Backend is how a client reaches one state: what OpenTofu calls address,
// lock_address, lock_method, unlock_address, unlock_method, username, password.
type Backend struct {
	URL                     string
	LockURL, LockMethod     string
	UnlockURL, UnlockMethod string
	User, Password          string
	Client                  *http.Client // nil means one that follows no redirects
}

// Lock is what OpenTofu says of a lock.
type Lock struct {
	ID, Operation, Info, Who, Version, Created, Path string
}

// NewLock makes a lock as OpenTofu does for an operation: "plan", "apply".
func NewLock(operation string) Lock {
	return Lock{
		ID: strings.ToLower(rand.Text()), Operation: "OperationType" + strings.ToUpper(operation[:1]) + operation[1:], Who: "somebody@" + operation,
		Version: "1.12.6", Created: time.Now().UTC().Format(time.RFC3339Nano),
	}
}

func (l Lock) body() string {
	text, err := json.Marshal(l)
	if err != nil {
		panic(err) // seven strings
	}
	return string(text)
}

// Answer is what came back.
type Answer struct {
	Status int
	Header http.Header
	Body   string
	Err    error // no answer came, or not whole

	sent string
}

// String shows an answer in a failed test.
func (a Answer) String() string {
	if a.Err != nil {
		return a.Err.Error()
	}
	return fmt.Sprintf("%d %.200q", a.Status, a.Body)
}

// holder reads who holds the lock.
func (a Answer) holder(t *testing.T) Lock {
	t.Helper()
	var l Lock
	assert.NilError(t, json.Unmarshal([]byte(a.Body), &l), "%s", a)
	return l
}

// Get reads the state.
func (b Backend) Get(ctx context.Context) Answer {
	return b.send(ctx, http.MethodGet, b.URL, "")
}

// Post writes the state, with the ID of a lock unless that is empty.
func (b Backend) Post(ctx context.Context, state, lock string) Answer {
	return b.send(ctx, http.MethodPost, withID(b.URL, lock), state)
}

// Delete deletes the state, with the ID of a lock unless that is empty.
func (b Backend) Delete(ctx context.Context, lock string) Answer {
	return b.send(ctx, http.MethodDelete, withID(b.URL, lock), "")
}

// Lock takes the lock.
func (b Backend) Lock(ctx context.Context, l Lock) Answer {
	return b.send(ctx, b.LockMethod, b.LockURL, l.body())
}

// Unlock gives the lock back.
func (b Backend) Unlock(ctx context.Context, l Lock) Answer {
	return b.send(ctx, b.UnlockMethod, b.UnlockURL, l.body())
}

func withID(address, id string) string {
	if id == "" {
		return address
	}
	return address + "?" + url.Values{"ID": {id}}.Encode()
}

// requestLimit is how long a request may take.
const requestLimit = 30 * time.Second

func (b Backend) send(ctx context.Context, method, address, body string) Answer {
	ctx, cancel := context.WithTimeoutCause(ctx, requestLimit, fmt.Errorf("no answer to %s in %s", method, requestLimit))
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(body))
	if err != nil {
		return Answer{Err: err}
	}
	if body != "" {
		sum := md5.Sum([]byte(body))
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Content-MD5", base64.StdEncoding.EncodeToString(sum[:]))
	}
	if b.User != "" {
		request.SetBasicAuth(b.User, b.Password)
	}
	client := b.Client
	if client == nil {
		client = noRedirects
	}
	response, err := client.Do(request)
	if err != nil {
		return Answer{Err: err}
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	return Answer{response.StatusCode, response.Header, string(text), err, body}
}

// noRedirects hands redirects to the test, in which they are faults.
var noRedirects = &http.Client{
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}
