package fake

import (
	"crypto/sha1"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	ovhApplication = "application-of-the-fake-ovh"
	ovhSecret      = "secret-of-the-fake-ovh"
	ovhConsumer    = "consumer-of-the-fake-ovh"
	// ovhAhead is how far its clock is ahead of everybody else's.
	ovhAhead = 2 * time.Hour
)

func ovhEnvironment(url string) map[string]string {
	return map[string]string{
		"OVH_URL": url + "/1.0", "OVH_APPLICATION_KEY": ovhApplication, "OVH_APPLICATION_SECRET": ovhSecret, "OVH_CONSUMER_KEY": ovhConsumer,
	}
}

// ovhSigned tells whether a request is signed, not long ago.
func ovhSigned(request *http.Request, body []byte) bool {
	at := request.Header.Get("X-Ovh-Timestamp")
	seconds, err := strconv.ParseInt(at, 10, 64)
	if age := time.Since(time.Unix(seconds, 0)) + ovhAhead; err != nil || age.Abs() > time.Minute {
		return false
	}
	sum := sha1.Sum(fmt.Appendf(nil, "%s+%s+%s+http://%s%s+%s+%s",
		ovhSecret, ovhConsumer, request.Method, request.Host, request.URL.RequestURI(), body, at))
	return request.Header.Get("X-Ovh-Application") == ovhApplication && request.Header.Get("X-Ovh-Consumer") == ovhConsumer &&
		request.Header.Get("X-Ovh-Signature") == fmt.Sprintf("$1$%x", sum)
}

// ovhState is what OVHcloud has beside the registry.
type ovhState struct {
	mu    sync.Mutex
	kind  string // of the domain's name servers
	tasks int64
}

func ovh(r *Registry) http.Handler {
	mux := http.NewServeMux()
	state := &ovhState{kind: "hosted"}
	mux.HandleFunc("GET /1.0/auth/time", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, http.StatusOK, time.Now().Add(ovhAhead).Unix())
	})
	handle := func(pattern string, serve func(http.ResponseWriter, *http.Request) error) {
		method, path, _ := strings.Cut(pattern, " ")
		mux.HandleFunc(method+" /1.0/domain/{domain}"+path, func(w http.ResponseWriter, request *http.Request) {
			body, _ := io.ReadAll(request.Body)
			request.Body = io.NopCloser(strings.NewReader(string(body)))
			err := errMissing
			switch {
			case !ovhSigned(request, body):
				reply(w, http.StatusForbidden, map[string]any{"message": "Invalid signature", "errorCode": "INVALID_SIGNATURE", "httpCode": "403 Forbidden"})
				return
			case request.PathValue("domain") == r.Domain:
				err = serve(w, request)
			}
			if err != nil {
				reply(w, status(err), map[string]any{"message": err.Error()})
			}
		})
	}
	// task answers with a task that is done when the change shows.
	task := func(w http.ResponseWriter, function string, err error) error {
		if err == nil {
			state.mu.Lock()
			state.tasks++
			reply(w, http.StatusOK, map[string]any{"id": state.tasks, "status": "todo", "function": function})
			state.mu.Unlock()
		}
		return err
	}
	handle("GET ", func(w http.ResponseWriter, _ *http.Request) error {
		state.mu.Lock()
		defer state.mu.Unlock()
		reply(w, http.StatusOK, map[string]any{"domain": r.Domain, "nameServerType": state.kind, "hostSupported": !r.Joint, "dnssecSupported": true})
		return nil
	})
	handle("PUT ", func(_ http.ResponseWriter, request *http.Request) error {
		var body struct {
			Type string `json:"nameServerType"`
		}
		if err := take(request, &body); err != nil || body.Type != "external" {
			return errInvalid
		}
		state.mu.Lock()
		defer state.mu.Unlock()
		state.kind = body.Type
		return nil
	})
	handle("GET /task/{id}", func(w http.ResponseWriter, _ *http.Request) error {
		_, done := r.look()
		reply(w, http.StatusOK, map[string]any{"id": 1, "status": map[bool]string{true: "done", false: "doing"}[done], "function": "x"})
		return nil
	})
	ovhServers(r, state, handle, task)
	ovhHosts(r, handle, task)
	ovhKeys(r, handle, task)
	return mux
}

type ovhTask func(w http.ResponseWriter, function string, err error) error

