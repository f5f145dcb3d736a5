package netbox

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"fediversity.eu/slipway/internal/wait"
	"fediversity.eu/slipway/targets/env"
)

// The limits of a talk with NetBox.
const (
	attemptLimit = 2 * time.Minute        // of one request; bulk ones take their time
	retryLimit   = 6 * time.Minute        // of one request with its repetitions
	retryPause   = 250 * time.Millisecond // before the second try; each further one is twice as long
	longestPause = 16 * time.Second       // unless NetBox asks for a longer one
	attempts     = 5                      // of what NetBox may have done
	largestBody  = 128 << 20
	atOnce       = 4 // requests under way at the same time
)

// client talks to one NetBox.
type client struct {
	base    string // without a slash at its end
	token   env.Secret
	http    *http.Client
	pause   time.Duration // retryPause
	slots   chan struct{}
	version version
	mu      sync.Mutex // guards version
}

// newClient makes a client. certificates are further authorities, in PEM.
func newClient(address string, token env.Secret, certificates string) (*client, error) {
	base := strings.TrimSuffix(strings.TrimRight(address, "/"), "/api")
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if certificates != "" && !pool.AppendCertsFromPEM([]byte(certificates)) {
		return nil, errors.New("NETBOX_CA: holds no certificate in PEM")
	}
	transport := &http.Transport{
		// No proxy: it would be found in variables that nobody declared.
		TLSClientConfig:     &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12},
		MaxIdleConnsPerHost: atOnce, MaxConnsPerHost: atOnce,
		TLSHandshakeTimeout: 30 * time.Second, IdleConnTimeout: time.Minute,
		ForceAttemptHTTP2: true,
	}
	return &client{
		base: base, token: token, pause: retryPause, slots: make(chan struct{}, atOnce),
		http: &http.Client{
			Transport: transport, Timeout: attemptLimit,
			// A redirected POST arrives as a GET, and the token might go elsewhere.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

// authorization is what NetBox is shown. It tells tokens of version 2 by their
// beginning, whatever word stands before them.
func (c *client) authorization() string {
	token := c.token.Reveal()
	if strings.HasPrefix(token, "nbt_") {
		return "Bearer " + token
	}
	return "Token " + token
}

// get reads path, which ends in a slash, into result.
func (c *client) get(ctx context.Context, path string, query url.Values, result any) error {
	return c.do(ctx, http.MethodGet, path, query, nil, result)
}

// do sends a request and decodes the answer into result, unless that is nil. What
// changes nothing when it is done twice is repeated where NetBox is busy or out of
// order, and anything where it was not taken for there being too many. An answer that is not a success is an *answerError.
func (c *client) do(ctx context.Context, method, path string, query url.Values, body, result any) error {
	select {
	case c.slots <- struct{}{}:
		defer func() { <-c.slots }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return fmt.Errorf("encode %s: %w", path, err)
		}
	}
	tries, pause := 0, c.pause
	var notBefore time.Time
	var last error
	waiting := wait.For{What: "NetBox to take " + method + " " + path, Limit: retryLimit, Interval: c.pause}
	err := waiting.Until(ctx, func(try context.Context) error {
		if last != nil && time.Now().Before(notBefore) {
			return last
		}
		tries++
		last = c.once(try, method, path, query, text, result)
		if last != nil && ctx.Err() != nil {
			return wait.Stop(context.Cause(ctx))
		}
		var answer *answerError
		if last == nil || !errors.As(last, &answer) || !answer.passing() || answer.after > retryLimit ||
			!answer.untaken() && (method == http.MethodPost || tries >= attempts) {
			return wait.Stop(last)
		}
		notBefore = time.Now().Add(max(answer.after, pause))
		pause = min(2*pause, longestPause)
		return last
	})
	if err != nil && last != nil && ctx.Err() == nil {
		return last // the limit of the wait says less
	}
	return err
}

// once sends a request one time.
func (c *client) once(ctx context.Context, method, path string, query url.Values, body []byte, result any) error {
	address := c.base + "/api/" + path
	if len(query) > 0 {
		address += "?" + query.Encode()
	}
	request, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", c.authorization())
	request.Header.Set("Accept", "application/json")
	request.Header.Set("User-Agent", "slipway")
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := c.http.Do(request)
	if err != nil {
		return contactError(method, path, err)
	}
	defer response.Body.Close() //nolint:errcheck // Read to its end, or not used.
	text, err := io.ReadAll(io.LimitReader(response.Body, largestBody+1))
	switch {
	case err != nil:
		return contactError(method, path, err)
	case len(text) > largestBody:
		return contactError(method, path, fmt.Errorf("an answer of more than %d bytes", largestBody))
	}
	if response.StatusCode < 200 || response.StatusCode > 299 {
		return newAnswerError(method, path, response, text)
	}
	if err := c.note(response.Header.Get("API-Version")); err != nil {
		return contactError(method, path, err)
	}
	if result == nil {
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(result); err != nil {
		return contactError(method, path, fmt.Errorf("an answer that is not what NetBox says: %w", err))
	}
	return nil
}

// note keeps the version of the API, which every answer tells.
func (c *client) note(text string) error {
	v, err := parseVersion(text)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.version = v
	return nil
}

// api is the version of the API. It is known once anything was read.
func (c *client) api() version {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.version
}

// close lets go of the connections.
func (c *client) close() { c.http.CloseIdleConnections() }

// inPlain tells whether the token would cross a network unencrypted.
func inPlain(address string) bool {
	parsed, err := url.Parse(address)
	if err != nil || parsed.Scheme != "http" {
		return false
	}
	host := parsed.Hostname()
	return host != "localhost" && host != "::1" && !strings.HasPrefix(host, "127.")
}
