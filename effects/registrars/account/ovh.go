package account

import (
	"context"
	"crypto/sha1"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"fediversity.eu/slipway/effects/registrars/delegation"
	"fediversity.eu/slipway/effects/registrars/dnssec"
	"fediversity.eu/slipway/internal/wait"
	"fediversity.eu/slipway/targets/env"
)

// OVHKeys are the credentials for OVHcloud.
type OVHKeys struct {
	URL         env.URL    `env:"OVH_URL,default=https://eu.api.ovh.com/1.0" desc:"address of OVHcloud's API"`
	Application env.Secret `env:"OVH_APPLICATION_KEY" desc:"application key of OVHcloud's API"`
	Secret      env.Secret `env:"OVH_APPLICATION_SECRET" desc:"application secret of OVHcloud's API"`
	Consumer    env.Secret `env:"OVH_CONSUMER_KEY" desc:"consumer key of OVHcloud's API, with GET, POST, PUT and DELETE on /domain/*"`
}

// Lacks names the keys that have to be set and are not.
func (k OVHKeys) Lacks() []string {
	return unset(
		key{"OVH_APPLICATION_KEY", k.Application.IsSet()}, key{"OVH_APPLICATION_SECRET", k.Secret.IsSet()}, key{"OVH_CONSUMER_KEY", k.Consumer.IsSet()},
	)
}

// Address is that of the API.
func (k OVHKeys) Address() string { return string(k.URL) }

// Check says what is wrong with the keys.
func (OVHKeys) Check() error { return nil }

// ovh is an account at OVHcloud (https://eu.api.ovh.com/console/, section domain).
// Every change is a task, which is waited for. Whether hosts are things of their
// own depends on the registry.
type ovh struct {
	*caller
	keys   OVHKeys
	offset *time.Duration // of its clock to ours
}

// OVH opens an account at OVHcloud.
func OVH(keys OVHKeys, options Options) Account {
	options.Base = keys.Address()
	return &ovh{caller: newCaller("ovh", options), keys: keys}
}

// ask makes a signed call.
func (o *ovh) ask(ctx context.Context, c call, out any) error {
	if o.offset == nil {
		var now int64
		if err := o.do(ctx, call{method: http.MethodGet, path: "/auth/time"}, &now); err != nil {
			return err
		}
		offset := time.Until(time.Unix(now, 0))
		o.offset = &offset
	}
	c.changes = c.method != http.MethodGet
	c.sign = func(r *http.Request, body []byte) {
		at := strconv.FormatInt(time.Now().Add(*o.offset).Unix(), 10)
		sum := sha1.Sum(fmt.Appendf(nil, "%s+%s+%s+%s+%s+%s",
			o.keys.Secret.Reveal(), o.keys.Consumer.Reveal(), r.Method, r.URL, body, at))
		r.Header.Set("X-Ovh-Application", o.keys.Application.Reveal())
		r.Header.Set("X-Ovh-Consumer", o.keys.Consumer.Reveal())
		r.Header.Set("X-Ovh-Timestamp", at)
		r.Header.Set("X-Ovh-Signature", fmt.Sprintf("$1$%x", sum))
	}
	return o.do(ctx, c, out)
}

type ovhTask struct {
	ID       int64  `json:"id"`
	Status   string `json:"status"` // todo, doing, done; error, cancelled, problem
	Function string `json:"function"`
	Comment  string `json:"comment"`
}

// change makes a call whose answer is a task, and waits until that is done.
func (o *ovh) change(ctx context.Context, domain string, c call) error {
	var task ovhTask
	if err := o.ask(ctx, c, &task); err != nil {
		return err
	}
	if task.ID == 0 {
		return o.malformed(c, errors.New("there is no task in the answer"))
	}
	waiting := wait.For{What: fmt.Sprintf("the task %d (%s) of ovh", task.ID, task.Function), Limit: o.limit, Interval: o.pause}
	// A look has its own limit, and is not cut short by this one.
	return waiting.Until(ctx, func(context.Context) error {
		at := call{method: http.MethodGet, path: path("domain", domain, "task", strconv.FormatInt(task.ID, 10))}
		if err := o.ask(ctx, at, &task); err != nil {
			return wait.Stop(err)
		}
		switch task.Status {
		case "done":
			return nil
		case "todo", "doing", "init":
			return &Error{Registrar: o.name, Call: c.String(), Class: Unavailable, Message: "taken, but pending: its task is at " + task.Status}
		}
		return wait.Stop(&Error{
			Registrar: o.name, Call: c.String(), Class: Invalid,
			Message: fmt.Sprintf("the task %d (%s) ended as %q %s", task.ID, task.Function, task.Status, task.Comment),
		})
	})
}

type ovhServer struct {
	Host     string `json:"host"`
	IP       string `json:"ip,omitempty"`
	ToDelete bool   `json:"toDelete,omitempty"`
}

type ovhKey struct {
	Algorithm int64  `json:"algorithm"`
	Flags     int64  `json:"flags"`
	Public    string `json:"publicKey"` // read as publickey too: encoding/json ignores the case of names
	Tag       int64  `json:"tag"`
	Status    string `json:"status,omitempty"`
}

type ovhHost struct {
	Host string   `json:"host"`
	IPs  []string `json:"ips"`
}

type ovhDomain struct {
	Type  string `json:"nameServerType"` // hosted, external, …
	Hosts *bool  `json:"hostSupported"`
}

