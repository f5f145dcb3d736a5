package statebackend

import (
	"bytes"
	"crypto/md5"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"fediversity.eu/slipway/methods/statebackend/protocol"
	"fediversity.eu/slipway/targets/report"
)

// ask sends a request as it is, without a client's manners.
func ask(t *testing.T, h http.Handler, method, target, body string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	r.SetBasicAuth(user, password)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestAStateIsReplacedByWhatFollowsItOnly(t *testing.T) {
	const other = "99999999-3c2f-4f0e-8a57-3f8e6d7c9b10"
	full, empty := protocol.State(lineage, 5, 2), protocol.State(lineage, 5, 0)
	sealed := `{"serial":5,"lineage":"` + lineage + `","encrypted_data":"c2VjcmV0"}`
	for _, c := range []struct {
		name         string
		current, new string
		status       int
		says         string
	}{
		{"the next serial", full, protocol.State(lineage, 6, 1), 200, ""},
		{"a much later serial", full, protocol.State(lineage, 60, 0), 200, ""},
		{"the same bytes again", full, full, 200, ""},
		{"the same serial, other contents", full, protocol.State(lineage, 5, 3), 409, "another state of serial 5"},
		{"an older serial", full, protocol.State(lineage, 4, 2), 409, "its serial 4 is older than 5"},
		{"another lineage", full, protocol.State(other, 6, 2), 409, `its lineage "` + other + `" is not "` + lineage},
		{"another lineage over an empty state", empty, protocol.State(other, 1, 2), 200, ""},
		{"an older serial over an empty state", empty, protocol.State(lineage, 4, 2), 409, "older than 5"},
		{"another lineage over an encrypted state", sealed, protocol.State(other, 6, 2), 409, "lineage"},
		{"an encrypted state over a plain one", protocol.State(lineage, 4, 2), sealed, 200, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			store, b := served(t, Options{}, access)
			ok(t, b.Post(t.Context(), c.current, ""))
			refusedAs(t, b.Post(t.Context(), c.new, ""), c.status, c.says)
			want := c.new
			if c.status != 200 {
				want = c.current
			}
			assert.Equal(t, b.Get(t.Context()).Body, want)

			if c.status == 409 {
				assert.Assert(t, cmp.Contains(b.Post(t.Context(), c.new, "").Body, "?force=true"))
				forced := b
				forced.URL += "?force=true"
				ok(t, forced.Post(t.Context(), c.new, ""))
				assert.Equal(t, forced.Get(t.Context()).Body, c.new)
				list, err := store.Versions("web")
				assert.NilError(t, err)
				old, err := os.ReadFile(list[0].Path)
				assert.NilError(t, err)
				assert.Equal(t, string(old), c.current, "the replaced one is kept")
			}
		})
	}
}

func TestGarbageIsNamed(t *testing.T) {
	_, b := served(t, Options{}, access)
	for body, says := range map[string]string{
		"":                            "not a state: unexpected end of JSON input",
		"<html>":                      "not a state: invalid character '<'",
		"null":                        "format version 0, must be 4",
		`[]`:                          "not a state",
		`{"version":3}`:               "format version 3, must be 4",
		`{"version":4}`:               "it has no lineage",
		`{"version":4,"serial":1}`:    "it has no lineage",
		`{"version":4,"lineage":"x"}`: "it has no serial",
		`{"version":4,"lineage":"x","serial":-1}`:             "not a state",
		`{"version":4,"lineage":"x","serial":1} {}`:           "after top-level value",
		`{"encrypted_data":"x","serial":1}`:                   "it has no lineage",
		`{"encrypted_data":"","lineage":"x","serial":1}`:      "must be 4",
		`{"encrypted_data":null,"lineage":"x","serial":1}`:    "must be 4",
		`{"ID":"1","Operation":"OperationTypePlan","Who":""}`: "that of its lock is /state/web/lock",
	} {
		refusedAs(t, b.Post(t.Context(), body, ""), http.StatusBadRequest, says)
	}
	refusedAs(t, b.Get(t.Context()), http.StatusNotFound, "no such state")
}

