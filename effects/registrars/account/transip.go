package account

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha512"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"time"

	"fediversity.eu/slipway/effects/registrars/delegation"
	"fediversity.eu/slipway/effects/registrars/dnssec"
	"fediversity.eu/slipway/targets/env"
)

// TransIPKeys are the credentials for TransIP.
type TransIPKeys struct {
	URL   env.URL    `env:"TRANSIP_URL,default=https://api.transip.nl/v6" desc:"address of TransIP's API"`
	Login string     `env:"TRANSIP_LOGIN" desc:"name of the account at TransIP"`
	Key   env.Secret `env:"TRANSIP_KEY" desc:"private key of the account at TransIP, in PEM form" lines:"several"`
	Bound env.Bool   `env:"TRANSIP_WHITELIST,default=false" desc:"whether the key of the account at TransIP works only from addresses that are listed there"`
}

// Lacks names the keys that have to be set and are not.
func (k TransIPKeys) Lacks() []string {
	return unset(key{"TRANSIP_LOGIN", k.Login != ""}, key{"TRANSIP_KEY", k.Key.IsSet()})
}

// Address is that of the API.
func (k TransIPKeys) Address() string { return string(k.URL) }

// Check says what is wrong with the private key.
func (k TransIPKeys) Check() error {
	if _, err := k.private(); err != nil {
		return fmt.Errorf("TRANSIP_KEY %w", err)
	}
	return nil
}

func (k TransIPKeys) private() (*rsa.PrivateKey, error) {
	block, _ := pem.Decode([]byte(k.Key.Reveal()))
	if block == nil {
		return nil, errors.New("is not in PEM form")
	}
	if key, err := x509.ParsePKCS1PrivateKey(block.Bytes); err == nil {
		return key, nil
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, errors.New("is no private key without a passphrase")
	}
	key, ok := parsed.(*rsa.PrivateKey)
	if !ok {
		return nil, errors.New("is no RSA key")
	}
	return key, nil
}

// transIP is an account at TransIP (API v6, https://api.transip.nl/rest/docs.html).
// An address is part of the name server that it is of.
type transIP struct {
	*caller
	keys  TransIPKeys
	token string
	since time.Time // of the token
}

// TransIP opens an account at TransIP.
func TransIP(keys TransIPKeys, options Options) Account {
	options.Base = keys.Address()
	return &transIP{caller: newCaller("transip", options), keys: keys}
}

// tokenLife is how long a token serves. A run of many domains takes longer.
const tokenLife = 30 * time.Minute

// login gets a token for this run; its body is signed with the account's key.
func (t *transIP) login(ctx context.Context) error {
	key, err := t.keys.private()
	if err != nil {
		return fmt.Errorf("TRANSIP_KEY %w", err)
	}
	body := map[string]any{
		"login": t.keys.Login, "nonce": rand.Text()[:16], "read_only": false, "expiration_time": fmt.Sprintf("%.0f minutes", tokenLife.Minutes()),
		"label": "slipway " + rand.Text()[:16], "global_key": !bool(t.keys.Bound), // labels are unique
	}
	var answer struct {
		Token string `json:"token"`
	}
	var failed error
	began := time.Now()
	c := call{method: http.MethodPost, path: "/auth", body: body, sign: func(r *http.Request, body []byte) {
		hash := sha512.Sum512(body)
		var signature []byte
		if signature, failed = rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA512, hash[:]); failed == nil {
			r.Header.Set("Signature", base64.StdEncoding.EncodeToString(signature))
		}
	}}
	if err := errors.Join(t.do(ctx, c, &answer), failed); err != nil {
		return err
	}
	if answer.Token == "" {
		return t.malformed(c, errors.New("there is no token in the answer"))
	}
	t.token, t.since = answer.Token, began
	return nil
}

func (t *transIP) ask(ctx context.Context, c call, out any) error {
	if t.token == "" || time.Since(t.since) > tokenLife/2 {
		if err := t.login(ctx); err != nil {
			return err
		}
	}
	c.sign = func(r *http.Request, _ []byte) { r.Header.Set("Authorization", "Bearer "+t.token) }
	c.changes = c.method != http.MethodGet
	return t.do(ctx, c, out)
}

type transIPServer struct {
	Hostname string `json:"hostname"`
	IPv4     string `json:"ipv4,omitempty"`
	IPv6     string `json:"ipv6,omitempty"`
}

type transIPKey struct {
	Tag       int64  `json:"keyTag"`
	Flags     int64  `json:"flags"`
	Algorithm int64  `json:"algorithm"`
	Public    string `json:"publicKey"`
}

func (t *transIP) Read(ctx context.Context, domain string) (delegation.Delegation, error) {
	d := delegation.Delegation{Domain: domain, Joint: true}
	var servers struct {
		List []transIPServer `json:"nameservers"`
	}
	at := call{method: http.MethodGet, path: path("domains", domain, "nameservers")}
	if err := t.ask(ctx, at, &servers); err != nil {
		return d, err
	}
	if servers.List == nil {
		return d, t.malformed(at, errors.New("there are no name servers in the answer"))
	}
	for _, server := range servers.List {
		host, err := addresses(server.Hostname, server.IPv4, server.IPv6)
		if err != nil {
			return d, t.malformed(at, err)
		}
		d.Servers = append(d.Servers, host.Name)
		if len(host.Addresses) > 0 {
			d.Hosts = append(d.Hosts, host)
		}
	}
	var keys struct {
		List []transIPKey `json:"dnsSecEntries"`
	}
	at.path = path("domains", domain, "dnssec")
	if err := t.ask(ctx, at, &keys); err != nil {
		return d, err
	}
	if keys.List == nil {
		return d, t.malformed(at, errors.New("there are no keys in the answer, not even none"))
	}
	for _, k := range keys.List {
		key, err := dnssec.ReadKey(k.Flags, k.Algorithm, k.Public)
		if err != nil {
			return d, t.malformed(at, err)
		}
		d.Keys = append(d.Keys, key)
	}
	return d, nil
}

// errJoint is a call that Read says not to make.
var errJoint = errors.New("addresses are part of the name servers here")

func (t *transIP) SetHost(context.Context, string, delegation.Host, bool) error { return errJoint }

func (t *transIP) RemoveHost(context.Context, string, string) error { return errJoint }

func (t *transIP) SetServers(ctx context.Context, want delegation.Delegation) error {
	list := []transIPServer{}
	for _, name := range want.Servers {
		host, _ := want.Host(name)
		list = append(list, transIPServer{Hostname: name, IPv4: one(host, 4), IPv6: one(host, 6)})
	}
	body := map[string]any{"nameservers": list}
	return t.ask(ctx, call{method: http.MethodPut, path: path("domains", want.Domain, "nameservers"), body: body}, nil)
}

func (t *transIP) SetKeys(ctx context.Context, _, want delegation.Delegation) error {
	list := []transIPKey{}
	for _, k := range want.Keys {
		list = append(list, transIPKey{Tag: int64(k.Tag()), Flags: int64(k.Flags), Algorithm: int64(k.Algorithm), Public: public(k)})
	}
	body := map[string]any{"dnsSecEntries": list}
	return t.ask(ctx, call{method: http.MethodPut, path: path("domains", want.Domain, "dnssec"), body: body}, nil)
}
