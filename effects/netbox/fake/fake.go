// Package fake is a NetBox for tests: an HTTP server that keeps the objects that
// the effect knows, and is as strict about them as NetBox is, in places stricter.
// What it says was compared with NetBox 4.7.3.
package fake

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// The tokens that a Server takes.
const (
	TokenV2  = "nbt_abcdefghijkl.0123456789abcdefghijklmnopqrstuvwxyzABCD"
	TokenV1  = "0123456789abcdef0123456789abcdef01234567"
	ReadOnly = "nbt_readonlyread.0123456789abcdefghijklmnopqrstuvwxyzABCD"
)

// Server is a NetBox with nothing in it.
type Server struct {
	*httptest.Server
	Version string // of the API: "4.7" has forms of its own
	PageMax int    // objects in a page at most
	mu      sync.Mutex
	objects map[string][]object // by path, in the order of their ids
	last    int                 // id
}

// object is one as NetBox keeps it: references are ids, choices are values, tags
// are ids.
type object map[string]any

// New starts a NetBox of a version of the API. Close ends it.
func New(version string) *Server {
	s := &Server{Version: version, PageMax: 1000, objects: map[string][]object{}}
	s.Server = httptest.NewServer(s)
	return s
}

// answer is what a request gets.
type answer struct {
	status int
	body   any
}

func (s *Server) detail(status int, text string) answer {
	return answer{status, map[string]any{"detail": text}}
}

// ServeHTTP answers one request after the other.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.handle(r)
	w.Header().Set("API-Version", s.Version)
	if a.status == http.StatusNoContent {
		w.WriteHeader(a.status)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(a.status)
	_ = json.NewEncoder(w).Encode(a.body)
}

func (s *Server) handle(r *http.Request) answer {
	read := r.Method == http.MethodGet
	switch authorization := r.Header.Get("Authorization"); {
	case authorization == "":
		return s.detail(http.StatusForbidden, "Authentication credentials were not provided.")
	case authorization == "Bearer "+TokenV2, authorization == "Token "+TokenV1, authorization == "Bearer "+ReadOnly && read:
	case authorization == "Bearer "+ReadOnly:
		return s.detail(http.StatusForbidden, "You do not have permission to perform this action.")
	default:
		return s.detail(http.StatusForbidden, "Invalid v2 token")
	}
	path, ok := strings.CutPrefix(r.URL.Path, "/api/")
	if !ok || !strings.HasSuffix(path, "/") {
		return s.detail(http.StatusNotFound, "The requested resource was not found; every path ends in a slash.")
	}
	if parent, id, single := one(path); single && models[parent] != nil {
		if i := s.index(parent, id); i >= 0 && read {
			return answer{http.StatusOK, s.show(parent, s.objects[parent][i])}
		}
		if s.index(parent, id) < 0 {
			return s.detail(http.StatusNotFound, "No object matches the given query.")
		}
		var fields object
		if err := json.NewDecoder(r.Body).Decode(&fields); err != nil && r.Method == http.MethodPatch {
			return s.detail(http.StatusBadRequest, "JSON parse error")
		}
		if fields == nil {
			fields = object{}
		}
		fields["id"] = float64(id)
		return s.alone(r.Method, parent, fields)
	}
	if models[path] == nil {
		return s.detail(http.StatusNotFound, "The requested resource was not found.")
	}
	if read {
		return s.list(path, r)
	}
	var body any
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		return s.detail(http.StatusBadRequest, "JSON parse error")
	}
	if fields, ok := body.(map[string]any); ok && r.Method == http.MethodPost {
		return s.alone(r.Method, path, fields)
	}
	list, ok := body.([]any)
	if !ok {
		return s.detail(http.StatusBadRequest, "Expected a list of objects.")
	}
	several := make([]object, len(list))
	for i, one := range list {
		fields, ok := one.(map[string]any)
		if !ok {
			return s.detail(http.StatusBadRequest, "Expected a list of objects.")
		}
		several[i] = fields
	}
	return s.bulk(r.Method, path, several)
}

// one takes the path of one object apart.
func one(path string) (parent string, id int, single bool) {
	trimmed := strings.TrimSuffix(path, "/")
	at := strings.LastIndexByte(trimmed, '/')
	id, err := strconv.Atoi(trimmed[at+1:])
	return trimmed[:at+1], id, err == nil
}

// alone carries out a request about one object.
func (s *Server) alone(method, path string, fields object) answer {
	shown, status, faults := s.carryOut(method, path, []object{fields})
	switch {
	case faults != nil:
		return answer{status, faults[0]}
	case len(shown) > 0:
		return answer{status, shown[0]}
	}
	return answer{status, nil}
}

// bulk carries out a request about several objects. It tells the faults in the
// form of the version.
func (s *Server) bulk(method, path string, several []object) answer {
	shown, status, faults := s.carryOut(method, path, several)
	if faults == nil {
		return answer{status, shown}
	}
	if s.Version < "4.7" {
		return answer{status, faults}
	}
	var list []any
	for i, f := range faults {
		switch {
		case len(f) == 0:
		case method == http.MethodPost:
			list = append(list, map[string]any{"index": i, "errors": f})
		default:
			list = append(list, map[string]any{"id": number(several[i]["id"]), "errors": f})
		}
	}
	return answer{status, map[string]any{"detail": fmt.Sprintf("%d of %d objects failed.", len(list), len(several)), "errors": list}}
}

// carryOut does it for all of several objects, or for none: then it tells the
// faults of each.
func (s *Server) carryOut(method, path string, several []object) (shown []any, status int, faults []map[string][]string) {
	before, last := s.copy(), s.last
	faults = make([]map[string][]string, len(several))
	failed, refused := false, http.StatusBadRequest
	for i, fields := range several {
		var id int
		switch method {
		case http.MethodPost:
			id, faults[i] = s.create(path, fields)
		case http.MethodPatch:
			id, faults[i] = s.change(path, fields)
		case http.MethodDelete:
			var protected bool
			if faults[i], protected = s.remove(path, number(fields["id"])); protected {
				refused = http.StatusConflict
			}
		default:
			faults[i] = map[string][]string{"detail": {"Method not allowed."}}
		}
		failed = failed || len(faults[i]) > 0
		if id != 0 {
			shown = append(shown, s.show(path, s.objects[path][s.index(path, id)]))
		}
	}
	if failed {
		s.objects, s.last = before, last
		return nil, refused, faults
	}
	return shown, map[string]int{http.MethodPost: http.StatusCreated, http.MethodPatch: http.StatusOK, http.MethodDelete: http.StatusNoContent}[method], nil
}

// copy is all objects as they are.
func (s *Server) copy() map[string][]object {
	all := map[string][]object{}
	for path, objects := range s.objects {
		for _, o := range objects {
			all[path] = append(all[path], maps.Clone(o))
		}
	}
	return all
}

func (s *Server) index(path string, id int) int {
	return slices.IndexFunc(s.objects[path], func(o object) bool { return number(o["id"]) == id })
}

// number is a value of JSON, or of our own, as a whole number.
func number(value any) int {
	switch v := value.(type) {
	case float64:
		return int(v)
	case int:
		return v
	}
	return 0
}
