package fake

import (
	"errors"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
)

const (
	openproviderUser     = "fake-user"
	openproviderPassword = "password-of-the-fake-openprovider"
	openproviderID       = 4711
	// openproviderLife is after how many calls a token ends.
	openproviderLife = 5
)

func openproviderEnvironment(url string) map[string]string {
	return map[string]string{"OPENPROVIDER_URL": url, "OPENPROVIDER_USER": openproviderUser, "OPENPROVIDER_PASSWORD": openproviderPassword}
}

type openproviderServer struct {
	Name string `json:"name"`
	IP   string `json:"ip"`
	IP6  string `json:"ip6"`
	Seq  int    `json:"seq_nr"`
}

func (s openproviderServer) addresses() []string {
	return slices.DeleteFunc([]string{s.IP, s.IP6}, func(text string) bool { return text == "" })
}

// openprovider says by a code in the body whether a call went well: the HTTP status
// is 200 or 500, whatever it is.
func openprovider(r *Registry) http.Handler {
	mux := http.NewServeMux()
	var token atomic.Int64
	var used atomic.Int64
	answer := func(w http.ResponseWriter, data any, err error) {
		code := 0
		switch {
		case errors.Is(err, errMissing):
			code = 399
		case err != nil:
			code = 817
		}
		if err != nil {
			reply(w, map[bool]int{true: http.StatusOK, false: http.StatusInternalServerError}[code == 399], map[string]any{"code": code, "desc": err.Error(), "data": nil})
			return
		}
		reply(w, http.StatusOK, map[string]any{"code": 0, "desc": "", "data": data})
	}
	mux.HandleFunc("POST /v1beta/auth/login", func(w http.ResponseWriter, request *http.Request) {
		var body struct {
			Username, Password, IP string
		}
		if err := take(request, &body); err != nil || body.Username != openproviderUser || body.Password != openproviderPassword || body.IP == "" {
			reply(w, http.StatusInternalServerError, map[string]any{"code": 196, "desc": "Authentication/Authorization Failed"})
			return
		}
		used.Store(0)
		answer(w, map[string]any{"token": "token-" + strconv.FormatInt(token.Add(1), 10), "reseller_id": 1}, nil)
	})
	handle := func(pattern string, serve func(*http.Request) (any, error)) {
		method, path, _ := strings.Cut(pattern, " ")
		mux.HandleFunc(method+" /v1beta/"+path, func(w http.ResponseWriter, request *http.Request) {
			if request.Header.Get("Authorization") != "Bearer token-"+strconv.FormatInt(token.Load(), 10) || used.Add(1) > openproviderLife {
				reply(w, http.StatusUnauthorized, map[string]any{"code": 196, "desc": "Authentication/Authorization Failed"})
				return
			}
			data, err := serve(request)
			answer(w, data, err)
		})
	}
	domain := func() map[string]any {
		s, _ := r.look()
		name, extension, _ := strings.Cut(r.Domain, ".")
		servers := []openproviderServer{}
		for i, server := range s.Servers {
			servers = append(servers, openproviderServer{Name: server, Seq: i + 1})
		}
		keys := []map[string]any{}
		for _, k := range s.Keys {
			keys = append(keys, map[string]any{"flags": k.Flags, "alg": k.Algorithm, "protocol": 3, "pub_key": k.Public, "readonly": 0})
		}
		return map[string]any{
			"id": openproviderID, "domain": map[string]any{"name": name, "extension": extension}, "name_servers": servers, "dnssec_keys": keys, "is_dnssec_enabled": len(keys) > 0,
		}
	}
	handle("GET domains", func(request *http.Request) (any, error) {
		results := []any{}
		if request.URL.Query().Get("full_name") == r.Domain {
			results = append(results, domain())
		}
		return map[string]any{"results": results, "total": len(results)}, nil
	})
	handle("GET domains/{id}", func(request *http.Request) (any, error) {
		if request.PathValue("id") != strconv.Itoa(openproviderID) {
			return nil, errMissing
		}
		return domain(), nil
	})
	handle("PUT domains/{id}", func(request *http.Request) (any, error) { return nil, openproviderUpdate(r, request) })
	openproviderHosts(r, handle)
	return mux
}

func openproviderUpdate(r *Registry, request *http.Request) error {
	var body struct {
		Servers []openproviderServer `json:"name_servers"`
		Keys    *[]struct {
			Flags     int64  `json:"flags"`
			Algorithm int64  `json:"alg"`
			Protocol  int64  `json:"protocol"`
			Public    string `json:"pub_key"`
		} `json:"dnssec_keys"`
		Enabled *bool `json:"is_dnssec_enabled"`
	}
	if request.PathValue("id") != strconv.Itoa(openproviderID) {
		return errMissing
	}
	if err := take(request, &body); err != nil {
		return err
	}
	if body.Keys == nil {
		var names []string
		for _, server := range body.Servers {
			names = append(names, server.Name)
		}
		return r.setServers(names, nil)
	}
	if body.Enabled == nil || *body.Enabled != (len(*body.Keys) > 0) {
		return errInvalid
	}
	var keys []Key
	for _, k := range *body.Keys {
		if k.Protocol != 3 {
			return errInvalid
		}
		keys = append(keys, Key{Flags: k.Flags, Algorithm: k.Algorithm, Public: k.Public})
	}
	return r.setKeys(keys, 10)
}

func openproviderHosts(r *Registry, handle func(string, func(*http.Request) (any, error))) {
	handle("GET dns/nameservers", func(request *http.Request) (any, error) {
		s, _ := r.look()
		// The account has others, too.
		results := []openproviderServer{{Name: "ns1.not" + r.Domain, IP: "192.0.2.99"}}
		if pattern := request.URL.Query().Get("pattern"); pattern != "*"+r.Domain {
			return nil, errInvalid
		}
		for _, name := range slices.Sorted(maps.Keys(s.Hosts)) {
			server := openproviderServer{Name: name}
			for _, text := range s.Hosts[name] {
				if strings.Contains(text, ":") {
					server.IP6 = text
				} else {
					server.IP = text
				}
			}
			results = append(results, server)
		}
		return map[string]any{"results": results, "total": len(results)}, nil
	})
	set := func(request *http.Request, known bool) error {
		var body openproviderServer
		if err := take(request, &body); err != nil {
			return err
		}
		if known && request.PathValue("name") != body.Name {
			return errInvalid
		}
		return r.setHost(body.Name, body.addresses(), known)
	}
	handle("POST dns/nameservers", func(request *http.Request) (any, error) { return nil, set(request, false) })
	handle("PUT dns/nameservers/{name}", func(request *http.Request) (any, error) { return nil, set(request, true) })
	handle("DELETE dns/nameservers/{name}", func(request *http.Request) (any, error) {
		return nil, r.removeHost(request.PathValue("name"))
	})
}
