package fake

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

const gandiToken = "pat-of-the-fake-gandi"

func gandi(r *Registry) http.Handler {
	mux := http.NewServeMux()
	no := func(w http.ResponseWriter, err error) {
		reply(w, status(err), map[string]any{"code": status(err), "cause": http.StatusText(status(err)), "object": "HTTPError", "message": err.Error()})
	}
	handle := func(pattern string, serve func(w http.ResponseWriter, request *http.Request) error) {
		method, path, _ := strings.Cut(pattern, " ")
		mux.HandleFunc(method+" /v5/domain/domains/{domain}/"+path, func(w http.ResponseWriter, request *http.Request) {
			switch token, ok := strings.CutPrefix(request.Header.Get("Authorization"), "Bearer "); {
			case !ok:
				reply(w, http.StatusUnauthorized, map[string]any{"code": 401, "cause": "Unauthorized", "message": "The server could not verify that you authorized to access the document you requested."})
				return
			case token != gandiToken:
				reply(w, http.StatusForbidden, map[string]any{"code": 403, "cause": "Forbidden", "message": "Access was denied to this resource."})
				return
			case request.PathValue("domain") != r.Domain:
				no(w, errMissing)
				return
			}
			if err := serve(w, request); err != nil {
				no(w, err)
			}
		})
	}
	taken := func(w http.ResponseWriter, err error) error {
		if err == nil {
			reply(w, http.StatusAccepted, map[string]any{"message": "Confirmed that the operation has been received."})
		}
		return err
	}
	handle("GET nameservers", func(w http.ResponseWriter, _ *http.Request) error {
		s, _ := r.look()
		reply(w, http.StatusOK, s.Servers)
		return nil
	})
	handle("PUT nameservers", func(w http.ResponseWriter, request *http.Request) error {
		var body struct {
			Nameservers []string `json:"nameservers"`
		}
		if err := take(request, &body); err != nil {
			return err
		}
		return taken(w, r.setServers(body.Nameservers, nil))
	})
	gandiHosts(r, handle, taken)
	gandiKeys(r, handle, taken)
	return mux
}

// gandiPage gives the page of a list that a request asks for.
func gandiPage[T any](request *http.Request, list []T) ([]T, error) {
	number, err := strconv.Atoi(request.URL.Query().Get("page"))
	size, sizeErr := strconv.Atoi(request.URL.Query().Get("per_page"))
	if err != nil || sizeErr != nil || number < 1 || size < 1 {
		return nil, fmt.Errorf("%w: page", errInvalid)
	}
	start := min((number-1)*size, len(list))
	return append([]T{}, list[start:min(start+size, len(list))]...), nil
}

type (
	handle func(pattern string, serve func(http.ResponseWriter, *http.Request) error)
	taken  func(http.ResponseWriter, error) error
)

func gandiHosts(r *Registry, handle handle, taken taken) {
	full := func(name string) string {
		if name == "@" {
			return r.Domain
		}
		return name + "." + r.Domain
	}
	handle("GET hosts", func(w http.ResponseWriter, request *http.Request) error {
		s, _ := r.look()
		var list []map[string]any
		for _, name := range slices.Sorted(maps.Keys(s.Hosts)) {
			short := strings.TrimSuffix(name, "."+r.Domain)
			if name == r.Domain {
				short = "@"
			}
			list = append(list, map[string]any{"name": short, "ips": s.Hosts[name], "fqdn": r.Domain, "fqdn_unicode": r.Domain, "href": "x"})
		}
		list, err := gandiPage(request, list)
		if err == nil {
			reply(w, http.StatusOK, list)
		}
		return err
	})
	handle("POST hosts", func(w http.ResponseWriter, request *http.Request) error {
		var body struct {
			Name string   `json:"name"`
			IPs  []string `json:"ips"`
		}
		if err := take(request, &body); err != nil {
			return err
		}
		return taken(w, r.setHost(full(body.Name), body.IPs, false))
	})
	handle("PUT hosts/{name}", func(w http.ResponseWriter, request *http.Request) error {
		var body struct {
			IPs []string `json:"ips"`
		}
		if err := take(request, &body); err != nil {
			return err
		}
		return taken(w, r.setHost(full(request.PathValue("name")), body.IPs, true))
	})
	handle("DELETE hosts/{name}", func(w http.ResponseWriter, request *http.Request) error {
		return taken(w, r.removeHost(full(request.PathValue("name"))))
	})
}

func gandiKeys(r *Registry, handle handle, taken taken) {
	handle("GET dnskeys", func(w http.ResponseWriter, request *http.Request) error {
		s, _ := r.look()
		var list []map[string]any
		for _, k := range s.Keys {
			kind := map[int64]string{256: "zsk", 257: "ksk"}[k.Flags]
			list = append(list, map[string]any{"id": k.ID, "algorithm": k.Algorithm, "type": kind, "public_key": k.Public, "digest_type": 2})
		}
		list, err := gandiPage(request, list)
		if err == nil {
			reply(w, http.StatusOK, list)
		}
		return err
	})
	handle("POST dnskeys", func(w http.ResponseWriter, request *http.Request) error {
		var body struct {
			Algorithm int64  `json:"algorithm"`
			Type      string `json:"type"`
			Public    string `json:"public_key"`
		}
		if err := take(request, &body); err != nil {
			return err
		}
		return taken(w, r.addKey(Key{Flags: map[string]int64{"zsk": 256, "ksk": 257}[body.Type], Algorithm: body.Algorithm, Public: body.Public}))
	})
	handle("DELETE dnskeys/{id}", func(w http.ResponseWriter, request *http.Request) error {
		id, err := strconv.ParseInt(request.PathValue("id"), 10, 64)
		if err != nil {
			return errMissing
		}
		return taken(w, r.removeKey(id))
	})
}
