package dns

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// provider is somebody who serves zones, and how OctoDNS talks to them. Its
// Python package is among those that requirements.txt pins.
type provider struct {
	name      string
	class     string
	arguments map[string]argument // of the class, by name
	fixed     map[string]any      // arguments that are always the same
	needs     []string            // keys that must be set
	leastTTL  uint32              // seconds; below it, the provider refuses or rounds up
	settles   time.Duration       // how long it may take to show what it was told
	// keepsNS says that name servers of a zone itself can be added but not taken
	// away: OctoDNS replaces all of them at once, and RFC 2136 (3.4.2.3) has servers
	// ignore that a zone loses all of them.
	keepsNS bool
}

// A name server shows at once what it was told; some providers finish later.
const (
	atOnce = 5 * time.Second
	later  = time.Minute
)

// argument takes an argument of a class from the coordinates: a value for the
// file, or the name of the variable that OctoDNS reads.
type argument func(k *ServerKeys) any

// variable is an argument that OctoDNS takes from its environment.
func variable(name string) argument { return func(*ServerKeys) any { return "env/" + name } }

var (
	user     = variable("DNS_USER")
	password = variable("DNS_PASSWORD")
	token    = variable("DNS_TOKEN")
)

// providers lists whom we know by name.
var providers = []provider{
	{
		name: "rfc2136", class: "octodns_bind.Rfc2136Provider",
		arguments: map[string]argument{
			"host":     func(k *ServerKeys) any { return string(k.Server) },
			"port":     func(k *ServerKeys) any { return k.Port },
			"key_name": func(k *ServerKeys) any { return k.TSIGName }, "key_secret": variable("DNS_TSIG_SECRET"),
			"key_algorithm": func(k *ServerKeys) any { return k.TSIGAlgorithm },
		},
		fixed: map[string]any{"root_ns_warnings": false},
		needs: []string{"DNS_SERVER", "DNS_TSIG_NAME", "DNS_TSIG_SECRET"}, settles: atOnce, keepsNS: true,
	},
	{
		name: "powerdns", class: "octodns_powerdns.PowerDnsProvider",
		arguments: map[string]argument{
			"host": apiHost, "port": apiPort, "scheme": func(k *ServerKeys) any { return k.api().Scheme }, "api_key": token,
		},
		// Without enable_dynamic it warns of LUA records in every run.
		fixed: map[string]any{"root_ns_warnings": false, "enable_dynamic": false},
		needs: []string{"DNS_API", "DNS_TOKEN"}, settles: atOnce,
	},
	{
		name: "desec", class: "octodns_desec.DesecProvider",
		arguments: map[string]argument{"token": token},
		fixed:     map[string]any{"root_ns_warnings": false}, needs: []string{"DNS_TOKEN"}, leastTTL: 3600, settles: later,
	},
	{
		name: "hetzner", class: "octodns_hetzner.HetznerProvider",
		arguments: map[string]argument{"token": token},
		// Its default is an API that was shut down in May 2026.
		fixed: map[string]any{"root_ns_warnings": false, "backend": "hcloud"}, needs: []string{"DNS_TOKEN"}, leastTTL: 60, settles: later,
	},
	{
		name: "gandi", class: "octodns_gandi.GandiProvider",
		arguments: map[string]argument{"token": token},
		fixed:     map[string]any{"root_ns_warnings": false}, needs: []string{"DNS_TOKEN"}, leastTTL: 300, settles: later,
	},
	{
		name: "ovh", class: "octodns_ovh.OvhProvider",
		arguments: map[string]argument{
			"endpoint": ovhEndpoint, "application_key": user, "application_secret": password, "consumer_key": token,
		},
		fixed: map[string]any{"root_ns_warnings": false}, needs: []string{"DNS_USER", "DNS_PASSWORD", "DNS_TOKEN"}, leastTTL: 60, settles: later,
	},
	{
		name: "transip", class: "octodns_transip.TransipProvider",
		arguments: map[string]argument{"account": user, "key": password},
		fixed:     map[string]any{"root_ns_warnings": false}, needs: []string{"DNS_USER", "DNS_PASSWORD"}, leastTTL: 120, settles: later,
	},
	{
		name: "inwx", class: "octodns_inwx.INWXProvider",
		arguments: map[string]argument{"username": user, "api_password": password},
		fixed:     map[string]any{"root_ns_warnings": false}, needs: []string{"DNS_USER", "DNS_PASSWORD"}, leastTTL: 300, settles: later,
	},
}

// find gives the provider that the coordinates name, or says what they lack.
func (k *ServerKeys) find() (provider, error) {
	if k.Provider == "other" {
		return k.other()
	}
	i := slices.IndexFunc(providers, func(p provider) bool { return p.name == k.Provider })
	p := providers[i] // the key takes no other name
	return p, k.check(p)
}