func TestOnlyAnAbsentStateIs404AndNothingRedirects(t *testing.T) {
	h := Handler(opened(t, Options{}), access, &report.Log{})
	assert.Equal(t, ask(t, h, "GET", "/state/web", "").Code, http.StatusNotFound)
	for _, target := range []string{
		"/", "/web", "/state", "/state/", "/states/web", "//state/web", "/state//web", "/state/web/", "/state/web/versions",
		"/state/./web", "/state/../state/web", "/state/%2e%2e", "/state/a%2Fb", "/state/a%2f..%2fb", "/state/WEB", "/state/web/lock/",
	} {
		for _, method := range []string{"GET", "POST", "LOCK", "DELETE"} {
			w := ask(t, h, method, target, protocol.State(lineage, 1, 1))
			assert.Check(t, w.Code == http.StatusBadRequest, "%s %s: %d %s", method, target, w.Code, w.Body)
		}
	}
	for _, target := range []string{"/state/web", "/state/web/lock"} {
		w := ask(t, h, "PATCH", target, "")
		assert.Check(t, w.Code == http.StatusMethodNotAllowed && strings.Contains(w.Body.String(), "must be GET"), "%d %s", w.Code, w.Body)
	}
}

func TestADeleteThatWasToUnlockDeletesNothing(t *testing.T) {
	_, b := served(t, Options{}, access)
	state := protocol.State(lineage, 1, 1)
	ok(t, b.Post(t.Context(), state, ""))
	b.UnlockMethod = "DELETE" // at the address of the state
	refusedAs(t, b.Unlock(t.Context(), protocol.NewLock("apply")), http.StatusBadRequest, "the address for that is /state/web/lock")
	assert.Equal(t, b.Get(t.Context()).Body, state)
}

func TestADamagedStateIsNoFirstRun(t *testing.T) {
	store, b := served(t, Options{}, access)
	ok(t, b.Post(t.Context(), protocol.State(lineage, 1, 1), ""))
	ok(t, b.Post(t.Context(), protocol.State(lineage, 2, 1), ""))
	path := filepath.Join(store.dir, "web", "00000002-serial-2.tfstate")
	assert.NilError(t, os.Truncate(path, 20))
	refusedAs(t, b.Get(t.Context()), http.StatusInternalServerError, path+" is damaged")
	refusedAs(t, b.Post(t.Context(), protocol.State(lineage, 3, 1), ""), http.StatusInternalServerError, "damaged")
	assert.NilError(t, os.Remove(path))
	assert.Equal(t, b.Get(t.Context()).Body, protocol.State(lineage, 1, 1), "the version before it is the state again")
}

func TestADamagedLockLocks(t *testing.T) {
	store, b := served(t, Options{}, access)
	lock := protocol.NewLock("apply")
	ok(t, b.Lock(t.Context(), lock))
	assert.NilError(t, os.Truncate(filepath.Join(store.dir, "web", lockFile), 0))
	for _, got := range []protocol.Answer{
		b.Lock(t.Context(), lock), b.Post(t.Context(), protocol.State(lineage, 1, 1), lock.ID), b.Unlock(t.Context(), lock), b.Delete(t.Context(), lock.ID),
	} {
		refusedAs(t, got, http.StatusInternalServerError, "lock.json is damaged")
	}
	h := Handler(store, access, &report.Log{})
	assert.Equal(t, ask(t, h, "UNLOCK", "/state/web", "").Code, http.StatusOK, "an empty body breaks any lock")
	ok(t, b.Lock(t.Context(), lock))
}