func (o *ovh) domain(ctx context.Context, domain string) (ovhDomain, error) {
	var d ovhDomain
	c := call{method: http.MethodGet, path: path("domain", domain)}
	err := o.ask(ctx, c, &d)
	if err == nil && (d.Hosts == nil || d.Type == "") {
		err = o.malformed(c, errors.New("it says neither who hosts the zone nor whether hosts are supported"))
	}
	return d, err
}

func (o *ovh) Read(ctx context.Context, domain string) (delegation.Delegation, error) {
	d := delegation.Delegation{Domain: domain}
	about, err := o.domain(ctx, domain)
	if err != nil {
		return d, err
	}
	d.Joint = !*about.Hosts
	if err := o.readServers(ctx, &d); err != nil {
		return d, err
	}
	if !d.Joint {
		if err := o.readHosts(ctx, &d); err != nil {
			return d, err
		}
	}
	at := path("domain", domain, "dsRecord")
	keys, err := each[ovhKey](ctx, o, at)
	if err != nil {
		return d, err
	}
	for _, k := range keys {
		key, err := dnssec.ReadKey(k.Flags, k.Algorithm, k.Public)
		if err != nil {
			return d, o.malformed(call{method: http.MethodGet, path: at}, err)
		}
		d.Keys = append(d.Keys, key)
	}
	return d, nil
}

func (o *ovh) readServers(ctx context.Context, d *delegation.Delegation) error {
	at := path("domain", d.Domain, "nameServer")
	servers, err := each[ovhServer](ctx, o, at)
	if err != nil {
		return err
	}
	for _, server := range servers {
		if server.ToDelete {
			continue
		}
		host, err := addresses(server.Host, server.IP)
		if err != nil {
			return o.malformed(call{method: http.MethodGet, path: at}, err)
		}
		d.Servers = append(d.Servers, host.Name)
		if d.Joint && len(host.Addresses) > 0 {
			d.Hosts = append(d.Hosts, host)
		}
	}
	return nil
}

func (o *ovh) readHosts(ctx context.Context, d *delegation.Delegation) error {
	at := call{method: http.MethodGet, path: path("domain", d.Domain, "glueRecord")}
	var names []string
	if err := o.ask(ctx, at, &names); err != nil {
		return err
	}
	for _, name := range names {
		var read ovhHost
		if err := o.ask(ctx, call{method: http.MethodGet, path: path("domain", d.Domain, "glueRecord", name)}, &read); err != nil {
			return err
		}
		host, err := addresses(name, read.IPs...)
		if err != nil {
			return o.malformed(at, err)
		}
		d.Hosts = append(d.Hosts, host)
	}
	return nil
}

// each reads a list of numbers and what each of them stands for.
func each[T any](ctx context.Context, o *ovh, at string) ([]T, error) {
	var ids []int64
	if err := o.ask(ctx, call{method: http.MethodGet, path: at}, &ids); err != nil {
		return nil, err
	}
	var list []T
	for _, id := range ids {
		var item T
		if err := o.ask(ctx, call{method: http.MethodGet, path: at + path(strconv.FormatInt(id, 10))}, &item); err != nil {
			return nil, err
		}
		list = append(list, item)
	}
	return list, nil
}

func (o *ovh) SetHost(ctx context.Context, domain string, host delegation.Host, known bool) error {
	at := path("domain", domain, "glueRecord")
	body := ovhHost{Host: host.Name, IPs: texts(host, 0)}
	if known {
		at += path(host.Name, "update")
	}
	return o.change(ctx, domain, call{method: http.MethodPost, path: at, body: body})
}

func (o *ovh) RemoveHost(ctx context.Context, domain, name string) error {
	return o.change(ctx, domain, call{method: http.MethodDelete, path: path("domain", domain, "glueRecord", name)})
}

// SetServers replaces the name servers; a zone that OVHcloud hosts is first said to
// be elsewhere, or it would not let go.
func (o *ovh) SetServers(ctx context.Context, want delegation.Delegation) error {
	about, err := o.domain(ctx, want.Domain)
	if err != nil {
		return err
	}
	list := []ovhServer{}
	for _, name := range want.Servers {
		server := ovhServer{Host: name}
		if host, ok := want.Host(name); ok && !*about.Hosts {
			if len(host.Addresses) != 1 {
				return &Error{
					Registrar: o.name, Call: "set the name servers", Class: Invalid,
					Message: name + " has several addresses, and this registry takes one",
				}
			}
			server.IP = one(host, 0)
		}
		list = append(list, server)
	}
	if about.Type != "external" {
		body := map[string]any{"nameServerType": "external"}
		if err := o.ask(ctx, call{method: http.MethodPut, path: path("domain", want.Domain), body: body}, nil); err != nil {
			return err
		}
	}
	body := map[string]any{"nameServers": list}
	return o.change(ctx, want.Domain, call{method: http.MethodPost, path: path("domain", want.Domain, "nameServers", "update"), body: body})
}

func (o *ovh) SetKeys(ctx context.Context, _, want delegation.Delegation) error {
	list := []ovhKey{}
	for _, k := range want.Keys {
		list = append(list, ovhKey{Algorithm: int64(k.Algorithm), Flags: int64(k.Flags), Public: public(k), Tag: int64(k.Tag())})
	}
	body := map[string]any{"dsRecords": list}
	return o.change(ctx, want.Domain, call{method: http.MethodPost, path: path("domain", want.Domain, "dsRecord"), body: body})
}
