package account

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/effects/registrars/delegation"
	"fediversity.eu/slipway/targets/env"
)

// serve answers every call with what answer gives.
func serve(t *testing.T, answer http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server.URL
}

func fast(limit time.Duration) Options { return Options{Limit: limit, Pause: time.Millisecond} }

// TestAnswersThatAreNotBelieved gives every client answers that are well-formed
// HTTP and not what the API says: none of them may pass for an empty delegation.
func TestAnswersThatAreNotBelieved(t *testing.T) {
	for _, body := range []string{
		"", "null", "{}", "[]", "[null]", "<html>", `{"nameservers":null}`, `{"nameservers":[{"hostname":"x y"}]}`, `"text"`, "1", `["no name"]`, `[""]`,
		`{"nameservers":[{"hostname":"a.example.net"}]}`, `{"code":0}`, `{"code":0,"data":null}`, `{"code":0,"data":{}}`, `{"code":0,"data":{"results":[{"id":1,"domain":{"name":"example","extension":"org"}}]}}`,
		`{"code":1000}`, `{"code":1000,"resData":[]}`, `{"code":1000,"resData":{"ns":["x"]}}`, `{"code":"1000"}`,
		`{"status":"SUCCESS"}`, `{"status":"SUCCESS","ns":[""]}`, `{"status":"SUCCESS","ns":["a.example.net"]}`, `{"status":"success"}`,
		`{"status":"SUCCESS","ns":["a.example.net"],"records":{"1":{"keyTag":"x"}}}`, `{"status":"SUCCESS","ns":["a.example.net"],"records":[],"hosts":[["x"]]}`,
	} {
		url := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, body) })
		secret := env.NewSecret("secret")
		in := &openprovider{caller: newCaller("openprovider", Options{Base: url, Limit: time.Minute}), token: "token", ids: map[string]int64{}}
		in.judge = judgeEnvelope
		unlocked := &inwx{caller: newCaller("inwx", Options{Base: url, Limit: time.Minute}), in: true}
		unlocked.judge = judgeINWX
		for name, account := range map[string]Account{
			"gandi": Gandi(GandiKeys{URL: env.URL(url), Token: secret}, fast(time.Minute)),
			"ovh":   OVH(OVHKeys{URL: env.URL(url)}, fast(time.Minute)), "porkbun": Porkbun(PorkbunKeys{URL: env.URL(url)}, fast(time.Minute)),
			"transip":      &transIP{caller: newCaller("transip", Options{Base: url, Limit: time.Minute}), token: "token", since: time.Now()},
			"openprovider": in, "inwx": unlocked,
		} {
			if name == "gandi" && body == "[]" {
				continue // that is an empty delegation
			}
			_, err := account.Read(t.Context(), "example.org")
			failed, ok := errors.AsType[*Error](err)
			assert.Assert(t, ok, "%s believes %s: %v", name, body, err)
			// A code that another API has is a refusal here.
			assert.Assert(t, failed.Class == Malformed || name == "openprovider" || name == "inwx" && failed.Class == Invalid, "%s of %s: %v", name, body, err)
			assert.Equal(t, account.Changes(), 0)
		}
	}
}

// FuzzAnswers gives every client whatever a server could say: no answer may pass for
// another delegation than it says, and none ends the run.
func FuzzAnswers(f *testing.F) {
	for _, seed := range []string{
		`{"nameservers":["a.example.net"]}`, `[{"fqdns":["a.example.net"]}]`, `{"status":"SUCCESS","ns":["a.example.net"],"records":{"1":{"keyTag":"2"}}}`,
		`{"code":0,"data":{"results":[{"id":1,"domain":{"name":"example","extension":"org"},"name_servers":[{"name":"a.example.net"}]}]}}`,
		`{"code":1000,"resData":{"ns":["a.example.net"],"domain":"example.org"}}`, `["a.example.net"]`, `{"dnsSecEntries":[{"keyTag":1,"flags":257,"algorithm":8,"publicKey":"AwEAAQ=="}]}`,
		`[{"key":1}]`, `[[]]`, `{"hosts":[["x",{"v4":["192.0.2.1"]}]]}`,
	} {
		f.Add(200, seed)
	}
	var status int
	var body string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = fmt.Fprint(w, body)
	}))
	f.Cleanup(server.Close)
	f.Fuzz(func(t *testing.T, code int, answer string) {
		if code < 200 || code > 599 {
			code = 200
		}
		status, body = code, answer
		url, options := env.URL(server.URL), Options{Base: server.URL, Limit: 10 * time.Millisecond, Pause: time.Millisecond}
		in := &openprovider{caller: newCaller("openprovider", options), token: "token", ids: map[string]int64{}}
		in.judge = judgeEnvelope
		unlocked := &inwx{caller: newCaller("inwx", options), in: true}
		unlocked.judge = judgeINWX
		for _, account := range []Account{
			Gandi(GandiKeys{URL: url, Token: env.NewSecret("secret")}, options), OVH(OVHKeys{URL: url}, options), Porkbun(PorkbunKeys{URL: url}, options),
			&transIP{caller: newCaller("transip", options), token: "token", since: time.Now()}, in, unlocked,
		} {
			got, err := account.Read(t.Context(), "example.org")
			assert.Equal(t, account.Changes(), 0)
			if err != nil {
				assert.Assert(t, err.Error() != "")
				continue
			}
			for _, server := range got.Servers {
				assert.Assert(t, strings.Contains(strings.ToLower(answer), strings.TrimSuffix(strings.ToLower(server), ".")), "%q is not in %q", server, answer)
			}
		}
	})
}

