package account

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"

	"fediversity.eu/slipway/effects/registrars/delegation"
	"fediversity.eu/slipway/effects/registrars/dnssec"
	"fediversity.eu/slipway/targets/env"
)

// PorkbunKeys are the credentials for Porkbun.
type PorkbunKeys struct {
	URL    env.URL    `env:"PORKBUN_URL,default=https://api.porkbun.com/api/json/v3" desc:"address of Porkbun's API"`
	Key    env.Secret `env:"PORKBUN_API_KEY" desc:"API key of Porkbun; the domain must be opted in to API access"`
	Secret env.Secret `env:"PORKBUN_SECRET_KEY" desc:"secret API key of Porkbun"`
}

// Lacks names the keys that have to be set and are not.
func (k PorkbunKeys) Lacks() []string {
	return unset(key{"PORKBUN_API_KEY", k.Key.IsSet()}, key{"PORKBUN_SECRET_KEY", k.Secret.IsSet()})
}

// Address is that of the API.
func (k PorkbunKeys) Address() string { return string(k.URL) }

// Check says what is wrong with the keys.
func (PorkbunKeys) Check() error { return nil }

// porkbun is an account at Porkbun (https://porkbun.com/api/json/v3/documentation).
// Every call is a POST with the credentials in its body. It takes digests, not keys.
type porkbun struct {
	*caller
	keys PorkbunKeys
}

// Porkbun opens an account at Porkbun.
func Porkbun(keys PorkbunKeys, options Options) Account {
	options.Base = keys.Address()
	p := &porkbun{caller: newCaller("porkbun", options), keys: keys}
	p.judge = judgePorkbun
	return p
}

// judgePorkbun trusts the status in the body. 202 and 503 are its rate limits.
func judgePorkbun(status int, body []byte) *Error {
	if status == http.StatusAccepted || status == http.StatusServiceUnavailable {
		return &Error{Class: Unavailable, Message: message(body), idle: true}
	}
	var answer struct {
		Status string `json:"status"`
	}
	err := json.Unmarshal(body, &answer)
	switch {
	case err == nil && answer.Status == "SUCCESS" && status == http.StatusOK:
		return nil
	case status != http.StatusOK:
		if failed := byStatus(status, body); failed != nil {
			return failed
		}
	case err == nil && answer.Status == "ERROR":
		return &Error{Class: Invalid, Message: message(body)}
	}
	return &Error{Class: Malformed, Err: errors.New("it says neither success nor error")}
}

func (p *porkbun) ask(ctx context.Context, at string, params map[string]any, changes bool, out any) error {
	body := map[string]any{"apikey": p.keys.Key.Reveal(), "secretapikey": p.keys.Secret.Reveal()}
	maps.Copy(body, params)
	return p.do(ctx, call{method: http.MethodPost, path: at, body: body, changes: changes}, out)
}

func (p *porkbun) Read(ctx context.Context, domain string) (delegation.Delegation, error) {
	d := delegation.Delegation{Domain: domain}
	var servers struct {
		NS []string `json:"ns"`
	}
	if err := p.ask(ctx, path("domain", "getNs", domain), nil, false, &servers); err != nil {
		return d, err
	}
	var err error
	if d.Servers, err = readServers(servers.NS); err != nil {
		return d, p.malformed(call{method: http.MethodPost, path: path("domain", "getNs", domain)}, err)
	}
	if err := p.readHosts(ctx, &d); err != nil {
		return d, err
	}
	at := path("dns", "getDnssecRecords", domain)
	var records struct {
		List json.RawMessage `json:"records"` // an object; an empty one may be a list
	}
	if err := p.ask(ctx, at, nil, false, &records); err != nil {
		return d, err
	}
	list := map[string]porkbunDS{}
	if len(records.List) == 0 {
		return d, p.malformed(call{method: http.MethodPost, path: at}, errors.New("there are no records in the answer, not even none"))
	}
	if string(records.List) != "[]" {
		if err := json.Unmarshal(records.List, &list); err != nil {
			return d, p.malformed(call{method: http.MethodPost, path: at}, err)
		}
	}
	for _, tag := range slices.Sorted(maps.Keys(list)) {
		ds, err := list[tag].read()
		if err != nil {
			return d, p.malformed(call{method: http.MethodPost, path: at}, err)
		}
		d.DS = append(d.DS, ds)
	}
	return d, nil
}

