package account

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"strings"
	"time"

	"fediversity.eu/slipway/effects/registrars/delegation"
	"fediversity.eu/slipway/effects/registrars/dnssec"
	"fediversity.eu/slipway/internal/wait"
	"fediversity.eu/slipway/targets/env"
)

// INWXKeys are the credentials for INWX.
type INWXKeys struct {
	URL      env.URL    `env:"INWX_URL,default=https://api.domrobot.com/jsonrpc/" desc:"address of INWX's API; https://api.ote.domrobot.com/jsonrpc/ is for trying things out"`
	User     string     `env:"INWX_USER" desc:"name of the account at INWX"`
	Password env.Secret `env:"INWX_PASSWORD" desc:"password of the account at INWX"`
	TOTP     env.Secret `env:"INWX_TOTP_SECRET" desc:"shared secret of the account's one-time passwords at INWX, in base32, where it has them"`
}

// Lacks names the keys that have to be set and are not.
func (k INWXKeys) Lacks() []string {
	return unset(key{"INWX_USER", k.User != ""}, key{"INWX_PASSWORD", k.Password.IsSet()})
}

// Address is that of the API.
func (k INWXKeys) Address() string { return string(k.URL) }

// Check says what is wrong with the shared secret.
func (k INWXKeys) Check() error {
	if !k.TOTP.IsSet() {
		return nil
	}
	if _, err := OneTime(k.TOTP.Reveal(), time.Unix(0, 0)); err != nil {
		return fmt.Errorf("INWX_TOTP_SECRET %w", err)
	}
	return nil
}

// inwx is an account at INWX (DomRobot over JSON-RPC,
// https://www.inwx.com/en/help/apidoc). A session is a cookie; the code of an answer
// says whether a call went well.
type inwx struct {
	*caller
	keys INWXKeys
	now  func() time.Time
	in   bool
}

// INWX opens an account at INWX.
func INWX(keys INWXKeys, options Options) Account {
	options.Base = keys.Address()
	i := &inwx{caller: newCaller("inwx", options), keys: keys, now: options.Now}
	if i.now == nil {
		i.now = time.Now
	}
	i.judge = judgeINWX
	i.client.Jar, _ = cookiejar.New(nil) // fails for no options
	return i
}

// INWX's codes, which are those of EPP (RFC 5730 section 3).
const (
	inwxDone    = 1000
	inwxPending = 1001
	inwxDenied  = 2200
	inwxNot     = 2201 // authorised
	inwxMissing = 2303
	inwxFailed  = 2400 // the command failed, for no fault of ours
	inwxLimits  = 2500 // and above: the server ends the session
)

func judgeINWX(status int, body []byte) *Error {
	if failed := byStatus(status, body); failed != nil {
		return failed
	}
	var answer struct {
		Code   int    `json:"code"`
		Msg    string `json:"msg"`
		Reason string `json:"reason"`
	}
	if err := json.Unmarshal(body, &answer); err != nil || answer.Code == 0 {
		return &Error{Class: Malformed, Err: errors.New("there is no code in the answer")}
	}
	if answer.Code == inwxDone || answer.Code == inwxPending {
		return nil
	}
	failed := &Error{Class: Invalid, Message: strings.TrimSpace(fmt.Sprintf("code %d: %s %s", answer.Code, answer.Msg, answer.Reason))}
	switch {
	case answer.Code == inwxDenied || answer.Code == inwxNot:
		failed.Class = Denied
	case answer.Code == inwxMissing:
		failed.Class = Missing
	case answer.Code == inwxFailed || answer.Code >= inwxLimits:
		failed.Class = Unavailable
	}
	return failed
}

// ask calls a method. out gets its data, which may not be there at all.
func (i *inwx) ask(ctx context.Context, method string, params map[string]any, changes bool, out any) error {
	if !i.in {
		if err := i.login(ctx); err != nil {
			return err
		}
	}
	return i.rpc(ctx, method, params, changes, out)
}

func (i *inwx) rpc(ctx context.Context, method string, params map[string]any, changes bool, out any) error {
	c := call{
		method: http.MethodPost, path: "/", what: method, body: map[string]any{"method": method, "params": params},
		changes: changes, once: method == "account.unlock", // a one-time password
	}
	var answer struct {
		Data json.RawMessage `json:"resData"`
	}
	if err := i.do(ctx, c, &answer); err != nil {
		return err
	}
	if out == nil || len(answer.Data) == 0 {
		return nil
	}
	if err := json.Unmarshal(answer.Data, out); err != nil {
		return i.malformed(c, err)
	}
	return nil
}

// login opens a session. A password that another run has given a moment ago is not
// taken twice (RFC 6238 section 5.2), and no answer tells that from a wrong secret:
// so the next one is tried as well.
func (i *inwx) login(ctx context.Context) error {
	password, err := i.enter(ctx, "")
	if failed, ok := errors.AsType[*Error](err); ok && failed.Class == Denied && password != "" {
		_, err = i.enter(ctx, password)
	}
	i.in = err == nil
	return err
}

// enter logs in, with another one-time password than the one that was given before.
// It gives the one that it sent, if the account has them.
func (i *inwx) enter(ctx context.Context, before string) (password string, err error) {
	var account struct {
		TFA json.RawMessage `json:"tfa"` // "0", "GOOGLE-AUTH", …
	}
	if before != "" {
		waiting := wait.For{What: "the next one-time password", Limit: 2 * period, Interval: i.pause}
		if err := waiting.Until(ctx, func(context.Context) error {
			if now, err := i.oneTime(); err != nil || now != before {
				return err
			}
			return errors.New("it is still the one that was refused")
		}); err != nil {
			return "", err
		}
	}
	err = i.rpc(ctx, "account.login", map[string]any{"user": i.keys.User, "pass": i.keys.Password.Reveal()}, false, &account)
	if method := strings.Trim(string(account.TFA), `"`); err != nil || method == "" || method == "0" || method == "null" {
		return "", err
	}
	if password, err = i.oneTime(); err != nil {
		return "", err
	}
	return password, i.rpc(ctx, "account.unlock", map[string]any{"tan": password}, false, nil)
}

