package fake

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/miekg/dns"
)

const (
	inwxUser     = "fake-user"
	inwxPassword = "password-of-the-fake-inwx"
	inwxSecret   = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"
	inwxSession  = "session-of-the-fake-inwx"
)

func inwxEnvironment(url string) map[string]string {
	return map[string]string{"INWX_URL": url + "/jsonrpc/", "INWX_USER": inwxUser, "INWX_PASSWORD": inwxPassword, "INWX_TOTP_SECRET": inwxSecret}
}

// inwxError is a code, and what it means.
type inwxError struct {
	code int
	text string
}

func (e *inwxError) Error() string { return e.text }

// inwx answers every call with HTTP 200 and a code.
func inwx(r *Registry) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /jsonrpc/{$}", func(w http.ResponseWriter, request *http.Request) {
		var body struct {
			Method string          `json:"method"`
			Params json.RawMessage `json:"params"`
		}
		err := take(request, &body)
		var data any
		if err == nil {
			data, err = inwxCall(r, w, request, body.Method, body.Params)
		}
		answer := map[string]any{"code": 1000, "msg": "Command completed successfully"}
		var own *inwxError
		switch {
		case err == nil && r.Delay > 0 && strings.HasPrefix(body.Method, "domain.update"):
			answer = map[string]any{"code": 1001, "msg": "Command completed successfully; action pending"}
		case errors.As(err, &own):
			answer = map[string]any{"code": own.code, "msg": own.text}
		case errors.Is(err, errMissing):
			answer = map[string]any{"code": 2303, "msg": "Object does not exist"}
		case errors.Is(err, errExists):
			answer = map[string]any{"code": 2302, "msg": "Object exists"}
		case errors.Is(err, errInUse):
			answer = map[string]any{"code": 2305, "msg": "Object association prohibits operation"}
		case err != nil:
			answer = map[string]any{"code": 2005, "msg": "Parameter value syntax error", "reason": err.Error()}
		}
		if data != nil {
			answer["resData"] = data
		}
		reply(w, http.StatusOK, answer)
	})
	return mux
}

