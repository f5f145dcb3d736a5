// Package backend is our own client of the caller's HTTP state backend.
//
// OpenTofu's client takes several failures for success: it follows a redirect to
// a login page, waits without end, meets its own lock and gives up. This one
// bounds every try, follows nothing, and believes a write only when it has read
// it back.
package backend

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"sync/atomic"
	"time"

	"fediversity.eu/slipway/targets/env"
)

// Keys are those of OpenTofu's http backend, by its own names. Both lock
// addresses are required: with one of them missing OpenTofu locks nothing, and
// says nothing.
type Keys struct {
	Address  env.URL    `env:"TF_HTTP_ADDRESS,required" scope:"machine" desc:"address of the state in the state backend"`
	Lock     env.URL    `env:"TF_HTTP_LOCK_ADDRESS,required" scope:"machine" desc:"address of the state's lock"`
	Unlock   env.URL    `env:"TF_HTTP_UNLOCK_ADDRESS,required" scope:"machine" desc:"address that gives the lock back"`
	Username string     `env:"TF_HTTP_USERNAME" desc:"user of the state backend"`
	Password env.Secret `env:"TF_HTTP_PASSWORD" desc:"password of the state backend"`

	UpdateMethod string `env:"TF_HTTP_UPDATE_METHOD,default=POST" desc:"HTTP method that writes the state"`
	LockMethod   string `env:"TF_HTTP_LOCK_METHOD,default=LOCK" desc:"HTTP method that takes the lock"`
	UnlockMethod string `env:"TF_HTTP_UNLOCK_METHOD,default=UNLOCK" desc:"HTTP method that gives the lock back"`

	Authority   env.Text   `env:"TF_HTTP_CLIENT_CA_CERTIFICATE_PEM" desc:"certificate authorities of the state backend, in PEM, instead of this host's"`
	Certificate env.Text   `env:"TF_HTTP_CLIENT_CERTIFICATE_PEM" desc:"certificate that we show the state backend, in PEM"`
	Key         env.Secret `env:"TF_HTTP_CLIENT_PRIVATE_KEY_PEM" desc:"private key of TF_HTTP_CLIENT_CERTIFICATE_PEM, in PEM" lines:"several"`
}

// Check gives all that is wrong with what the keys hold, before anything is asked.
func (k Keys) Check() error {
	_, err := k.settings()
	return err
}