func TestRetriesOfWhatWasDoneSucceed(t *testing.T) {
	store, b := served(t, Options{}, access)
	lock := protocol.NewLock("apply")
	ok(t, b.Lock(t.Context(), lock))
	ok(t, b.Lock(t.Context(), lock))
	twin := lock
	twin.Who = "somebody else"
	refusedAs(t, b.Lock(t.Context(), twin), http.StatusLocked, lock.ID)
	ok(t, b.Post(t.Context(), protocol.State(lineage, 1, 1), lock.ID))
	ok(t, b.Post(t.Context(), protocol.State(lineage, 1, 1), lock.ID))
	list, err := store.Versions("web")
	assert.NilError(t, err)
	assert.Equal(t, len(list), 1)
	ok(t, b.Unlock(t.Context(), lock))
	ok(t, b.Unlock(t.Context(), lock))
}

func TestTheLockCanBeLookedAtAndBroken(t *testing.T) {
	store, b := served(t, Options{}, access)
	h := Handler(store, access, &report.Log{})
	assert.Equal(t, ask(t, h, "GET", "/state/web/lock", "").Code, http.StatusNoContent)
	lock := protocol.NewLock("apply")
	ok(t, b.Lock(t.Context(), lock))
	var seen protocol.Lock
	assert.NilError(t, json.Unmarshal(ask(t, h, "GET", "/state/web/lock", "").Body.Bytes(), &seen))
	assert.Equal(t, seen, lock)

	assert.Equal(t, ask(t, h, "UNLOCK", "/state/web?ID=other", "").Code, http.StatusLocked)
	assert.Equal(t, ask(t, h, "UNLOCK", "/state/web?ID="+lock.ID, "").Code, http.StatusOK)
	ok(t, b.Lock(t.Context(), lock))
	assert.Equal(t, ask(t, h, "UNLOCK", "/state/web", "").Code, http.StatusOK)
	// Whoever had the lock still lives, and nobody else wrote: what it made is kept.
	ok(t, b.Post(t.Context(), protocol.State(lineage, 1, 1), lock.ID))
}

func TestBadLocksAreRefused(t *testing.T) {
	h := Handler(opened(t, Options{}), access, &report.Log{})
	for body, says := range map[string]string{
		"": "it is empty", "{}": "it has no ID", "null": "it has no ID", "<html>": "not a lock", `{"ID":"a\u0000b"}`: "can't be printed",
		`{"ID":"` + strings.Repeat("x", 256) + `"}`: "longer than 255 bytes", `{"ID":7}`: "not a lock",
	} {
		w := ask(t, h, "LOCK", "/state/web", body)
		assert.Check(t, w.Code == http.StatusBadRequest && strings.Contains(w.Body.String(), says), "%q: %d %s", body, w.Code, w.Body)
	}
	w := ask(t, h, "LOCK", "/state/web", `{"ID":"x","Info":"`+strings.Repeat("x", lockLimit)+`"}`)
	assert.Equal(t, w.Code, http.StatusRequestEntityTooLarge)
}

func TestSumsAndSizesAreChecked(t *testing.T) {
	small := access
	small.Limit = 4000
	store, b := served(t, Options{}, small)
	h := Handler(store, small, &report.Log{})
	state := protocol.State(lineage, 1, 1)
	for _, sum := range []string{"", base64.StdEncoding.EncodeToString(make([]byte, md5.Size)), "no sum"} {
		w := ask(t, h, "POST", "/state/web", state, "Content-MD5", sum)
		assert.Check(t, (w.Code == http.StatusOK) == (sum == ""), "%q: %d %s", sum, w.Code, w.Body)
	}
	large := protocol.State(lineage, 2, 100_000) // much more than a connection buffers
	refusedAs(t, b.Post(t.Context(), large, ""), http.StatusRequestEntityTooLarge, "larger than 4000 bytes, the limit of this backend")
	got := b.Get(t.Context())
	assert.Equal(t, got.Body, state)
	sum := md5.Sum([]byte(state))
	assert.Equal(t, got.Header.Get("Content-MD5"), base64.StdEncoding.EncodeToString(sum[:]))
	again := ask(t, h, "GET", "/state/web", "", "If-None-Match", got.Header.Get("ETag"))
	assert.Equal(t, again.Code, http.StatusNotModified)
}