// params reads the parameters of a call, and knows no others.
func params(raw json.RawMessage, into any) error {
	decoder := json.NewDecoder(strings.NewReader(string(raw)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return fmt.Errorf("%w: %s", errInvalid, err.Error())
	}
	return nil
}

// The states of a session, which are its cookie.
const (
	inwxLocked = inwxSession + "-locked"
	inwxOpen   = inwxSession + "-open"
)

func inwxCall(r *Registry, w http.ResponseWriter, request *http.Request, method string, raw json.RawMessage) (any, error) {
	session := ""
	if cookie, err := request.Cookie("domrobot"); err == nil {
		session = cookie.Value
	}
	enter := func(state string) { http.SetCookie(w, &http.Cookie{Name: "domrobot", Value: state, Path: "/"}) }
	switch {
	case method == "account.login":
		var p struct{ User, Pass string }
		if err := params(raw, &p); err != nil || p.User != inwxUser || p.Pass != inwxPassword {
			return nil, &inwxError{2200, "Authentication error"}
		}
		enter(inwxLocked)
		return map[string]any{"customerId": "1", "tfa": "GOOGLE-AUTH"}, nil
	case method == "account.unlock" && session == inwxLocked:
		var p struct{ Tan string }
		if err := params(raw, &p); err != nil || !r.takes(p.Tan) {
			return nil, &inwxError{2200, "Authentication error"}
		}
		enter(inwxOpen)
		return nil, nil
	case session != inwxOpen:
		return nil, &inwxError{2200, "Authentication error"}
	}
	r = r.of(inwxName(raw))
	switch {
	case strings.HasPrefix(method, "host."):
		return inwxHosts(r, method, raw)
	case strings.HasPrefix(method, "dnssec."):
		return inwxKeys(r, method, raw)
	}
	var p struct {
		Domain string
		NS     []string
	}
	if err := params(raw, &p); err != nil {
		return nil, err
	}
	switch {
	case p.Domain != r.Domain:
		return nil, errMissing
	case method == "domain.info":
		s, _ := r.look()
		return map[string]any{"domain": r.Domain, "ns": s.Servers, "status": "OK"}, nil
	case method == "domain.update":
		return nil, r.setServers(p.NS, nil)
	}
	return nil, &inwxError{2000, "Unknown command"}
}

// inwxName is the name that a call is about; none where it has but a number.
func inwxName(raw json.RawMessage) string {
	var p struct{ Domain, DomainName, Hostname, Search string }
	_ = json.Unmarshal(raw, &p) // what is wrong with it is told by those who take it
	return cmp.Or(p.Domain, p.DomainName, p.Hostname, strings.TrimPrefix(p.Search, "*"))
}

func inwxHosts(r *Registry, method string, raw json.RawMessage) (any, error) {
	var p struct {
		Hostname, Search string
		IP               []string
		Page, PageLimit  int
	}
	if err := params(raw, &p); err != nil {
		return nil, err
	}
	switch method {
	case "host.list":
		if p.Search != "*"+r.Domain || p.Page < 1 || p.PageLimit < 1 {
			return nil, errInvalid
		}
		s, _ := r.look()
		// The account has others, too.
		list := []any{map[string]any{"roId": 1, "hostname": "ns1.not" + r.Domain, "ip": []string{"192.0.2.99"}}}
		for _, name := range slices.Sorted(maps.Keys(s.Hosts)) {
			list = append(list, map[string]any{"roId": 2, "hostname": name, "ip": s.Hosts[name], "status": "OK"})
		}
		start := min((p.Page-1)*p.PageLimit, len(list))
		return map[string]any{"count": len(list), "host": list[start:min(start+p.PageLimit, len(list))]}, nil
	case "host.create", "host.update":
		return nil, r.setHost(p.Hostname, p.IP, method == "host.update")
	case "host.delete":
		return nil, r.removeHost(p.Hostname)
	}
	return nil, &inwxError{2000, "Unknown command"}
}

func inwxKeys(r *Registry, method string, raw json.RawMessage) (any, error) {
	var p struct {
		DomainName, DNSKEY string
		CalculateDigest    bool
		Key                int64
	}
	if err := params(raw, &p); err != nil {
		return nil, err
	}
	switch method {
	case "dnssec.listkeys":
		s, _ := r.look()
		// Numbers are texts, and what was deleted is still there.
		list := []map[string]any{{
			"ownerName": r.Domain, "id": "7", "keyTag": "1", "flagId": "257", "algorithmId": "13", "publicKey": "AA==", "status": "DELETED", "active": 0,
		}}
		for _, k := range s.Keys {
			list = append(list, map[string]any{
				"ownerName": r.Domain, "id": strconv.FormatInt(k.ID, 10), "keyTag": strconv.FormatInt(tagOf(k), 10), "flagId": strconv.FormatInt(k.Flags, 10),
				"algorithmId": strconv.FormatInt(k.Algorithm, 10), "publicKey": k.Public, "digestTypeId": "2", "status": "OK", "active": 1,
			})
		}
		return list, nil
	case "dnssec.adddnskey":
		record, err := dns.NewRR(p.DNSKEY)
		key, ok := record.(*dns.DNSKEY)
		if err != nil || !ok || p.DomainName != r.Domain || key.Hdr.Name != dns.Fqdn(r.Domain) || key.Flags != 257 || key.Protocol != 3 || !p.CalculateDigest {
			return nil, fmt.Errorf("%w: %s", errInvalid, p.DNSKEY)
		}
		return map[string]any{"ds": "x"}, r.addKey(Key{Flags: int64(key.Flags), Algorithm: int64(key.Algorithm), Public: key.PublicKey})
	case "dnssec.deletednskey":
		return nil, r.removeKey(p.Key)
	}
	return nil, &inwxError{2000, "Unknown command"}
}
