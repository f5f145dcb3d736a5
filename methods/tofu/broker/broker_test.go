package broker

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/methods/tofu/state"
)

const five = `{"version":4,"lineage":"l","serial":5}`

func version(t *testing.T, text string) *state.State {
	t.Helper()
	s, err := state.Parse([]byte(text))
	assert.NilError(t, err)
	return s
}

func opened(t *testing.T, s *state.State, take Taker) *Broker {
	t.Helper()
	b, err := Open(s, take, func(string, ...any) {})
	assert.NilError(t, err)
	t.Cleanup(b.Close)
	return b
}

// ask asks as OpenTofu does, with what Environment gave it.
func ask(t *testing.T, b *Broker, method, body, password string) (int, string) {
	t.Helper()
	e := b.Environment()
	if password == "" {
		password = e["TF_HTTP_PASSWORD"]
	}
	r, err := http.NewRequestWithContext(t.Context(), method, e["TF_HTTP_ADDRESS"], strings.NewReader(body))
	assert.NilError(t, err)
	r.SetBasicAuth(e["TF_HTTP_USERNAME"], password)
	got, err := http.DefaultClient.Do(r)
	assert.NilError(t, err)
	defer func() { assert.NilError(t, got.Body.Close()) }()
	text, err := io.ReadAll(got.Body)
	assert.NilError(t, err)
	return got.StatusCode, string(text)
}

func TestAnswers(t *testing.T) {
	for _, c := range []struct {
		name     string
		method   string
		body     string
		password string
		status   int
		taken    bool
	}{
		{"the state", http.MethodGet, "", "", 200, false},
		{"to nobody else", http.MethodGet, "", "guessed", 401, false},
		{"a version that goes on", http.MethodPost, `{"version":4,"lineage":"l","serial":6}`, "", 200, true},
		{"the same version again", http.MethodPost, `{"version":4, "lineage":"l", "serial":5}`, "", 200, false},
		{"another version of the same serial", http.MethodPost, `{"version":4,"lineage":"l","serial":5,"outputs":{}}`, "", 409, false},
		{"an older serial", http.MethodPost, `{"version":4,"lineage":"l","serial":4}`, "", 409, false},
		{"another lineage", http.MethodPost, `{"version":4,"lineage":"m","serial":9}`, "", 409, false},
		{"what is no state", http.MethodPost, "<html>", "", 409, false},
		{"a version of nobody", http.MethodPost, `{"version":4,"lineage":"l","serial":6}`, "guessed", 401, false},
		{"no lock", "LOCK", "{}", "", 405, false},
		{"no removal", http.MethodDelete, "", "", 405, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			taken := 0
			b := opened(t, version(t, five), func(context.Context, *state.State) error { taken++; return nil })
			status, text := ask(t, b, c.method, c.body, c.password)
			assert.Equal(t, status, c.status, text)
			assert.Equal(t, taken == 1, c.taken)
			if c.method == http.MethodGet && status == 200 {
				assert.Equal(t, text, five)
			}
			want := uint64(5)
			if c.taken {
				want = 6
			}
			assert.Equal(t, b.State().Serial, want)
		})
	}
}

func TestReadersWriteNothing(t *testing.T) {
	b := opened(t, version(t, five), nil)
	status, _ := ask(t, b, http.MethodPost, `{"version":4,"lineage":"l","serial":6}`, "")
	assert.Equal(t, status, 403)
}

func TestWhatIsNotSafeIsNotAcknowledged(t *testing.T) {
	b := opened(t, version(t, five), func(context.Context, *state.State) error { return errors.New("disk full") })
	status, text := ask(t, b, http.MethodPost, `{"version":4,"lineage":"l","serial":6}`, "")
	assert.Equal(t, status, 500)
	assert.Equal(t, text, "disk full\n")
	assert.Equal(t, b.State().Serial, uint64(5))
}

// TestCloseWaitsForWhatIsBeingWritten is of a tofu that was killed while its
// version was on its way: whoever looks after Close finds all of it.
func TestCloseWaitsForWhatIsBeingWritten(t *testing.T) {
	begun, let := make(chan struct{}), make(chan struct{})
	safe := false
	b := opened(t, version(t, five), func(context.Context, *state.State) error {
		close(begun)
		<-let
		safe = true
		return nil
	})
	ctx, cut := context.WithCancel(t.Context())
	e := b.Environment()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, e["TF_HTTP_ADDRESS"], strings.NewReader(`{"version":4,"lineage":"l","serial":6}`))
	assert.NilError(t, err)
	r.SetBasicAuth(e["TF_HTTP_USERNAME"], e["TF_HTTP_PASSWORD"])
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		if got, err := http.DefaultClient.Do(r); err == nil {
			_ = got.Body.Close()
		}
	}()
	<-begun
	cut()
	<-gone
	closed := make(chan struct{})
	go func() { b.Close(); close(closed) }()
	select {
	case <-closed:
		t.Error("closed while a version was being written")
	default:
	}
	close(let)
	<-closed
	assert.Assert(t, safe)
	assert.Equal(t, b.State().Serial, uint64(6))
	assert.ErrorContains(t, b.write(t.Context(), []byte(`{"version":4,"lineage":"l","serial":7}`)), "has ended")
}

func TestFirstStateIsTakenOnce(t *testing.T) {
	b := opened(t, nil, func(context.Context, *state.State) error { return nil })
	status, _ := ask(t, b, http.MethodGet, "", "")
	assert.Equal(t, status, 404, "for the one command that makes a state there is none")
	status, _ = ask(t, b, http.MethodPost, `{"version":4,"lineage":"new","serial":1}`, "")
	assert.Equal(t, status, 200)
	status, _ = ask(t, b, http.MethodGet, "", "")
	assert.Equal(t, status, 200)
	status, _ = ask(t, b, http.MethodPost, `{"version":4,"lineage":"another","serial":2}`, "")
	assert.Equal(t, status, 409)
}

func TestRealAddressAndPasswordStayInside(t *testing.T) {
	e := opened(t, version(t, five), nil).Environment()
	assert.Assert(t, strings.HasPrefix(e["TF_HTTP_ADDRESS"], "http://127.0.0.1:"))
	_, lock := e["TF_HTTP_LOCK_ADDRESS"]
	assert.Assert(t, !lock, "the program holds the lock")
	assert.Assert(t, e["TF_HTTP_PASSWORD"] != opened(t, version(t, five), nil).Environment()["TF_HTTP_PASSWORD"])
}