func TestABodyThatWasCutChangesNothing(t *testing.T) {
	store := opened(t, Options{})
	r := httptest.NewRequest("POST", "/state/web", io.MultiReader(strings.NewReader(protocol.State(lineage, 1, 1)), broken{}))
	r.SetBasicAuth(user, password)
	w := httptest.NewRecorder()
	Handler(store, access, &report.Log{}).ServeHTTP(w, r)
	assert.Equal(t, w.Code, http.StatusBadRequest)
	assert.Equal(t, len(files(t, store.dir)), 0)
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func TestEveryRequestIsLoggedOnceAndWithoutSecrets(t *testing.T) {
	var out bytes.Buffer
	h := Handler(opened(t, Options{}), access, report.NewLog(report.Plain(&out)))
	ask(t, h, "GET", "/state/web", "")
	ask(t, h, "LOCK", "/state/web", `{"ID":"lock-id","Who":"me"}`)
	ask(t, h, "POST", "/state/web?ID=other-id", protocol.State(lineage, 1, 1))
	ask(t, h, "POST", "/state/web?ID=lock-id", protocol.State(lineage, 1, 1))
	ask(t, h, "GET", "/state/web%0Aforged", "")
	text := out.String()
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	assert.Equal(t, len(lines), 5, text)
	for i, want := range []string{
		"GET /state/web 404 in ", "LOCK /state/web 200 in ", "POST /state/web 423 in ", "POST /state/web 200 in ", "GET /state/web%0Aforged 400 in ",
	} {
		assert.Check(t, cmp.Contains(lines[i], want))
	}
	assert.Check(t, cmp.Contains(lines[2], `locked by lock-id of "me"`))
	for _, secret := range []string{password, user, lineage, "terraform_data", "other-id"} {
		assert.Check(t, !strings.Contains(text, secret), secret)
	}
}

func TestWithoutAPasswordNobodyMay(t *testing.T) {
	h := Handler(opened(t, Options{}), Access{User: user}, nil)
	for _, set := range []func(*http.Request){func(*http.Request) {}, func(r *http.Request) { r.SetBasicAuth(user, "") }} {
		r := httptest.NewRequest("GET", "/state/web", nil)
		set(r)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		assert.Equal(t, w.Code, http.StatusUnauthorized)
		assert.Assert(t, cmp.Contains(w.Header().Get("WWW-Authenticate"), "Basic"))
	}
}

func TestFullDisksHaveAStatusOfTheirOwn(t *testing.T) {
	for _, cause := range []error{syscall.ENOSPC, syscall.EDQUOT} {
		err := fmt.Errorf("store state: %w", errors.Join(&os.PathError{Op: "write", Path: "x", Err: cause}, nil))
		assert.Equal(t, status(err), http.StatusInsufficientStorage)
	}
	assert.Equal(t, status(&os.PathError{Op: "write", Path: "x", Err: syscall.EIO}), http.StatusInternalServerError)
}

// TestWritersDoNotMix has many clients write and read at once: every answer of a
// read is one that was written, and every serial was acknowledged to one only.
func TestWritersDoNotMix(t *testing.T) {
	_, b := served(t, Options{Keep: 4}, access)
	const writers, serials = 4, 15
	var (
		wg    sync.WaitGroup
		mu    sync.Mutex
		acked = map[int]int{}
	)
	ok(t, b.Post(t.Context(), protocol.State(lineage, 1, 1), ""))
	for w := range writers {
		wg.Go(func() {
			for serial := 2; serial < serials; serial++ {
				got := b.Post(t.Context(), protocol.State(lineage, serial, w+1), "")
				if got.Status == http.StatusOK {
					mu.Lock()
					acked[serial]++
					mu.Unlock()
				}
				read := b.Get(t.Context())
				_, err := parseState([]byte(read.Body))
				assert.Check(t, read.Status == http.StatusOK && err == nil, "%s", read)
			}
		})
	}
	wg.Wait()
	for serial, times := range acked {
		assert.Check(t, times == 1, "serial %d was acknowledged %d times", serial, times)
	}
	assert.Equal(t, acked[serials-1], 1)
}