// settings are those of TLS.
func (k Keys) settings() (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	var faults []error
	if k.Authority != "" {
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM([]byte(k.Authority)) {
			faults = append(faults, errors.New("TF_HTTP_CLIENT_CA_CERTIFICATE_PEM holds no certificate"))
		}
	}
	switch {
	case (k.Certificate != "") != k.Key.IsSet():
		faults = append(faults, errors.New("TF_HTTP_CLIENT_CERTIFICATE_PEM and TF_HTTP_CLIENT_PRIVATE_KEY_PEM belong together, and only one of them is given"))
	case k.Certificate != "":
		pair, err := tls.X509KeyPair([]byte(k.Certificate), []byte(k.Key.Reveal()))
		if err != nil {
			faults = append(faults, fmt.Errorf("TF_HTTP_CLIENT_CERTIFICATE_PEM and its key: %w", err))
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, errors.Join(faults...)
}

// Client speaks with one state backend.
type Client struct {
	keys Keys
	http *http.Client
	log  func(format string, args ...any)
	pace Pace
	most int64 // bytes of an answer

	reached atomic.Bool
}

// Pace is how patient a client is.
type Pace struct {
	Try    time.Duration   // one request with its answer
	Pauses []time.Duration // between tries
	Lag    []time.Duration // between looks for what was written: a backend of several machines may give the version before
}

// Patient is the pace of a run: a backend that restarts is worth some seconds.
var Patient = Pace{
	Try:    20 * time.Second,
	Pauses: []time.Duration{500 * time.Millisecond, 2 * time.Second, 5 * time.Second},
	Lag:    []time.Duration{200 * time.Millisecond, time.Second, 2 * time.Second},
}

// Largest bounds a state, in bytes: what is read and what is written alike. States of
// some hundred megabytes exist.
const Largest = 512 << 20

// TooLargeError is an answer of more than Largest bytes.
type TooLargeError struct{ Method, Path string }

// Error says how much is read.
func (e *TooLargeError) Error() string {
	return fmt.Sprintf("the state backend answered %s %s with more than %d MiB, the most that is read", e.Method, e.Path, Largest>>20)
}

// New makes a client. log gets a line for a request that failed or took its time:
// method, path, status, time.
func New(k Keys, pace Pace, log func(format string, args ...any)) (*Client, error) {
	settings, err := k.settings()
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{
		TLSClientConfig: settings, Proxy: nil,
		TLSHandshakeTimeout: pace.Try, DisableCompression: true,
	}
	if log == nil {
		log = func(string, ...any) {}
	}
	return &Client{
		keys: k, log: log, pace: pace, most: Largest,
		http: &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}, nil
}

// Reached reports whether the backend has answered this client at all: then it is there,
// whatever becomes of later requests.
func (c *Client) Reached() bool { return c.reached.Load() }

// Close lets go of connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// request is one exchange that may be tried several times.
type request struct {
	method  string
	address env.URL
	lock    string // the id of the lock that allows it; empty without
	body    []byte
	once    bool
	// again is asked before every further try what to send; errDone is that there is
	// nothing left to do.
	again func(context.Context) (body []byte, err error)
}

var errDone = errors.New("it is done")

// answer is what came back.
type answer struct {
	status int
	body   []byte
	tries  int // how many requests it took
}

// do tries a request until it is answered with something else than "try later".
// One that changes something is not let go of when ctx ends: it could be done
// after we have looked what became of it.
func (c *Client) do(ctx context.Context, r request) (*answer, error) {
	within := ctx
	if r.method != http.MethodGet {
		within = context.WithoutCancel(ctx)
	}
	for n := 0; ; n++ {
		if n > 0 && r.again != nil {
			body, err := r.again(within)
			if err != nil {
				return nil, err
			}
			r.body = body
		}
		got, after, err := c.exchange(within, r)
		if err == nil && !later(got.status) {
			got.tries = n + 1
			return got, nil
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if r.once || n >= len(c.pace.Pauses) || is[*InsecureError](err) || is[*TooLargeError](err) {
			return got, err
		}
		pause := time.NewTimer(max(c.pace.Pauses[n], min(after, 10*time.Second)))
		select {
		case <-ctx.Done():
			pause.Stop()
			return nil, context.Cause(ctx)
		case <-pause.C:
		}
	}
}

// later are the answers that another try may mend.
func later(status int) bool {
	return status == http.StatusTooManyRequests || status >= 500 && status != http.StatusNotImplemented
}

func (c *Client) exchange(ctx context.Context, r request) (*answer, time.Duration, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.pace.Try, fmt.Errorf("no answer within %s", c.pace.Try))
	defer cancel()
	address, err := url.Parse(string(r.address))
	if err != nil {
		return nil, 0, err
	}
	if r.lock != "" {
		query := address.Query()
		query.Set("ID", r.lock)
		address.RawQuery = query.Encode()
	}
	asked, err := http.NewRequestWithContext(ctx, r.method, address.String(), bytes.NewReader(r.body))
	if err != nil {
		return nil, 0, err
	}
	if len(r.body) > 0 {
		asked.Header.Set("Content-Type", "application/json")
		asked.Header.Set("Content-MD5", sum(r.body))
	}
	if r.method == http.MethodGet {
		asked.Header.Set("Cache-Control", "no-cache") // of a cache before the backend (RFC 9111, 5.2.1.4)
	}
	if c.keys.Username != "" {
		asked.SetBasicAuth(c.keys.Username, c.keys.Password.Reveal())
	}
	started := time.Now()
	got, err := c.http.Do(asked)
	if err != nil {
		return nil, 0, c.unreached(ctx, r, address, err)
	}
	defer func() { _ = got.Body.Close() }()
	if got.ContentLength > c.most {
		return nil, 0, &TooLargeError{Method: r.method, Path: address.Path}
	}
	body, err := io.ReadAll(io.LimitReader(got.Body, c.most+1))
	if int64(len(body)) > c.most {
		return nil, 0, &TooLargeError{Method: r.method, Path: address.Path}
	}
	if err != nil {
		return nil, 0, c.unreached(ctx, r, address, err)
	}
	if !nobody(got.StatusCode) {
		c.reached.Store(true)
	}
	// What is as ever is not worth a line.
	if !r.once && (got.StatusCode >= 300 && got.StatusCode != http.StatusNotFound || time.Since(started) > time.Second) {
		c.log("%s %s: %d, %d bytes, %s", r.method, address.Path, got.StatusCode, len(body), time.Since(started).Round(time.Millisecond))
	}
	seconds, _ := strconv.Atoi(got.Header.Get("Retry-After"))
	return &answer{status: got.StatusCode, body: body}, time.Duration(seconds) * time.Second, nil
}
