package fake

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
)

// Server is the API of a registrar, on loopback.
type Server struct {
	// Environment are the variables by which a program finds it.
	Environment map[string]string
	server      *httptest.Server
}

// Close stops it.
func (s *Server) Close() {
	s.server.CloseClientConnections() // of those that hang
	s.server.Close()
}

// api is one registrar's API.
type api struct {
	handler     func(*Registry) http.Handler
	environment func(url string) map[string]string
}

var apis = map[string]api{
	"gandi": {gandi, func(url string) map[string]string {
		return map[string]string{"GANDI_URL": url, "GANDI_TOKEN": gandiToken}
	}},
	"inwx":         {inwx, inwxEnvironment},
	"openprovider": {openprovider, openproviderEnvironment},
	"ovh":          {ovh, ovhEnvironment},
	"porkbun":      {porkbun, porkbunEnvironment},
	"transip":      {transip, transipEnvironment},
}

// Start starts the API of a registrar before a registry.
func Start(registrar string, r *Registry) *Server {
	a, ok := apis[registrar]
	if !ok {
		panic("no fake of the registrar " + registrar)
	}
	inner := a.handler(r)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		if r.Trouble != nil {
			switch status := r.Trouble(request.Method, request.URL.Path); {
			case status == Hang:
				_, _ = io.Copy(io.Discard, request.Body) // only then it is noticed that the other side went away
				<-request.Context().Done()
				return
			case status != 0:
				w.WriteHeader(status)
				_, _ = io.WriteString(w, `{"message":"trouble"}`)
				return
			}
		}
		inner.ServeHTTP(w, request)
	}))
	return &Server{Environment: a.environment(server.URL), server: server}
}

// reply writes JSON.
func reply(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // whoever went away gets nothing
}

// take reads the body of a request, and refuses what the API does not know.
func take(r *http.Request, into any) error {
	if !strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") {
		return fmt.Errorf("%w: the body is no JSON", errInvalid)
	}
	decoder := json.NewDecoder(r.Body)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return fmt.Errorf("%w: %s", errInvalid, err.Error())
	}
	return nil
}

// status is the HTTP status that most APIs say an error of the registry with.
func status(err error) int {
	switch {
	case errors.Is(err, errMissing):
		return http.StatusNotFound
	case errors.Is(err, errExists), errors.Is(err, errInUse):
		return http.StatusConflict
	}
	return http.StatusBadRequest
}