func ovhServers(r *Registry, state *ovhState, handle handle, task ovhTask) {
	handle("GET /nameServer", func(w http.ResponseWriter, _ *http.Request) error {
		s, _ := r.look()
		ids := []int{1} // of one that is on its way out
		for i := range s.Servers {
			ids = append(ids, i+10)
		}
		reply(w, http.StatusOK, ids)
		return nil
	})
	handle("GET /nameServer/{id}", func(w http.ResponseWriter, request *http.Request) error {
		s := r.Holds()
		id, err := strconv.Atoi(request.PathValue("id"))
		if id == 1 {
			reply(w, http.StatusOK, map[string]any{"id": 1, "host": "old.example.com", "ip": nil, "toDelete": true, "isUsed": false})
			return nil
		}
		if err != nil || id < 10 || id >= 10+len(s.Servers) {
			return errMissing
		}
		name := s.Servers[id-10]
		answer := map[string]any{"id": id, "host": name, "ip": nil, "toDelete": false, "isUsed": true}
		if r.Joint && len(s.Hosts[name]) > 0 {
			answer["ip"] = s.Hosts[name][0]
		}
		reply(w, http.StatusOK, answer)
		return nil
	})
	handle("POST /nameServers/update", func(w http.ResponseWriter, request *http.Request) error {
		var body struct {
			List []struct {
				Host string `json:"host"`
				IP   string `json:"ip"`
			} `json:"nameServers"`
		}
		if err := take(request, &body); err != nil {
			return err
		}
		state.mu.Lock()
		kind := state.kind
		state.mu.Unlock()
		if kind != "external" {
			return fmt.Errorf("%w: the name servers are hosted", errInvalid)
		}
		var names []string
		var hosts map[string][]string
		if r.Joint {
			hosts = map[string][]string{}
		}
		for _, server := range body.List {
			names = append(names, server.Host)
			if server.IP != "" {
				if !r.Joint {
					return fmt.Errorf("%w: an address beside a host", errInvalid)
				}
				hosts[server.Host] = []string{server.IP}
			}
		}
		return task(w, "DomainDnsUpdate", r.setServers(names, hosts))
	})
}

func ovhHosts(r *Registry, handle handle, task ovhTask) {
	supported := func(serve func(http.ResponseWriter, *http.Request) error) func(http.ResponseWriter, *http.Request) error {
		return func(w http.ResponseWriter, request *http.Request) error {
			if r.Joint {
				return fmt.Errorf("%w: the registry has no hosts", errInvalid)
			}
			return serve(w, request)
		}
	}
	type host struct {
		Host string   `json:"host"`
		IPs  []string `json:"ips"`
	}
	handle("GET /glueRecord", supported(func(w http.ResponseWriter, _ *http.Request) error {
		s, _ := r.look()
		reply(w, http.StatusOK, append([]string{}, slices.Sorted(maps.Keys(s.Hosts))...))
		return nil
	}))
	handle("GET /glueRecord/{host}", supported(func(w http.ResponseWriter, request *http.Request) error {
		name := request.PathValue("host")
		ips, ok := r.Holds().Hosts[name]
		if !ok {
			return errMissing
		}
		reply(w, http.StatusOK, host{name, ips})
		return nil
	}))
	handle("POST /glueRecord", supported(func(w http.ResponseWriter, request *http.Request) error {
		var body host
		if err := take(request, &body); err != nil {
			return err
		}
		return task(w, "DomainHostCreate", r.setHost(body.Host, body.IPs, false))
	}))
	handle("POST /glueRecord/{host}/update", supported(func(w http.ResponseWriter, request *http.Request) error {
		var body host
		if err := take(request, &body); err != nil {
			return err
		}
		return task(w, "DomainHostUpdate", r.setHost(request.PathValue("host"), body.IPs, true))
	}))
	handle("DELETE /glueRecord/{host}", supported(func(w http.ResponseWriter, request *http.Request) error {
		return task(w, "DomainHostDelete", r.removeHost(request.PathValue("host")))
	}))
}

func ovhKeys(r *Registry, handle handle, task ovhTask) {
	type key struct {
		Algorithm int64  `json:"algorithm"`
		Flags     int64  `json:"flags"`
		Public    string `json:"publicKey"`
		Tag       int64  `json:"tag"`
	}
	handle("GET /dsRecord", func(w http.ResponseWriter, _ *http.Request) error {
		s, _ := r.look()
		ids := []int64{}
		for _, k := range s.Keys {
			ids = append(ids, k.ID)
		}
		reply(w, http.StatusOK, ids)
		return nil
	})
	handle("GET /dsRecord/{id}", func(w http.ResponseWriter, request *http.Request) error {
		for _, k := range r.Holds().Keys {
			if strconv.FormatInt(k.ID, 10) == request.PathValue("id") {
				reply(w, http.StatusOK, map[string]any{
					"id": k.ID, "algorithm": k.Algorithm, "flags": k.Flags, "publickey": k.Public, "tag": tagOf(k), "status": "enabled",
				})
				return nil
			}
		}
		return errMissing
	})
	handle("POST /dsRecord", func(w http.ResponseWriter, request *http.Request) error {
		var body struct {
			List *[]key `json:"dsRecords"`
		}
		if err := take(request, &body); err != nil {
			return err
		}
		if body.List == nil {
			return errInvalid
		}
		var keys []Key
		for _, k := range *body.List {
			stored := Key{Flags: k.Flags, Algorithm: k.Algorithm, Public: k.Public}
			if tagOf(stored) != k.Tag {
				return fmt.Errorf("%w: tag %d", errInvalid, k.Tag)
			}
			keys = append(keys, stored)
		}
		return task(w, "DomainDnssecUpdate", r.setKeys(keys, 4))
	})
}
