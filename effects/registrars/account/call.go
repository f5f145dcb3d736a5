package account

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"fediversity.eu/slipway/internal/wait"
)

// Options are what every client is made with.
type Options struct {
	Base  string        // address of the API
	Limit time.Duration // for one call with its repetitions
	Pause time.Duration // between them; 0 means one second
	// Now is the clock of one-time passwords; nil means time.Now.
	Now func() time.Time
}

// caller makes the calls of one registrar's API.
type caller struct {
	name   string
	base   string
	limit  time.Duration
	pause  time.Duration
	client *http.Client
	// judge looks at an answer; nil means byStatus. Its error is completed here.
	judge   func(status int, body []byte) *Error
	changes int
}

// Changes counts the calls that changed something, or may have: those that nobody
// answered.
func (a *caller) Changes() int { return a.changes }

// The bounds of one try: how long an answer may take (some registries are slow to
// take a change), and how large it may be.
const (
	slowest = time.Minute
	largest = 4 << 20
)

func newCaller(name string, options Options) *caller {
	transport := &http.Transport{
		Proxy:               nil, // a proxy would be read from variables that are not declared
		TLSHandshakeTimeout: 15 * time.Second,
		ForceAttemptHTTP2:   true,
		IdleConnTimeout:     time.Minute,
	}
	pause := options.Pause
	if pause == 0 {
		pause = time.Second
	}
	return &caller{
		name: name, base: strings.TrimSuffix(options.Base, "/"), limit: options.Limit, pause: pause,
		client: &http.Client{
			Transport: transport,
			// Whoever redirects an API call gets no credentials.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// call is one call.
type call struct {
	method  string
	path    string // from the base, escaped
	query   url.Values
	what    string // for messages, where method and path do not tell
	body    any    // JSON; nil means none
	changes bool   // it changes something
	once    bool   // like a change, it is repeated only where it was certainly not done
	sign    func(r *http.Request, body []byte)
}

// String says which call it is. It holds no secret: those go into headers and
// bodies.
func (c call) String() string {
	if c.what != "" {
		return c.what
	}
	return c.method + " " + c.path
}

// do makes a call, and puts the answer into out unless that is nil. Reads are
// repeated while the registrar is not available, changes while it says that it did
// not take them.
func (a *caller) do(ctx context.Context, c call, out any) error {
	var body []byte
	if c.body != nil {
		var err error
		if body, err = json.Marshal(c.body); err != nil {
			return fmt.Errorf("write the call %s: %w", c, err)
		}
	}
	var answer []byte
	waiting := wait.For{What: a.name + " to answer " + c.String(), Limit: a.limit, Try: slowest, Interval: a.pause}
	var notBefore time.Time
	err := waiting.Until(ctx, func(ctx context.Context) error {
		if err := rest(ctx, time.Until(notBefore)); err != nil {
			return err
		}
		var failed *Error
		var again time.Duration
		answer, again, failed = a.try(ctx, c, body)
		if failed == nil {
			return nil
		}
		failed.Registrar, failed.Call = a.name, c.String()
		notBefore = time.Now().Add(again)
		if failed.Class != Unavailable || (c.changes || c.once) && !failed.idle || again > a.limit {
			return wait.Stop(failed)
		}
		return failed
	})
	failed, isError := errors.AsType[*Error](err)
	if c.changes && (err == nil || !isError || failed.Class == Malformed || failed.Class == Unavailable && !failed.idle) {
		a.changes++
	}
	if err != nil || out == nil {
		return err
	}
	if string(bytes.TrimSpace(answer)) == "null" {
		return a.malformed(c, errors.New("there is nothing in the answer"))
	}
	if err := json.Unmarshal(answer, out); err != nil {
		return a.malformed(c, err)
	}
	return nil
}

// malformed is the failure of an answer that can't be believed.
func (a *caller) malformed(c call, err error) error {
	return &Error{Registrar: a.name, Call: c.String(), Class: Malformed, Err: err}
}

// missing is the failure of a domain that the account does not have.
func (a *caller) missing(c call, domain string) error {
	return &Error{Registrar: a.name, Call: c.String(), Class: Missing, Message: "the account does not have " + domain}
}

// rest waits for a time that the registrar asked for.
func rest(ctx context.Context, pause time.Duration) error {
	if pause <= 0 {
		return nil
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// try makes a call once. again is how long the registrar wants to be left alone.
func (a *caller) try(ctx context.Context, c call, body []byte) (answer []byte, again time.Duration, failed *Error) {
	address := a.base + c.path
	if len(c.query) > 0 {
		address += "?" + c.query.Encode()
	}
	request, err := http.NewRequestWithContext(ctx, c.method, address, bytes.NewReader(body))
	if err != nil {
		return nil, 0, &Error{Class: Invalid, Err: err}
	}
	request.Header.Set("Accept", "application/json")
	request.Header.Set("User-Agent", "slipway")
	if c.body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if c.sign != nil {
		c.sign(request, body)
	}
	response, err := a.client.Do(request)
	if err != nil {
		return nil, 0, &Error{Class: Unavailable, Err: plain(err)}
	}
	defer func() { _ = response.Body.Close() }()
	answer, err = io.ReadAll(io.LimitReader(response.Body, largest+1))
	if err != nil {
		return nil, 0, &Error{Class: Unavailable, Status: response.StatusCode, Err: plain(err)}
	}
	if len(answer) > largest {
		return nil, 0, &Error{Class: Malformed, Status: response.StatusCode, Err: fmt.Errorf("the answer has more than %d bytes", largest)}
	}
	judge := a.judge
	if judge == nil {
		judge = byStatus
	}
	if failed = judge(response.StatusCode, answer); failed != nil {
		failed.Status = response.StatusCode
	}
	return answer, wait.After(response.Header, time.Now()), failed
}

// plain takes the address off an error of package http: it may have a query.
func plain(err error) error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		return wrapped.Err
	}
	return err
}

// byStatus judges an answer by its HTTP status.
func byStatus(status int, body []byte) *Error {
	class := Invalid
	switch {
	case status >= 200 && status < 300:
		return nil
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		class = Denied
	case status == http.StatusNotFound:
		class = Missing
	case status == http.StatusTooManyRequests, status == http.StatusRequestTimeout, status >= 500:
		class = Unavailable
	case status < 400:
		class = Malformed
	}
	idle := status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable
	return &Error{Class: class, Message: message(body), idle: idle}
}

// message finds what an API says in the fields that they use for it.
func message(body []byte) string {
	var said struct {
		Message string `json:"message"`
		Error   string `json:"error"`
		Cause   string `json:"cause"`
	}
	if json.Unmarshal(body, &said) != nil {
		return "" // a page of HTML helps nobody
	}
	var parts []string
	for _, part := range []string{said.Cause, said.Message, said.Error} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, ": ")
}

// path joins a path of parts that come from outside.
func path(parts ...string) string {
	var b strings.Builder
	for _, part := range parts {
		b.WriteString("/" + url.PathEscape(part))
	}
	return b.String()
}
