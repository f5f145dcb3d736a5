package suite

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"sync"
	"testing"

	"gotest.tools/v3/assert"
)

// front stands before a NetBox as a proxy would: it counts what is asked, and can
// stand in the way.
type front struct {
	*httptest.Server
	mu    sync.Mutex
	asked map[string]int
	page  int // objects in a page at most, where that is not 0
	// instead answers a request itself when it gives a status.
	instead func(r *http.Request) (status int, header http.Header)
	// cut tells of a request that the NetBox has answered whether the answer gets
	// lost.
	cut func(r *http.Request) bool
}

func newFront(t *testing.T, to string) *front {
	t.Helper()
	f := &front{asked: map[string]int{}}
	target, err := url.Parse(to)
	assert.NilError(t, err)
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) },
		ModifyResponse: func(r *http.Response) error {
			f.mu.Lock()
			defer f.mu.Unlock()
			if f.cut != nil && f.cut(r.Request) {
				panic(http.ErrAbortHandler)
			}
			return nil
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if f.answer(w, r) {
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(f.Close)
	return f
}

// answer counts a request, and answers it where the front stands in the way.
func (f *front) answer(w http.ResponseWriter, r *http.Request) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked[r.Method]++
	if query := r.URL.Query(); f.page > 0 && query.Has("limit") {
		query.Set("limit", strconv.Itoa(f.page))
		r.URL.RawQuery = query.Encode()
	}
	if f.instead == nil {
		return false
	}
	status, header := f.instead(r)
	if status == 0 {
		return false
	}
	for name := range header {
		w.Header().Set(name, header.Get(name))
	}
	w.WriteHeader(status)
	return true
}

// set changes how the front stands in the way.
func (f *front) set(change func(f *front)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(f)
}

// reset takes it out of the way.
func (f *front) reset() {
	f.set(func(f *front) { f.page, f.instead, f.cut = 0, nil, nil })
}

// count gives the requests so far, by method.
func (f *front) count() map[string]int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.asked)
}
