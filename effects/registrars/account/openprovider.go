package account

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"fediversity.eu/slipway/effects/registrars/delegation"
	"fediversity.eu/slipway/effects/registrars/dnssec"
	"fediversity.eu/slipway/targets/env"
)

// OpenproviderKeys are the credentials for Openprovider.
type OpenproviderKeys struct {
	URL      env.URL    `env:"OPENPROVIDER_URL,default=https://api.openprovider.eu" desc:"address of Openprovider's API"`
	User     string     `env:"OPENPROVIDER_USER" desc:"name of the account at Openprovider"`
	Password env.Secret `env:"OPENPROVIDER_PASSWORD" desc:"password of the account at Openprovider"`
}

// Lacks names the keys that have to be set and are not.
func (k OpenproviderKeys) Lacks() []string {
	return unset(key{"OPENPROVIDER_USER", k.User != ""}, key{"OPENPROVIDER_PASSWORD", k.Password.IsSet()})
}

// Address is that of the API.
func (k OpenproviderKeys) Address() string { return string(k.URL) }

// Check says what is wrong with the keys.
func (OpenproviderKeys) Check() error { return nil }

// openprovider is an account at Openprovider (API v1beta,
// https://docs.openprovider.com/doc/all). A domain has a number there. Answers come
// in an envelope whose code alone says whether a call went well.
type openprovider struct {
	*caller
	keys  OpenproviderKeys
	token string
	ids   map[string]int64
}

// Openprovider opens an account at Openprovider.
func Openprovider(keys OpenproviderKeys, options Options) Account {
	options.Base = keys.Address()
	o := &openprovider{caller: newCaller("openprovider", options), keys: keys, ids: map[string]int64{}}
	o.judge = judgeEnvelope
	return o
}

// envelope is what every answer is in.
type envelope struct {
	Code *int            `json:"code"`
	Desc string          `json:"desc"`
	Data json.RawMessage `json:"data"`
}

// Openprovider's codes that are more than "no".
const (
	openproviderDenied  = 196
	openproviderMissing = 399
)

// judgeEnvelope trusts the envelope before the HTTP status, which may be 200 for a
// failure and 500 for a refusal.
func judgeEnvelope(status int, body []byte) *Error {
	var e envelope
	if json.Unmarshal(body, &e) != nil || e.Code == nil {
		if failed := byStatus(status, body); failed != nil {
			return failed
		}
		return &Error{Class: Malformed, Err: errors.New("there is no code in the answer")}
	}
	switch {
	case *e.Code == 0 && status < 300:
		return nil
	case status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable || *e.Code == 0:
		return byStatus(status, body)
	}
	failed := &Error{Class: Invalid, Message: fmt.Sprintf("code %d: %s", *e.Code, e.Desc)}
	switch {
	case *e.Code == openproviderDenied || status == http.StatusUnauthorized || status == http.StatusForbidden:
		failed.Class = Denied
	case *e.Code == openproviderMissing:
		failed.Class = Missing
	}
	return failed
}

func (o *openprovider) login(ctx context.Context) error {
	c := call{
		method: http.MethodPost, path: "/v1beta/auth/login",
		body: map[string]any{"username": o.keys.User, "password": o.keys.Password.Reveal(), "ip": "0.0.0.0"},
	}
	var answer struct {
		Data struct {
			Token string `json:"token"`
		} `json:"data"`
	}
	if err := o.do(ctx, c, &answer); err != nil {
		return err
	}
	if answer.Data.Token == "" {
		return o.malformed(c, errors.New("there is no token in the answer"))
	}
	o.token = answer.Data.Token
	return nil
}

// ask makes a call, and logs in for it where that is needed. out gets the data.
func (o *openprovider) ask(ctx context.Context, c call, out any) error {
	c.path, c.changes = "/v1beta"+c.path, c.method != http.MethodGet
	c.sign = func(r *http.Request, _ []byte) { r.Header.Set("Authorization", "Bearer "+o.token) }
	fresh := o.token == ""
	if fresh {
		if err := o.login(ctx); err != nil {
			return err
		}
	}
	var e envelope
	err := o.do(ctx, c, &e)
	if failed, ok := errors.AsType[*Error](err); ok && failed.Class == Denied && !fresh {
		// A token ends at some time; the call was not done.
		if err := o.login(ctx); err != nil {
			return err
		}
		err = o.do(ctx, c, &e)
	}
	if err != nil || out == nil {
		return err
	}
	if err := json.Unmarshal(e.Data, out); err != nil {
		return o.malformed(c, err)
	}
	return nil
}

type openproviderServer struct {
	Name string `json:"name"`
	IP   string `json:"ip,omitempty"`
	IP6  string `json:"ip6,omitempty"`
	Seq  int    `json:"seq_nr,omitempty"`
}

type openproviderKey struct {
	Flags     int64  `json:"flags"`
	Algorithm int64  `json:"alg"`
	Protocol  int64  `json:"protocol"`
	Public    string `json:"pub_key"`
}

