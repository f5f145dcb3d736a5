package statebackend

import (
	"bytes"
	"crypto/md5"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"strings"
	"time"

	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/report"
)

// DefaultLimit is the size in bytes that a state may have.
const DefaultLimit = 64 << 20

const (
	// lockLimit is the size in bytes that the description of a lock may have.
	lockLimit = 64 << 10
	// forceParameter is what lets a state replace one that it does not follow. It
	// is part of the address, where OpenTofu hands it on: "state push -force"
	// looks like any other write to a backend, and headers can't be set by
	// variables.
	forceParameter = "force"
	// prefix is where states are.
	prefix = "/state/"
)

// Access says who may use a store, and how much.
type Access struct {
	User     string
	Password env.Secret // must be set: a server on the loopback is reached by every program, and by pages in a browser
	Limit    int64      // size of a state in bytes; 0 means DefaultLimit
}

// Handler serves a store. States are at /state/NAME, with the methods of
// OpenTofu's http backend (GET, POST, DELETE, LOCK, UNLOCK); PUT is like POST. For
// clients that can't send LOCK and UNLOCK, /state/NAME/lock takes POST or PUT to
// lock and DELETE to unlock, and tells on GET who holds the lock.
//
// Every request is logged once, without its body and its query.
func Handler(store *Store, access Access, log *report.Log) http.Handler {
	if access.Limit == 0 {
		access.Limit = DefaultLimit
	}
	if log == nil {
		log = &report.Log{}
	}
	return &handler{store, access, log}
}

type handler struct {
	store  *Store
	access Access
	log    *report.Log
}

// ServeHTTP maps errors to answers, and logs.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	started := time.Now()
	out := &answer{ResponseWriter: w, status: http.StatusOK}
	err := h.serve(out, r)
	if err != nil {
		refuse(out, err)
	}
	line := fmt.Sprintf("%s %s %d in %s", r.Method, r.URL.EscapedPath(), out.status, time.Since(started).Round(time.Millisecond))
	switch {
	case err == nil || errors.Is(err, errAbsent):
		h.log.Infof("%s", line)
	case out.status < http.StatusInternalServerError:
		h.log.Warnf("%s: %v", line, err)
	default:
		h.log.Troublef("%s: %v", line, err)
	}
}

// answer remembers the status.
type answer struct {
	http.ResponseWriter
	status int
}

func (a *answer) WriteHeader(status int) {
	a.status = status
	a.ResponseWriter.WriteHeader(status)
}

// refuse answers an error: with its text, or with the holder of the lock, which
// OpenTofu shows.
func refuse(w http.ResponseWriter, err error) {
	if locked, ok := errors.AsType[*lockedError](err); ok {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status(err))
		_, _ = w.Write(locked.holder.text)
		return
	}
	if errors.Is(err, errUnauthorized) {
		w.Header().Set("WWW-Authenticate", `Basic realm="states", charset="UTF-8"`)
	}
	http.Error(w, err.Error(), status(err))
}

// serve finds out what is wanted. There is no redirect, which OpenTofu would
// follow as a GET and take for a stored state, and a 404 only where a state is
// absent, which it takes for a first run.
func (h *handler) serve(w http.ResponseWriter, r *http.Request) error {
	if !h.access.allows(r) {
		return errUnauthorized
	}
	name, below := strings.CutPrefix(r.URL.Path, prefix)
	name, ofLock := strings.CutSuffix(name, "/lock")
	if !below || strings.Contains(name, "/") || path.Clean(r.URL.Path) != r.URL.Path {
		return &inputError{fmt.Errorf("no such address %.200q: states are at %sNAME, their locks at %sNAME/lock", r.URL.Path, prefix, prefix)}
	}
	if err := checkName(name); err != nil {
		return err
	}
	w.Header().Set("Cache-Control", "no-store")
	switch r.Method {
	case "LOCK":
		return h.lock(w, r, name)
	case "UNLOCK":
		return h.unlock(w, r, name)
	}
	if ofLock {
		return h.serveLock(w, r, name)
	}
	return h.serveState(w, r, name)
}