func TestHowLongIsWaited(t *testing.T) {
	t.Run("as long as the registrar asks for", func(t *testing.T) {
		var calls atomic.Int64
		var second atomic.Int64
		began := time.Now()
		url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			if calls.Add(1) == 1 {
				w.Header().Set("Retry-After", "1")
				w.WriteHeader(http.StatusTooManyRequests)
				return
			}
			second.CompareAndSwap(0, int64(time.Since(began)))
			_, _ = fmt.Fprint(w, "[]")
		})
		_, err := Gandi(GandiKeys{URL: env.URL(url)}, fast(time.Minute)).Read(t.Context(), "example.org")
		assert.NilError(t, err)
		assert.Assert(t, time.Duration(second.Load()) >= time.Second, "it came back after %s", time.Duration(second.Load()))
	})
	t.Run("not if that is longer than we may", func(t *testing.T) {
		url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "3000")
			w.WriteHeader(http.StatusTooManyRequests)
		})
		_, err := Gandi(GandiKeys{URL: env.URL(url)}, fast(time.Minute)).Read(t.Context(), "example.org")
		failed, ok := errors.AsType[*Error](err)
		assert.Assert(t, ok && failed.Class == Unavailable && failed.Status == 429, "%v", err)
	})
	t.Run("not at all for somebody who is not there", func(t *testing.T) {
		server := httptest.NewServer(http.NotFoundHandler())
		server.Close()
		_, err := Gandi(GandiKeys{URL: env.URL(server.URL)}, fast(20*time.Millisecond)).Read(t.Context(), "example.org")
		failed, ok := errors.AsType[*Error](err)
		assert.Assert(t, ok && failed.Class == Unavailable && failed.Status == 0, "%v", err)
	})
}

func TestWhetherAChangeWasMade(t *testing.T) {
	want := delegation.Delegation{Domain: "example.org", Servers: []string{"a.example.net"}}
	for _, c := range []struct {
		name    string
		answer  http.HandlerFunc
		changed bool
		calls   int64
	}{
		{"taken", func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, "{}") }, true, 1},
		{"not taken", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadRequest) }, false, 1},
		{"an error of the registrar", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }, true, 1},
		{"a line that was cut", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, true, 1},
		{"sent elsewhere", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "http://127.0.0.1:1/")
			w.WriteHeader(http.StatusFound)
		}, true, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			var calls atomic.Int64
			url := serve(t, func(w http.ResponseWriter, r *http.Request) {
				calls.Add(1)
				c.answer(w, r)
			})
			account := Gandi(GandiKeys{URL: env.URL(url)}, fast(time.Minute))
			err := account.SetServers(t.Context(), want)
			assert.Equal(t, err == nil, c.name == "taken", "%v", err)
			assert.Equal(t, account.Changes() > 0, c.changed)
			assert.Equal(t, calls.Load(), c.calls, "a change is not repeated where it may have been made")
		})
	}
	t.Run("too many at once", func(t *testing.T) {
		var calls atomic.Int64
		url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			if calls.Add(1) < 3 {
				w.WriteHeader(http.StatusTooManyRequests)
			}
		})
		account := Gandi(GandiKeys{URL: env.URL(url)}, fast(time.Minute))
		assert.NilError(t, account.SetServers(t.Context(), want))
		assert.Equal(t, calls.Load(), int64(3), "it was certainly not made, so it is tried again")
	})
}

func TestAnAnswerWithoutEnd(t *testing.T) {
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			if _, err := fmt.Fprint(w, strings.Repeat(" ", 1<<16)); err != nil {
				return
			}
		}
	})
	_, err := Gandi(GandiKeys{URL: env.URL(url)}, fast(time.Minute)).Read(t.Context(), "example.org")
	assert.ErrorContains(t, err, "the answer has more than")
}

func TestWhatAnErrorRepeats(t *testing.T) {
	text := (&Error{Registrar: "gandi", Call: "GET /x", Class: Invalid, Status: 400, Message: "two\nlines\x1b[31m " + strings.Repeat("long ", 200)}).Error()
	assert.Assert(t, strings.HasPrefix(text, "gandi: GET /x: not taken (HTTP 400): two lines"), text)
	assert.Assert(t, len(text) < 400 && !strings.Contains(text, "\n"), text)
}

func TestKeysOfTransIP(t *testing.T) {
	for _, text := range []string{"text", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte("no key")}))} {
		assert.ErrorContains(t, TransIPKeys{Key: env.NewSecret(text)}.Check(), "TRANSIP_KEY is")
	}
}

func TestATokenOfTransIPIsRenewed(t *testing.T) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	assert.NilError(t, err)
	var logins atomic.Int64
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/auth" {
			_, _ = fmt.Fprintf(w, `{"token":"number %d"}`, logins.Add(1))
			return
		}
		_, _ = fmt.Fprintf(w, `{"with":%q}`, r.Header.Get("Authorization"))
	})
	text := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
	account := TransIP(TransIPKeys{URL: env.URL(url), Login: "login", Key: env.NewSecret(string(text))}, fast(time.Minute)).(*transIP)
	with := func() string {
		var answer struct{ With string }
		assert.NilError(t, account.ask(t.Context(), call{method: http.MethodGet, path: "/x"}, &answer))
		return answer.With
	}
	assert.Equal(t, with(), "Bearer number 1")
	assert.Equal(t, with(), "Bearer number 1")
	account.since = account.since.Add(-tokenLife)
	assert.Equal(t, with(), "Bearer number 2")
}
