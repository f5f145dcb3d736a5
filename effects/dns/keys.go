package dns

import (
	"errors"
	"strconv"
	"strings"

	"fediversity.eu/slipway/targets/env"
)

// Keys are the coordinates of zones, whoever serves them.
type Keys struct {
	Domain env.Domain `env:"DNS_DOMAIN,required" desc:"domain that the machines of the group live under"`
}

// MachineKeys are what the zones say about a machine beside its addresses.
type MachineKeys struct {
	HostKey env.Lines `env:"SSH_HOST_KEY" scope:"machine" desc:"public host keys of the machine, one a line, as ssh-keyscan prints them or as they stand in /etc/ssh/ssh_host_*_key.pub"`
}

// ServerKeys say who serves the zones. Which of them are needed depends on the
// provider.
type ServerKeys struct {
	Provider string `env:"DNS_PROVIDER,required" oneof:"rfc2136,powerdns,desec,hetzner,gandi,ovh,transip,inwx,other" desc:"who serves the zones: a server that takes dynamic updates (rfc2136: BIND, Knot), a PowerDNS, a provider of that name, or any other that OctoDNS knows"`

	Server        env.Host   `env:"DNS_SERVER" desc:"name server that takes the updates (rfc2136)"`
	Port          env.Port   `env:"DNS_PORT,default=53" desc:"port of the name server (rfc2136)"`
	TSIGName      string     `env:"DNS_TSIG_NAME" desc:"name of the key that signs updates and transfers (rfc2136)"`
	TSIGSecret    env.Secret `env:"DNS_TSIG_SECRET" desc:"secret of that key, in base64 (rfc2136)"`
	TSIGAlgorithm string     `env:"DNS_TSIG_ALGORITHM,default=hmac-sha256" oneof:"hmac-sha1,hmac-sha224,hmac-sha256,hmac-sha384,hmac-sha512" desc:"algorithm of that key (rfc2136)"`

	API      env.URL    `env:"DNS_API" desc:"address of the API, such as https://ns.example.org:8081 (powerdns), or that of OVH where it is not https://eu.api.ovh.com (ovh)"`
	User     string     `env:"DNS_USER" desc:"account with the provider (transip, inwx), or the application key (ovh)"`
	Password env.Secret `env:"DNS_PASSWORD" desc:"password of the account (inwx), its private key (transip), or the application secret (ovh)" lines:"several"`
	Token    env.Secret `env:"DNS_TOKEN" desc:"token or key of the API (powerdns, desec, hetzner, gandi), or the consumer key (ovh)"`

	Class     string   `env:"DNS_CLASS" desc:"class of OctoDNS's provider, such as octodns_route53.Route53Provider (other)"`
	Package   string   `env:"DNS_PACKAGE" desc:"Python package that holds the class, with its version: octodns-route53==1.2.0 (other)"`
	Arguments env.Text `env:"DNS_ARGUMENTS" desc:"arguments of the class as a JSON object; env/DNS_TOKEN, env/DNS_PASSWORD and env/DNS_USER in it stand for these (other)"`

	Timeout env.Duration `env:"DNS_TIMEOUT,default=10m" desc:"how long one look at the zones, or one change of them, may take"`
}

// GuardKeys let a run do what is more often a mistake.
type GuardKeys struct {
	New    env.Names  `env:"DNS_NEW_ZONES" desc:"zones that are new, separated by commas: their servers hold nothing in them yet, or don't have them at all"`
	Delete Allowances `env:"DNS_ALLOW_DELETE" desc:"zones in which a run may delete many records, each with the most that it may: example.org=12, separated by commas"`
	Update Allowances `env:"DNS_ALLOW_UPDATE" desc:"zones in which a run may change many records, each with the most that it may: example.org=40, separated by commas"`
	NS     env.Names  `env:"DNS_ALLOW_NS" desc:"zones whose own name servers a run may change, separated by commas"`
}

// ToolKeys say where OctoDNS comes from.
type ToolKeys struct {
	OctoDNS env.Path   `env:"DNS_OCTODNS" desc:"octodns-sync to use, with octodns-validate and octodns-dump beside it; by default one is installed into the cache, in pinned versions"`
	Index   env.Secret `env:"PIP_INDEX_URL" desc:"where Python packages come from when OctoDNS is installed, instead of PyPI"`
}

// Allowances say how much a run may do to single zones.
type Allowances map[string]int

// EnvDecode takes pairs of a zone and a number.
func (a *Allowances) EnvDecode(value string) error {
	list := Allowances{}
	for pair := range strings.SplitSeq(value, ",") {
		name, count, ok := strings.Cut(strings.TrimSpace(pair), "=")
		number, err := strconv.Atoi(count)
		if !ok || name == "" || err != nil || number < 1 {
			return errors.New("has a part that is no zone=number")
		}
		list[zoneKey(name)] = number
	}
	*a = list
	return nil
}

// Valid says what EnvDecode accepts.
func (a *Allowances) Valid() string {
	return "zones with a number each, as example.org=12, separated by commas"
}

// zoneKey is a zone's name as coordinates may write it, in the form in which
// zones are called here.
func zoneKey(name string) string {
	name = strings.ToLower(strings.TrimSuffix(name, ".")) + "."
	if whole, err := wholeName(name); err == nil {
		return whole
	}
	return name // which no zone has
}
