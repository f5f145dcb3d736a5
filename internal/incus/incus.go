// Package incus speaks with an Incus server over its REST interface: as much of it
// as deploying takes (Incus documentation, "REST API"). The server is known by its
// certificate, we by ours; nothing is read from the configuration of a person.
package incus

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Client speaks with one server, as one client certificate.
type Client struct {
	remote Remote
	http   *http.Client
	base   string // "https://host:8443"
}

// Limits of one request. An upload as a whole has none but that of its context, since
// images are large and lines are slow; one that stands has idleLimit.
const (
	dialLimit   = 20 * time.Second
	answerLimit = 30 * time.Second
	largest     = 64 << 20
)

// New makes a client. It connects with the first request.
func New(r Remote) *Client {
	return &Client{
		remote: r, base: strings.TrimRight(r.Address, "/"),
		http: &http.Client{
			Transport: &http.Transport{
				TLSClientConfig: r.tls(), Proxy: nil, TLSHandshakeTimeout: dialLimit,
			},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// Close ends idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// StatusError is an answer that says no.
type StatusError struct {
	Method, Path string
	Status       int // of HTTP
	Text         string
}

// Error says what was asked and what was answered.
func (e *StatusError) Error() string {
	return fmt.Sprintf("%s %s: %s (%d)", e.Method, e.Path, e.Text, e.Status)
}

// Absent tells whether the server has no such thing, or lets nobody see it who
// asks with our certificate: it makes no difference between the two.
func Absent(err error) bool { return is(err, http.StatusNotFound) }

// Forbidden tells whether the server knows us and does not let us.
func Forbidden(err error) bool { return is(err, http.StatusForbidden) }

func is(err error, status int) bool {
	e, ok := errors.AsType[*StatusError](err)
	return ok && e.Status == status
}

// answer is what the server wraps every answer in.
type answer struct {
	Type      string          `json:"type"`
	Operation string          `json:"operation"`
	Error     string          `json:"error"`
	Metadata  json.RawMessage `json:"metadata"`
}

// Query is what stands behind a path; a project is named there.
type Query map[string]string

// path composes a path from its parts, which may hold anything.
func path(query Query, parts ...string) string {
	escaped := make([]string, len(parts))
	for i, part := range parts {
		escaped[i] = url.PathEscape(part)
	}
	text := "/1.0"
	if len(escaped) > 0 {
		text += "/" + strings.Join(escaped, "/")
	}
	values := url.Values{}
	for name, value := range query {
		if value != "" {
			values.Set(name, value)
		}
	}
	if len(values) > 0 {
		text += "?" + values.Encode()
	}
	return text
}

// request makes a request of this server's.
func (c *Client) request(ctx context.Context, method, path string, body io.Reader) (*http.Request, error) {
	q, err := http.NewRequestWithContext(ctx, method, c.base+path, body)
	if err != nil {
		return nil, err
	}
	q.Header.Set("User-Agent", "slipway")
	return q, nil
}

// do sends a request and reads the answer. What the server goes on doing is
// waited for.
func (c *Client) do(ctx context.Context, q *http.Request, into any) error {
	r, err := c.http.Do(q)
	if err != nil {
		return plain(err)
	}
	defer func() { _ = r.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(r.Body, largest))
	if err != nil {
		return fmt.Errorf("%s %s: %w", q.Method, q.URL.Path, err)
	}
	var a answer
	if err := json.Unmarshal(text, &a); err != nil {
		return &StatusError{q.Method, q.URL.Path, r.StatusCode, "no answer of Incus's"}
	}
	if r.StatusCode >= http.StatusBadRequest || a.Type == "error" {
		return &StatusError{q.Method, q.URL.Path, r.StatusCode, a.Error}
	}
	if a.Type == "async" {
		return c.wait(ctx, a.Operation, into)
	}
	if into == nil || len(a.Metadata) == 0 {
		return nil
	}
	return json.Unmarshal(a.Metadata, into)
}

// plain leaves out the address that net/http puts before its errors.
func plain(err error) error {
	if outer, ok := errors.AsType[*url.Error](err); ok {
		err = outer.Err
	}
	if unknown, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		err = unknown.Err
	}
	return err
}

// call sends JSON, or nothing, and reads JSON.
func (c *Client) call(ctx context.Context, method, path string, body, into any) error {
	answering, cancel := context.WithTimeoutCause(ctx, answerLimit, errors.New("the server took too long to answer"))
	defer cancel()
	var text io.Reader
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			return err
		}
		text = bytes.NewReader(encoded)
	}
	q, err := c.request(answering, method, path, text)
	if err != nil {
		return err
	}
	return c.do(ctx, q, into)
}

// operationLimit is how long something may take that the server does by itself.
const operationLimit = 15 * time.Minute

// errForgotten is an operation that nobody can tell the outcome of: the server forgets
// one five seconds after its end, and whoever asks later has to look for himself.
var errForgotten = errors.New("the server has forgotten how the operation ended")

// wait waits for an operation. What it made is in its metadata.
func (c *Client) wait(ctx context.Context, operation string, into any) error {
	ctx, cancel := context.WithTimeoutCause(ctx, operationLimit, errors.New("the operation took too long"))
	defer cancel()
	q, err := c.request(ctx, http.MethodGet, operation+"/wait", nil)
	if err != nil {
		return err
	}
	var o struct {
		StatusCode int             `json:"status_code"`
		Err        string          `json:"err"`
		Metadata   json.RawMessage `json:"metadata"`
	}
	if err := c.do(ctx, q, &o); err != nil {
		if Absent(err) {
			return errForgotten
		}
		return err
	}
	if o.StatusCode != http.StatusOK {
		return &StatusError{http.MethodGet, operation, o.StatusCode, o.Err}
	}
	if into == nil || len(o.Metadata) == 0 {
		return nil
	}
	return json.Unmarshal(o.Metadata, into)
}
