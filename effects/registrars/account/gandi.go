package account

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"fediversity.eu/slipway/effects/registrars/delegation"
	"fediversity.eu/slipway/effects/registrars/dnssec"
	"fediversity.eu/slipway/targets/env"
)

// GandiKeys are the credentials for Gandi.
type GandiKeys struct {
	URL   env.URL    `env:"GANDI_URL,default=https://api.gandi.net" desc:"address of Gandi's API; https://api.sandbox.gandi.net is for trying things out"`
	Token env.Secret `env:"GANDI_TOKEN" desc:"personal access token of Gandi, which may manage the domain's technical configuration"`
}

// Lacks names the keys that have to be set and are not.
func (k GandiKeys) Lacks() []string {
	return unset(key{"GANDI_TOKEN", k.Token.IsSet()})
}

// Address is that of the API.
func (k GandiKeys) Address() string { return string(k.URL) }

// Check says what is wrong with the keys.
func (GandiKeys) Check() error { return nil }

// gandi is an account at Gandi (API v5, https://api.gandi.net/docs/domains/). Its
// changes are done some time after they were taken.
type gandi struct {
	*caller
	token env.Secret
}

// Gandi opens an account at Gandi.
func Gandi(keys GandiKeys, options Options) Account {
	options.Base = keys.Address()
	return &gandi{caller: newCaller("gandi", options), token: keys.Token}
}

func (g *gandi) ask(ctx context.Context, c call, out any) error {
	c.path = "/v5/domain/domains" + c.path
	c.sign = func(r *http.Request, _ []byte) { r.Header.Set("Authorization", "Bearer "+g.token.Reveal()) }
	c.changes = c.method != http.MethodGet
	return g.do(ctx, c, out)
}

// page is how many items a list is asked for at once.
const page = 100

// all reads every page of a list.
func all[T any](ctx context.Context, g *gandi, at string) ([]T, error) {
	var list []T
	for n := 1; ; n++ {
		var items []T
		query := url.Values{"page": {strconv.Itoa(n)}, "per_page": {strconv.Itoa(page)}}
		if err := g.ask(ctx, call{method: http.MethodGet, path: at, query: query}, &items); err != nil {
			return nil, err
		}
		list = append(list, items...)
		if len(items) < page {
			return list, nil
		}
	}
}

type gandiHost struct {
	Name string   `json:"name"` // without the domain; "@" is the domain itself
	IPs  []string `json:"ips"`
}

type gandiKey struct {
	ID        int64  `json:"id,omitempty"`
	Algorithm int64  `json:"algorithm"`
	Type      string `json:"type"` // "ksk" or "zsk", for the flags
	Public    string `json:"public_key"`
}

func (g *gandi) Read(ctx context.Context, domain string) (delegation.Delegation, error) {
	d := delegation.Delegation{Domain: domain}
	var servers []string
	at := call{method: http.MethodGet, path: path(domain, "nameservers")}
	if err := g.ask(ctx, at, &servers); err != nil {
		return d, err
	}
	var err error
	if d.Servers, err = readServers(servers); err != nil {
		return d, g.malformed(at, err)
	}
	hosts, err := all[gandiHost](ctx, g, path(domain, "hosts"))
	if err != nil {
		return d, err
	}
	for _, host := range hosts {
		name := domain
		if host.Name != "@" {
			name = host.Name + "." + domain
		}
		read, err := addresses(name, host.IPs...)
		if err != nil {
			return d, g.malformed(at, err)
		}
		d.Hosts = append(d.Hosts, read)
	}
	keys, err := g.keys(ctx, domain)
	for _, k := range keys {
		d.Keys = append(d.Keys, k.key)
	}
	return d, err
}

// stored is a key that a registrar has, by the number that it has there.
type stored struct {
	id  int64
	key dnssec.Key
}

func (g *gandi) keys(ctx context.Context, domain string) ([]stored, error) {
	list, err := all[gandiKey](ctx, g, path(domain, "dnskeys"))
	if err != nil {
		return nil, err
	}
	var keys []stored
	for _, k := range list {
		flags := int64(dnssec.ZoneKey)
		if k.Type == "ksk" {
			flags = dnssec.EntryPoint
		}
		read, err := dnssec.ReadKey(flags, k.Algorithm, k.Public)
		if err != nil {
			return nil, g.malformed(call{method: http.MethodGet, path: path(domain, "dnskeys")}, err)
		}
		keys = append(keys, stored{k.ID, read})
	}
	return keys, nil
}

func (g *gandi) SetHost(ctx context.Context, domain string, host delegation.Host, known bool) error {
	name := relative(host.Name, domain)
	body := map[string]any{"ips": texts(host, 0)}
	if known {
		return g.ask(ctx, call{method: http.MethodPut, path: path(domain, "hosts", name), body: body}, nil)
	}
	body["name"] = name
	return g.ask(ctx, call{method: http.MethodPost, path: path(domain, "hosts"), body: body}, nil)
}

// relative is a name without the domain that it is below.
func relative(name, domain string) string {
	if name == domain {
		return "@"
	}
	return strings.TrimSuffix(name, "."+domain)
}

func (g *gandi) RemoveHost(ctx context.Context, domain, name string) error {
	return g.ask(ctx, call{method: http.MethodDelete, path: path(domain, "hosts", relative(name, domain))}, nil)
}

func (g *gandi) SetServers(ctx context.Context, want delegation.Delegation) error {
	body := map[string]any{"nameservers": want.Servers}
	return g.ask(ctx, call{method: http.MethodPut, path: path(want.Domain, "nameservers"), body: body}, nil)
}

func (g *gandi) SetKeys(ctx context.Context, have, want delegation.Delegation) error {
	for _, k := range lacking(want.Keys, have.Keys) {
		body := gandiKey{Algorithm: int64(k.Algorithm), Type: "zsk", Public: public(k)}
		if k.Flags == dnssec.EntryPoint {
			body.Type = "ksk"
		}
		if err := g.ask(ctx, call{method: http.MethodPost, path: path(want.Domain, "dnskeys"), body: body}, nil); err != nil {
			return err
		}
	}
	keys, err := g.keys(ctx, want.Domain)
	if err != nil {
		return err
	}
	for _, k := range keys {
		if contains(want.Keys, k.key) {
			continue
		}
		if err := g.ask(ctx, call{method: http.MethodDelete, path: path(want.Domain, "dnskeys", strconv.FormatInt(k.id, 10))}, nil); err != nil {
			return err
		}
	}
	return nil
}
