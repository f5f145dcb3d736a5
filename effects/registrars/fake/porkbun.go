package fake

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

const (
	porkbunKey    = "pk1_of_the_fake_porkbun"
	porkbunSecret = "sk1_of_the_fake_porkbun"
)

func porkbunEnvironment(url string) map[string]string {
	return map[string]string{"PORKBUN_URL": url + "/api/json/v3", "PORKBUN_API_KEY": porkbunKey, "PORKBUN_SECRET_KEY": porkbunSecret}
}

// porkbunBody is what any call may have in its body.
type porkbunBody struct {
	Key       string   `json:"apikey"`
	Secret    string   `json:"secretapikey"`
	NS        []string `json:"ns"`
	IPs       []string `json:"ips"`
	Tag       string   `json:"keyTag"`
	Algorithm string   `json:"alg"`
	Kind      string   `json:"digestType"`
	Digest    string   `json:"digest"`
}

func porkbun(r *Registry) http.Handler {
	mux := http.NewServeMux()
	no := func(w http.ResponseWriter, status int, text string) {
		reply(w, status, map[string]any{"status": "ERROR", "message": text})
	}
	handle := func(path string, serve func(*http.Request, porkbunBody) (map[string]any, error)) {
		mux.HandleFunc("POST /api/json/v3/"+path, func(w http.ResponseWriter, request *http.Request) {
			var body porkbunBody
			if err := take(request, &body); err != nil {
				no(w, http.StatusBadRequest, err.Error())
				return
			}
			switch {
			case body.Key != porkbunKey || body.Secret != porkbunSecret:
				no(w, http.StatusForbidden, "Invalid API key. (001)")
				return
			case request.PathValue("domain") != r.Domain:
				no(w, http.StatusBadRequest, "Invalid domain.")
				return
			}
			answer, err := serve(request, body)
			if err != nil {
				no(w, http.StatusOK, err.Error()) // HTTP 200 is no success
				return
			}
			if answer == nil {
				answer = map[string]any{}
			}
			answer["status"] = "SUCCESS"
			reply(w, http.StatusOK, answer)
		})
	}
	handle("domain/getNs/{domain}", func(*http.Request, porkbunBody) (map[string]any, error) {
		s, _ := r.look()
		return map[string]any{"ns": s.Servers}, nil
	})
	handle("domain/updateNs/{domain}", func(_ *http.Request, body porkbunBody) (map[string]any, error) {
		return nil, r.setServers(body.NS, nil)
	})
	handle("domain/getGlue/{domain}", func(*http.Request, porkbunBody) (map[string]any, error) {
		s, _ := r.look()
		hosts := [][]any{}
		for _, name := range slices.Sorted(maps.Keys(s.Hosts)) {
			by := map[string][]string{}
			for _, text := range s.Hosts[name] {
				family := map[bool]string{true: "v6", false: "v4"}[strings.Contains(text, ":")]
				by[family] = append(by[family], text)
			}
			hosts = append(hosts, []any{name, by})
		}
		return map[string]any{"hosts": hosts}, nil
	})
	name := func(request *http.Request) string { return request.PathValue("sub") + "." + r.Domain }
	handle("domain/createGlue/{domain}/{sub}", func(request *http.Request, body porkbunBody) (map[string]any, error) {
		return nil, r.setHost(name(request), body.IPs, false)
	})
	handle("domain/updateGlue/{domain}/{sub}", func(request *http.Request, body porkbunBody) (map[string]any, error) {
		return nil, r.setHost(name(request), body.IPs, true)
	})
	handle("domain/deleteGlue/{domain}/{sub}", func(request *http.Request, _ porkbunBody) (map[string]any, error) {
		return nil, r.removeHost(name(request))
	})
	porkbunDigests(r, handle)
	return mux
}

func porkbunDigests(r *Registry, handle func(string, func(*http.Request, porkbunBody) (map[string]any, error))) {
	handle("dns/getDnssecRecords/{domain}", func(*http.Request, porkbunBody) (map[string]any, error) {
		s, _ := r.look()
		if len(s.DS) == 0 {
			return map[string]any{"records": []any{}}, nil
		}
		records := map[string]any{}
		for _, d := range s.DS {
			tag := strconv.FormatInt(d.Tag, 10)
			records[tag] = map[string]any{
				"keyTag": tag, "alg": strconv.FormatInt(d.Algorithm, 10), "digestType": strconv.FormatInt(d.Kind, 10), "digest": strings.ToLower(d.Digest),
			}
		}
		return map[string]any{"records": records}, nil
	})
	handle("dns/createDnssecRecord/{domain}", func(_ *http.Request, body porkbunBody) (map[string]any, error) {
		tag, err := strconv.ParseInt(body.Tag, 10, 32)
		algorithm, err2 := strconv.ParseInt(body.Algorithm, 10, 32)
		kind, err3 := strconv.ParseInt(body.Kind, 10, 32)
		if err != nil || err2 != nil || err3 != nil {
			return nil, errInvalid
		}
		return nil, r.addDS(DS{tag, algorithm, kind, body.Digest})
	})
	handle("dns/deleteDnssecRecord/{domain}/{tag}", func(request *http.Request, _ porkbunBody) (map[string]any, error) {
		tag, err := strconv.ParseInt(request.PathValue("tag"), 10, 32)
		if err != nil {
			return nil, errMissing
		}
		return nil, r.removeDS(tag)
	})
}