type openproviderDomain struct {
	ID     int64 `json:"id"`
	Domain struct {
		Name      string `json:"name"`
		Extension string `json:"extension"`
	} `json:"domain"`
	Servers []openproviderServer `json:"name_servers"`
	Keys    []openproviderKey    `json:"dnssec_keys"`
}

// id finds the number of a domain.
func (o *openprovider) id(ctx context.Context, domain string) (string, error) {
	if id, ok := o.ids[domain]; ok {
		return strconv.FormatInt(id, 10), nil
	}
	c := call{method: http.MethodGet, path: "/domains", query: url.Values{"full_name": {domain}}}
	var found struct {
		Results []openproviderDomain `json:"results"`
	}
	if err := o.ask(ctx, c, &found); err != nil {
		return "", err
	}
	for _, d := range found.Results {
		if delegation.Name(d.Domain.Name+"."+d.Domain.Extension) == domain {
			o.ids[domain] = d.ID
			return strconv.FormatInt(d.ID, 10), nil
		}
	}
	return "", o.missing(c, domain)
}

func (o *openprovider) Read(ctx context.Context, domain string) (delegation.Delegation, error) {
	d := delegation.Delegation{Domain: domain}
	id, err := o.id(ctx, domain)
	if err != nil {
		return d, err
	}
	at := call{method: http.MethodGet, path: path("domains", id)}
	var read openproviderDomain
	if err := o.ask(ctx, at, &read); err != nil {
		return d, err
	}
	if name := delegation.Name(read.Domain.Name + "." + read.Domain.Extension); name != domain {
		return d, o.malformed(at, fmt.Errorf("it is of %q, not of %s", name, domain))
	}
	if read.Servers == nil {
		return d, o.malformed(at, errors.New("there are no name servers in the answer"))
	}
	for _, server := range read.Servers {
		name, err := readName(server.Name)
		if err != nil {
			return d, o.malformed(at, err)
		}
		d.Servers = append(d.Servers, name)
	}
	for _, k := range read.Keys {
		key, err := dnssec.ReadKey(k.Flags, k.Algorithm, k.Public)
		if err != nil {
			return d, o.malformed(at, err)
		}
		d.Keys = append(d.Keys, key)
	}
	d.Hosts, err = o.hosts(ctx, domain)
	return d, err
}

// hosts lists the names below a domain; the account has one list of all of them.
func (o *openprovider) hosts(ctx context.Context, domain string) ([]delegation.Host, error) {
	var hosts []delegation.Host
	for offset := 0; ; offset += page {
		c := call{method: http.MethodGet, path: "/dns/nameservers", query: url.Values{
			"pattern": {"*" + domain}, "limit": {strconv.Itoa(page)}, "offset": {strconv.Itoa(offset)},
		}}
		var found struct {
			Results []openproviderServer `json:"results"`
		}
		if err := o.ask(ctx, c, &found); err != nil {
			return nil, err
		}
		for _, server := range found.Results {
			if !delegation.Below(delegation.Name(server.Name), domain) {
				continue
			}
			host, err := addresses(server.Name, server.IP, server.IP6)
			if err != nil {
				return nil, o.malformed(c, err)
			}
			hosts = append(hosts, host)
		}
		if len(found.Results) < page {
			return hosts, nil
		}
	}
}

func (o *openprovider) SetHost(ctx context.Context, _ string, host delegation.Host, known bool) error {
	body := openproviderServer{Name: host.Name, IP: one(host, 4), IP6: one(host, 6)}
	if known {
		return o.ask(ctx, call{method: http.MethodPut, path: path("dns", "nameservers", host.Name), body: body}, nil)
	}
	return o.ask(ctx, call{method: http.MethodPost, path: "/dns/nameservers", body: body}, nil)
}

func (o *openprovider) RemoveHost(ctx context.Context, _, name string) error {
	return o.ask(ctx, call{method: http.MethodDelete, path: path("dns", "nameservers", name)}, nil)
}

func (o *openprovider) SetServers(ctx context.Context, want delegation.Delegation) error {
	list := []openproviderServer{}
	for i, name := range want.Servers {
		host, _ := want.Host(name)
		list = append(list, openproviderServer{Name: name, IP: one(host, 4), IP6: one(host, 6), Seq: i + 1})
	}
	return o.update(ctx, want.Domain, map[string]any{"name_servers": list})
}

func (o *openprovider) SetKeys(ctx context.Context, _, want delegation.Delegation) error {
	list := []openproviderKey{}
	for _, k := range want.Keys {
		list = append(list, openproviderKey{Flags: int64(k.Flags), Algorithm: int64(k.Algorithm), Protocol: 3, Public: public(k)})
	}
	return o.update(ctx, want.Domain, map[string]any{"dnssec_keys": list, "is_dnssec_enabled": len(list) > 0})
}

func (o *openprovider) update(ctx context.Context, domain string, body any) error {
	id, err := o.id(ctx, domain)
	if err != nil {
		return err
	}
	return o.ask(ctx, call{method: http.MethodPut, path: path("domains", id), body: body}, nil)
}