type porkbunDS struct {
	Tag       string `json:"keyTag"`
	Algorithm string `json:"alg"`
	Kind      string `json:"digestType"`
	Digest    string `json:"digest"`
}

func (r porkbunDS) read() (dnssec.DS, error) {
	tag, badTag := strconv.ParseInt(r.Tag, 10, 32)
	algorithm, badAlgorithm := strconv.ParseInt(r.Algorithm, 10, 32)
	kind, badKind := strconv.ParseInt(r.Kind, 10, 32)
	if err := errors.Join(badTag, badAlgorithm, badKind); err != nil {
		return dnssec.DS{}, err
	}
	return dnssec.ReadDS(tag, algorithm, kind, r.Digest)
}

func (p *porkbun) readHosts(ctx context.Context, d *delegation.Delegation) error {
	at := path("domain", "getGlue", d.Domain)
	var glue struct {
		Hosts [][]json.RawMessage `json:"hosts"` // pairs of a name and its addresses
	}
	if err := p.ask(ctx, at, nil, false, &glue); err != nil {
		return err
	}
	for _, pair := range glue.Hosts {
		var name string
		var has struct {
			V4 []string `json:"v4"`
			V6 []string `json:"v6"`
		}
		err := errors.New("a host is no pair of a name and its addresses")
		if len(pair) == 2 {
			err = errors.Join(json.Unmarshal(pair[0], &name), json.Unmarshal(pair[1], &has))
		}
		if err != nil {
			return p.malformed(call{method: http.MethodPost, path: at}, err)
		}
		host, err := addresses(name, append(has.V4, has.V6...)...)
		if err != nil {
			return p.malformed(call{method: http.MethodPost, path: at}, err)
		}
		d.Hosts = append(d.Hosts, host)
	}
	return nil
}

func (p *porkbun) SetHost(ctx context.Context, domain string, host delegation.Host, known bool) error {
	verb := "createGlue"
	if known {
		verb = "updateGlue"
	}
	return p.ask(ctx, path("domain", verb, domain, relative(host.Name, domain)), map[string]any{"ips": texts(host, 0)}, true, nil)
}

func (p *porkbun) RemoveHost(ctx context.Context, domain, name string) error {
	return p.ask(ctx, path("domain", "deleteGlue", domain, relative(name, domain)), nil, true, nil)
}

func (p *porkbun) SetServers(ctx context.Context, want delegation.Delegation) error {
	return p.ask(ctx, path("domain", "updateNs", want.Domain), map[string]any{"ns": want.Servers}, true, nil)
}

// SetKeys adds what is new and removes what is old. A record is removed by its key
// tag, so one that is to stay and has the same tag is put back.
func (p *porkbun) SetKeys(ctx context.Context, have, want delegation.Delegation) error {
	add := func(ds dnssec.DS) error {
		return p.ask(ctx, path("dns", "createDnssecRecord", want.Domain), map[string]any{
			"keyTag": strconv.Itoa(int(ds.Tag)), "alg": strconv.Itoa(int(ds.Algorithm)),
			"digestType": strconv.Itoa(int(ds.Kind)), "digest": fmt.Sprintf("%X", ds.Digest),
		}, true, nil)
	}
	var clash []dnssec.DS
	for _, ds := range want.DS {
		switch {
		case slices.ContainsFunc(have.DS, ds.Equal):
		case slices.ContainsFunc(have.DS, func(old dnssec.DS) bool { return old.Tag == ds.Tag }):
			clash = append(clash, ds)
		default:
			if err := add(ds); err != nil {
				return err
			}
		}
	}
	removed := map[uint16]bool{}
	for _, ds := range have.DS {
		if slices.ContainsFunc(want.DS, ds.Equal) || removed[ds.Tag] {
			continue
		}
		removed[ds.Tag] = true
		if err := p.ask(ctx, path("dns", "deleteDnssecRecord", want.Domain, strconv.Itoa(int(ds.Tag))), nil, true, nil); err != nil {
			return err
		}
	}
	for _, ds := range want.DS {
		if removed[ds.Tag] && !slices.ContainsFunc(clash, ds.Equal) {
			clash = append(clash, ds)
		}
	}
	for _, ds := range clash {
		if err := add(ds); err != nil {
			return err
		}
	}
	return nil
}
