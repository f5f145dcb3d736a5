package verdict

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/groups"
)

func TestProbesAgainstARealServer(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/moved":
			http.Redirect(w, r, "/", http.StatusMovedPermanently)
		case "/down":
			http.Error(w, "not now", http.StatusServiceUnavailable)
		default:
			_, _ = fmt.Fprintf(w, "this is %s", r.Host)
		}
	}))
	defer server.Close()
	address := strings.TrimPrefix(server.URL, "http://")
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	assert.NilError(t, err)
	assert.NilError(t, closed.Close())
	m := &machine{dial: (&net.Dialer{}).DialContext}
	for _, c := range []struct {
		name string
		ask  groups.Question
		err  string // empty: answered
	}{
		{"a page", groups.HTTP{URL: server.URL}, ""},
		{"a page of a site", groups.HTTP{URL: server.URL, Host: "www.example.org", Contains: "this is www.example.org"}, ""},
		{"a text that is not there", groups.HTTP{URL: server.URL, Contains: "that"}, `does not contain "that"`},
		{"the wrong status", groups.HTTP{URL: server.URL + "/down"}, "HTTP status 503 instead of 200"},
		{"the status that was asked for", groups.HTTP{URL: server.URL + "/down", Status: 503}, ""},
		{"a redirection is an answer", groups.HTTP{URL: server.URL + "/moved", Status: 301}, ""},
		{"nobody there", groups.HTTP{URL: "http://" + closed.Addr().String()}, "connection refused"},
		{"a port", groups.TCP{Address: address}, ""},
		{"a closed port", groups.TCP{Address: closed.Addr().String()}, "connection refused"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := attempt(t.Context(), m, c.ask)
			if c.err == "" {
				assert.NilError(t, err)
				return
			}
			assert.ErrorContains(t, err, c.err)
			assert.Assert(t, !errors.Is(err, ErrContact))
		})
	}
}

func TestProbesUntilTheirDeadline(t *testing.T) {
	refused := errors.New("connection refused")
	away := fmt.Errorf("%w: forwarding refused", ErrContact)
	for _, c := range []struct {
		name   string
		refuse func(try int) error
		want   Outcome
		took   time.Duration
		why    string
	}{
		{"at once", func(int) error { return nil }, Right, 0, ""},
		{"after a while", func(try int) error { return map[bool]error{true: refused}[try < 7] }, Right, 3 * time.Second, ""},
		{"never", func(int) error { return refused }, Wrong, 9500 * time.Millisecond, "connection refused"},
		{"can't be asked", func(int) error { return away }, NotKnown, 9500 * time.Millisecond, "forwarding refused"},
		{"can't be asked any more", func(try int) error { return map[bool]error{true: refused, false: away}[try < 3] }, NotKnown, 9500 * time.Millisecond, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tries := 0
				m := &machine{dial: func(context.Context, string, string) (net.Conn, error) {
					tries++
					if err := c.refuse(tries); err != nil {
						return nil, err
					}
					near, far := net.Pipe()
					_ = far.Close()
					return near, nil
				}}
				got := probe(t.Context(), m, []groups.Probe{{Name: "port", Ask: groups.TCP{Address: "127.0.0.1:1"}, Deadline: 10 * time.Second}}).result()
				assert.Equal(t, got[0].Outcome, c.want)
				assert.Equal(t, got[0].Took, c.took)
				assert.ErrorContains(t, said(got[0].Why+" "), c.why)
			})
		})
	}
}

func TestACommandIsAProbe(t *testing.T) {
	ask := groups.Command{Script: "check-it"}
	assert.NilError(t, attempt(t.Context(), &machine{command: "fine"}, ask))
	err := attempt(t.Context(), &machine{command: errors.New("exit status 1")}, ask)
	assert.Error(t, err, "exit status 1")
	err = attempt(t.Context(), &machine{command: fmt.Errorf("%w: contact lost", ErrContact)}, ask)
	assert.ErrorIs(t, err, ErrContact)
}