func (h *handler) serveState(w http.ResponseWriter, r *http.Request, name string) error {
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		return h.get(w, r, name)
	case http.MethodPost, http.MethodPut:
		return h.put(w, r, name)
	case http.MethodDelete:
		return h.remove(w, r, name)
	}
	return &methodError{r.Method, "GET, POST, PUT, DELETE, LOCK or UNLOCK"}
}

func (h *handler) serveLock(w http.ResponseWriter, r *http.Request, name string) error {
	switch r.Method {
	case http.MethodGet:
		return h.holder(w, name)
	case http.MethodPost, http.MethodPut:
		return h.lock(w, r, name)
	case http.MethodDelete:
		return h.unlock(w, r, name)
	}
	return &methodError{r.Method, "GET, POST or PUT, DELETE, LOCK or UNLOCK"}
}

func (h *handler) get(w http.ResponseWriter, r *http.Request, name string) error {
	st, err := h.store.read(name)
	if err != nil {
		return err
	}
	sum, md := sha256.Sum256(st.text), md5.Sum(st.text)
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-MD5", base64.StdEncoding.EncodeToString(md[:]))
	w.Header().Set("ETag", `"`+hex.EncodeToString(sum[:])+`"`)
	http.ServeContent(w, r, "", st.last.Stored, bytes.NewReader(st.text))
	return nil
}

func (h *handler) put(w http.ResponseWriter, r *http.Request, name string) error {
	text, err := body(w, r, h.access.Limit)
	if err != nil {
		return err
	}
	if l, err := parseLock(text); err == nil && l.ID != "" {
		return &inputError{fmt.Errorf("a lock, sent to the address of the state: that of its lock is %s%s/lock", prefix, name)}
	}
	query := r.URL.Query()
	return h.store.write(name, query.Get("ID"), text, query.Get(forceParameter) == "true")
}

// remove refuses a body: OpenTofu sends none to delete a state, but it does send
// one to unlock, also where it was told to do so by DELETE at this address.
func (h *handler) remove(w http.ResponseWriter, r *http.Request, name string) error {
	text, err := body(w, r, lockLimit)
	if err != nil {
		return err
	}
	if len(text) > 0 {
		return &inputError{fmt.Errorf("a DELETE with a body, which would unlock: the address for that is %s%s/lock", prefix, name)}
	}
	return h.store.remove(name, r.URL.Query().Get("ID"))
}

func (h *handler) lock(w http.ResponseWriter, r *http.Request, name string) error {
	text, err := body(w, r, lockLimit)
	if err != nil {
		return err
	}
	want, err := parseLock(text)
	if err == nil && want.ID == "" {
		err = errors.New("not a lock: it is empty")
	}
	if err != nil {
		return &inputError{err}
	}
	return h.store.lock(name, want)
}

func (h *handler) unlock(w http.ResponseWriter, r *http.Request, name string) error {
	text, err := body(w, r, lockLimit)
	if err != nil {
		return err
	}
	l, err := parseLock(text)
	if err != nil {
		return &inputError{err}
	}
	if l.ID == "" {
		l.ID = r.URL.Query().Get("ID")
	}
	return h.store.unlock(name, l.ID)
}

// holder tells who holds the lock. Nobody is no content and not absent.
func (h *handler) holder(w http.ResponseWriter, name string) error {
	l, err := h.store.holder(name)
	if errors.Is(err, errAbsent) {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(l.text, '\n'))
	return nil
}

// body reads a request's body, which must be whole.
func body(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if large, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, &sizeError{large.Limit}
	}
	if err != nil {
		return nil, &inputError{fmt.Errorf("read the request: %w", err)}
	}
	want := r.Header.Get("Content-MD5")
	if sum := md5.Sum(text); want != "" && want != base64.StdEncoding.EncodeToString(sum[:]) {
		return nil, &inputError{errors.New("the request arrived damaged: its Content-MD5 is that of something else")}
	}
	return text, nil
}

// allows tells whether a request has the credentials. Sums are compared, in a time
// that depends on neither text nor length.
func (a Access) allows(r *http.Request) bool {
	user, password, given := r.BasicAuth()
	sum := func(user, password string) []byte {
		text, _ := json.Marshal([]string{user, password})
		all := sha256.Sum256(text)
		return all[:]
	}
	return subtle.ConstantTimeCompare(sum(user, password), sum(a.User, a.Password.Reveal())) == 1 && given && a.Password.IsSet()
}