// check wants what the provider needs to be there and to be of use.
func (k *ServerKeys) check(p provider) error {
	var faults []error
	for _, key := range p.needs {
		if !k.set(key) {
			faults = append(faults, fmt.Errorf("%s: missing, and %s needs it", key, p.name))
		}
	}
	if p.name == "rfc2136" && k.TSIGSecret.IsSet() {
		if _, err := base64.StdEncoding.DecodeString(k.TSIGSecret.Reveal()); err != nil {
			faults = append(faults, errors.New("DNS_TSIG_SECRET: not base64"))
		}
	}
	if p.name != "transip" && p.name != "other" && strings.ContainsAny(k.Password.Reveal(), "\r\n") {
		faults = append(faults, errors.New("DNS_PASSWORD: holds a line end, which only the private key of transip has"))
	}
	if path := k.api().Path; p.name == "powerdns" && path != "" && path != "/" {
		faults = append(faults, fmt.Errorf("DNS_API: the path %q is not PowerDNS's, whose API begins at the top", path))
	}
	if host := k.api().Hostname(); p.name == "ovh" && host != "" && ovhEndpoints[host] == "" {
		faults = append(faults, fmt.Errorf("DNS_API: %s is none of OVH's: %s", host, strings.Join(slices.Sorted(maps.Keys(ovhEndpoints)), ", ")))
	}
	for _, name := range []string{"DNS_TSIG_SECRET", "DNS_PASSWORD", "DNS_TOKEN", "DNS_USER"} {
		if k.set(name) && number(k.variables()[name]) {
			faults = append(faults, fmt.Errorf("%s: it reads as a number, and OctoDNS would take it for one", name))
		}
	}
	return errors.Join(faults...)
}

// number tells whether OctoDNS would turn a variable into a number.
func number(text string) bool {
	_, err := strconv.ParseFloat(strings.ReplaceAll(strings.TrimSpace(text), "_", ""), 64)
	return err == nil
}

// variables are what OctoDNS may read, by name.
func (k *ServerKeys) variables() map[string]string {
	all := map[string]string{
		"DNS_USER": k.User, "DNS_PASSWORD": k.Password.Reveal(), "DNS_TOKEN": k.Token.Reveal(),
		"DNS_TSIG_SECRET": k.TSIGSecret.Reveal(),
	}
	for name, value := range all {
		if value == "" {
			delete(all, name)
		}
	}
	return all
}

func (k *ServerKeys) set(key string) bool {
	switch key {
	case "DNS_SERVER":
		return k.Server != ""
	case "DNS_TSIG_NAME":
		return k.TSIGName != ""
	case "DNS_API":
		return k.API != ""
	case "DNS_CLASS":
		return k.Class != ""
	case "DNS_PACKAGE":
		return k.Package != ""
	}
	return k.variables()[key] != ""
}

// config is the provider as OctoDNS's configuration has it.
func (p provider) config(k *ServerKeys) map[string]any {
	config := map[string]any{"class": p.class}
	maps.Copy(config, p.fixed)
	for name, argument := range p.arguments {
		config[name] = argument(k)
	}
	return config
}

var (
	dotted = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)+$`)
	pinned = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?==[A-Za-z0-9.!+_-]+$`)
)

// other is any provider that OctoDNS has a class for.
func (k *ServerKeys) other() (provider, error) {
	p := provider{name: "other", class: k.Class, needs: []string{"DNS_CLASS"}, fixed: map[string]any{}, settles: later}
	var faults []error
	if k.Class != "" && !dotted.MatchString(k.Class) {
		faults = append(faults, fmt.Errorf("DNS_CLASS: %q is no class in a module", k.Class))
	}
	if k.Package != "" && !pinned.MatchString(k.Package) {
		faults = append(faults, fmt.Errorf("DNS_PACKAGE: %q does not name one version, as in octodns-route53==1.2.0", k.Package))
	}
	if k.Arguments != "" {
		decoder := json.NewDecoder(bytes.NewReader([]byte(k.Arguments)))
		decoder.UseNumber()
		if err := decoder.Decode(&p.fixed); err != nil || decoder.More() || p.fixed == nil {
			faults = append(faults, errors.New("DNS_ARGUMENTS: not a JSON object"))
		} else if _, ok := p.fixed["class"]; ok {
			faults = append(faults, errors.New("DNS_ARGUMENTS: the class goes into DNS_CLASS"))
		}
	}
	return p, errors.Join(append(faults, k.check(p))...)
}

// api is the parsed address of the API; the key takes no bad one.
func (k *ServerKeys) api() *url.URL {
	address, err := url.Parse(string(k.API))
	if err != nil {
		return &url.URL{}
	}
	return address
}

func apiHost(k *ServerKeys) any {
	host := k.api().Hostname()
	if strings.Contains(host, ":") {
		return "[" + host + "]" // it goes into an address as it is
	}
	return host
}

func apiPort(k *ServerKeys) any {
	address := k.api()
	if port, err := strconv.Atoi(address.Port()); err == nil {
		return port
	}
	if address.Scheme == "http" {
		return 80
	}
	return 443
}

// ovhEndpoints are the names of OVH's APIs, of which there is one a continent.
var ovhEndpoints = map[string]string{
	"eu.api.ovh.com": "ovh-eu", "ca.api.ovh.com": "ovh-ca", "api.us.ovhcloud.com": "ovh-us",
}

func ovhEndpoint(k *ServerKeys) any {
	if k.API == "" {
		return "ovh-eu"
	}
	return ovhEndpoints[k.api().Hostname()]
}
