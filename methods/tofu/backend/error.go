package backend

import (
	"context"
	"crypto/md5" //nolint:gosec // Content-MD5 is what the protocol has
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"unicode"
)

// UnreachableError is a backend that gave no answer.
type UnreachableError struct {
	Method string
	Host   string
	Err    error
}

// Error names the host and the cause, without the address: it may hold a token.
func (e *UnreachableError) Error() string {
	return fmt.Sprintf("%s to %s: %v", e.Method, e.Host, e.Err)
}

// Unwrap gives the cause.
func (e *UnreachableError) Unwrap() error { return e.Err }

// InsecureError is a backend that is there, and with which no connection can be made
// that both ends trust.
type InsecureError struct {
	Host string
	Err  error
}

// Error names the host and the cause.
func (e *InsecureError) Error() string { return fmt.Sprintf("connect to %s: %v", e.Host, e.Err) }

// Unwrap gives the cause.
func (e *InsecureError) Unwrap() error { return e.Err }

// Hint says what the cause usually means.
func (e *InsecureError) Hint() string {
	switch {
	case errors.Is(e.Err, http.ErrSchemeMismatch):
		return "it speaks HTTP without TLS: its address begins with http://"
	case alerted(e.Err):
		return "it wants another certificate of us, or none: TF_HTTP_CLIENT_CERTIFICATE_PEM and TF_HTTP_CLIENT_PRIVATE_KEY_PEM"
	}
	return "if its certificate is right, TF_HTTP_CLIENT_CA_CERTIFICATE_PEM must hold the authority that signed it"
}

func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// alerted tells whether the other end broke off for what TLS told it of us.
func alerted(err error) bool {
	failed, ok := errors.AsType[*net.OpError](err)
	return ok && failed.Op == "remote error"
}

// insecure tells whether another try would be in vain.
func insecure(err error) bool {
	return is[*tls.CertificateVerificationError](err) || alerted(err) || is[tls.RecordHeaderError](err) || errors.Is(err, http.ErrSchemeMismatch)
}

// StatusError is an answer that the protocol does not have.
type StatusError struct {
	Method string
	Status int
	Said   string // the first words of its body
}

// Error is the method, the status, and what the backend said to it.
func (e *StatusError) Error() string {
	text := fmt.Sprintf("the state backend answered %s with %d %s", e.Method, e.Status, http.StatusText(e.Status))
	if e.Said != "" {
		text += fmt.Sprintf(" (%s)", e.Said)
	}
	return text
}

// Hint says what the status usually means.
func (e *StatusError) Hint() string {
	switch e.Status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return "TF_HTTP_USERNAME and TF_HTTP_PASSWORD must be those of a user who may read, write and lock this state"
	case http.StatusRequestEntityTooLarge:
		return "the backend, or a proxy before it, limits the size of a request: raise that limit"
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented:
		return "the addresses TF_HTTP_ADDRESS, TF_HTTP_LOCK_ADDRESS and TF_HTTP_UNLOCK_ADDRESS must be those of a state backend that locks"
	}
	if e.Status >= 300 && e.Status < 400 {
		return "the backend sends elsewhere, perhaps to a page to sign in on; redirects are not followed"
	}
	return "the state backend's own log says more"
}

// Unreached tells whether the backend is not there, as opposed to being there and
// refusing: no answer, or a proxy that found nobody behind it.
func Unreached(err error) bool {
	var none *UnreachableError
	var status *StatusError
	return errors.As(err, &none) ||
		errors.As(err, &status) && nobody(status.Status)
}

// nobody reports whether a proxy says by a status that it found nobody behind it.
func nobody(status int) bool {
	return status == http.StatusBadGateway || status == http.StatusServiceUnavailable || status == http.StatusGatewayTimeout
}

func (c *Client) unreached(ctx context.Context, r request, address *url.URL, err error) error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err // the wrapper repeats the whole address
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if insecure(err) {
		return &InsecureError{Host: address.Host, Err: err}
	}
	c.log("%s %s: %v", r.method, address.Path, err)
	return &UnreachableError{Method: r.method, Host: address.Host, Err: err}
}

func (a *answer) failed(method string) error {
	return &StatusError{Method: method, Status: a.status, Said: words(a.body)}
}

// words are the first printable ones of a body: enough to know a proxy's page by.
func words(body []byte) string {
	const most = 120
	text := strings.Join(strings.FieldsFunc(strings.ToValidUTF8(string(body[:min(len(body), 4*most)]), ""), func(r rune) bool {
		return unicode.IsSpace(r) || !unicode.IsPrint(r)
	}), " ")
	if len([]rune(text)) > most {
		text = string([]rune(text)[:most]) + "…"
	}
	return text
}

func sum(body []byte) string {
	digest := md5.Sum(body) //nolint:gosec // as above
	return base64.StdEncoding.EncodeToString(digest[:])
}