// oneTime is the one-time password of this moment.
func (i *inwx) oneTime() (string, error) {
	fault := "is missing"
	if i.keys.TOTP.IsSet() {
		password, err := OneTime(i.keys.TOTP.Reveal(), i.now())
		if err == nil {
			return password, nil
		}
		fault = err.Error()
	}
	return "", &Error{Registrar: i.name, Call: "account.unlock", Class: Denied, Message: "the account has one-time passwords, and INWX_TOTP_SECRET " + fault}
}

func (i *inwx) Read(ctx context.Context, domain string) (delegation.Delegation, error) {
	d := delegation.Delegation{Domain: domain}
	var info struct {
		Servers []string `json:"ns"`
	}
	if err := i.ask(ctx, "domain.info", map[string]any{"domain": domain}, false, &info); err != nil {
		return d, err
	}
	var err error
	if d.Servers, err = readServers(info.Servers); err != nil {
		return d, i.malformed(call{what: "domain.info"}, err)
	}
	keys, err := i.stored(ctx, domain)
	if err != nil {
		return d, err
	}
	for _, k := range keys {
		d.Keys = append(d.Keys, k.key)
	}
	d.Hosts, err = i.hosts(ctx, domain)
	return d, err
}

// hosts lists the names below a domain; the account has one list of all of them.
func (i *inwx) hosts(ctx context.Context, domain string) ([]delegation.Host, error) {
	var hosts []delegation.Host
	for n := 1; ; n++ {
		var found struct {
			Hosts []struct {
				Name string   `json:"hostname"`
				IP   []string `json:"ip"`
			} `json:"host"`
		}
		params := map[string]any{"search": "*" + domain, "page": n, "pagelimit": page}
		if err := i.ask(ctx, "host.list", params, false, &found); err != nil {
			return nil, err
		}
		for _, host := range found.Hosts {
			if !delegation.Below(delegation.Name(host.Name), domain) {
				continue
			}
			read, err := addresses(host.Name, host.IP...)
			if err != nil {
				return nil, i.malformed(call{what: "host.list"}, err)
			}
			hosts = append(hosts, read)
		}
		if len(found.Hosts) < page {
			return hosts, nil
		}
	}
}

type inwxKey struct {
	ID        json.Number `json:"id"` // numbers come as text
	Owner     string      `json:"ownerName"`
	Flags     json.Number `json:"flagId"`
	Algorithm json.Number `json:"algorithmId"`
	Public    string      `json:"publicKey"`
	Status    string      `json:"status"`
}

// stored lists the keys of a domain. The list is the data itself, or a field of it.
func (i *inwx) stored(ctx context.Context, domain string) ([]stored, error) {
	var data json.RawMessage
	if err := i.ask(ctx, "dnssec.listkeys", map[string]any{"domainName": domain}, false, &data); err != nil || len(data) == 0 {
		return nil, err
	}
	var list []inwxKey
	var within struct {
		List []inwxKey `json:"dnskey"`
	}
	at := call{what: "dnssec.listkeys"}
	if err := json.Unmarshal(data, &list); err != nil {
		if json.Unmarshal(data, &within) != nil {
			return nil, i.malformed(at, err)
		}
		list = within.List
	}
	var keys []stored
	for _, k := range list {
		if strings.EqualFold(k.Status, "DELETED") || delegation.Name(k.Owner) != domain {
			continue
		}
		id, badID := k.ID.Int64()
		flags, badFlags := k.Flags.Int64()
		algorithm, badAlgorithm := k.Algorithm.Int64()
		key, err := dnssec.ReadKey(flags, algorithm, k.Public)
		if err := errors.Join(badID, badFlags, badAlgorithm, err); err != nil {
			return nil, i.malformed(at, err)
		}
		keys = append(keys, stored{id, key})
	}
	return keys, nil
}

func (i *inwx) SetHost(ctx context.Context, _ string, host delegation.Host, known bool) error {
	method := "host.create"
	if known {
		method = "host.update"
	}
	return i.ask(ctx, method, map[string]any{"hostname": host.Name, "ip": texts(host, 0)}, true, nil)
}

func (i *inwx) RemoveHost(ctx context.Context, _, name string) error {
	return i.ask(ctx, "host.delete", map[string]any{"hostname": name}, true, nil)
}

func (i *inwx) SetServers(ctx context.Context, want delegation.Delegation) error {
	return i.ask(ctx, "domain.update", map[string]any{"domain": want.Domain, "ns": want.Servers}, true, nil)
}

func (i *inwx) SetKeys(ctx context.Context, have, want delegation.Delegation) error {
	for _, k := range lacking(want.Keys, have.Keys) {
		params := map[string]any{
			"domainName": want.Domain, "dnskey": want.Domain + ". IN DNSKEY " + k.String(), "calculateDigest": true,
		}
		if err := i.ask(ctx, "dnssec.adddnskey", params, true, nil); err != nil {
			return err
		}
	}
	keys, err := i.stored(ctx, want.Domain)
	if err != nil {
		return err
	}
	for _, k := range keys {
		if contains(want.Keys, k.key) {
			continue
		}
		if err := i.ask(ctx, "dnssec.deletednskey", map[string]any{"key": k.id}, true, nil); err != nil {
			return err
		}
	}
	return nil
}
