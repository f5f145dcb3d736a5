package dns

import (
	"encoding/json"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"fediversity.eu/slipway/targets/env"
)

// loaded are the coordinates of a server.
func loaded(t *testing.T, vars map[string]string) *ServerKeys {
	t.Helper()
	var k ServerKeys
	assert.NilError(t, env.Map(vars).Load(t.Context(), env.For{}, &k))
	return &k
}

func TestProviders(t *testing.T) {
	for _, c := range []struct {
		vars map[string]string
		want string
	}{
		{
			map[string]string{"DNS_PROVIDER": "rfc2136", "DNS_SERVER": "2001:db8::53", "DNS_TSIG_NAME": "k.", "DNS_TSIG_SECRET": "c2VjcmV0"},
			`{"class":"octodns_bind.Rfc2136Provider","host":"2001:db8::53","key_algorithm":"hmac-sha256","key_name":"k.","key_secret":"env/DNS_TSIG_SECRET","port":53,"root_ns_warnings":false}`,
		},
		{
			map[string]string{"DNS_PROVIDER": "powerdns", "DNS_API": "http://[::1]:8081", "DNS_TOKEN": "token"},
			`{"api_key":"env/DNS_TOKEN","class":"octodns_powerdns.PowerDnsProvider","enable_dynamic":false,"host":"[::1]","port":8081,"root_ns_warnings":false,"scheme":"http"}`,
		},
		{
			map[string]string{"DNS_PROVIDER": "powerdns", "DNS_API": "https://ns.example.org", "DNS_TOKEN": "token"},
			`{"api_key":"env/DNS_TOKEN","class":"octodns_powerdns.PowerDnsProvider","enable_dynamic":false,"host":"ns.example.org","port":443,"root_ns_warnings":false,"scheme":"https"}`,
		},
		{
			map[string]string{"DNS_PROVIDER": "desec", "DNS_TOKEN": "token"},
			`{"class":"octodns_desec.DesecProvider","root_ns_warnings":false,"token":"env/DNS_TOKEN"}`,
		},
		{
			map[string]string{"DNS_PROVIDER": "hetzner", "DNS_TOKEN": "token"},
			`{"backend":"hcloud","class":"octodns_hetzner.HetznerProvider","root_ns_warnings":false,"token":"env/DNS_TOKEN"}`,
		},
		{
			map[string]string{"DNS_PROVIDER": "gandi", "DNS_TOKEN": "token"},
			`{"class":"octodns_gandi.GandiProvider","root_ns_warnings":false,"token":"env/DNS_TOKEN"}`,
		},
		{
			map[string]string{"DNS_PROVIDER": "ovh", "DNS_USER": "key", "DNS_PASSWORD": "secret", "DNS_TOKEN": "consumer", "DNS_API": "https://ca.api.ovh.com"},
			`{"application_key":"env/DNS_USER","application_secret":"env/DNS_PASSWORD","class":"octodns_ovh.OvhProvider","consumer_key":"env/DNS_TOKEN","endpoint":"ovh-ca","root_ns_warnings":false}`,
		},
		{
			map[string]string{"DNS_PROVIDER": "transip", "DNS_USER": "account", "DNS_PASSWORD": "private"},
			`{"account":"env/DNS_USER","class":"octodns_transip.TransipProvider","key":"env/DNS_PASSWORD","root_ns_warnings":false}`,
		},
		{
			map[string]string{"DNS_PROVIDER": "inwx", "DNS_USER": "account", "DNS_PASSWORD": "password"},
			`{"api_password":"env/DNS_PASSWORD","class":"octodns_inwx.INWXProvider","root_ns_warnings":false,"username":"env/DNS_USER"}`,
		},
		{
			map[string]string{"DNS_PROVIDER": "other", "DNS_CLASS": "octodns_route53.Route53Provider", "DNS_PACKAGE": "octodns-route53==1.2.0", "DNS_ARGUMENTS": `{"access_key_id":"env/DNS_USER","secret_access_key":"env/DNS_PASSWORD","max_changes":100}`},
			`{"access_key_id":"env/DNS_USER","class":"octodns_route53.Route53Provider","max_changes":100,"secret_access_key":"env/DNS_PASSWORD"}`,
		},
	} {
		t.Run(c.vars["DNS_PROVIDER"], func(t *testing.T) {
			k := loaded(t, c.vars)
			p, err := k.find()
			assert.NilError(t, err)
			text, err := json.Marshal(p.config(k))
			assert.NilError(t, err)
			assert.Equal(t, string(text), c.want)
			assert.Assert(t, p.settles > 0)
		})
	}
}

func TestEveryProviderSaysWhatItLacks(t *testing.T) {
	for _, p := range providers {
		_, err := loaded(t, map[string]string{"DNS_PROVIDER": p.name}).find()
		for _, key := range p.needs {
			assert.Check(t, cmp.ErrorContains(err, key+": missing, and "+p.name+" needs it"))
		}
		assert.Assert(t, len(p.needs) > 0)
	}
}

func TestServersThatCannotBeUsed(t *testing.T) {
	for _, c := range []struct {
		what string
		vars map[string]string
		want string
	}{
		{"a secret that is no base64", map[string]string{"DNS_PROVIDER": "rfc2136", "DNS_TSIG_SECRET": "no base64!"}, "DNS_TSIG_SECRET: not base64"},
		{"a token of digits", map[string]string{"DNS_PROVIDER": "gandi", "DNS_TOKEN": "12345"}, "DNS_TOKEN: it reads as a number"},
		{"a token that Python reads as a number", map[string]string{"DNS_PROVIDER": "gandi", "DNS_TOKEN": "1_000_000"}, "DNS_TOKEN: it reads as a number"},
		{"a token that is a fraction", map[string]string{"DNS_PROVIDER": "gandi", "DNS_TOKEN": "1.50"}, "DNS_TOKEN: it reads as a number"},
		{"an API behind a path", map[string]string{"DNS_PROVIDER": "powerdns", "DNS_API": "https://ns.example.org/pdns", "DNS_TOKEN": "token"}, `the path "/pdns" is not PowerDNS's`},
		{"an API that is not OVH's", map[string]string{"DNS_PROVIDER": "ovh", "DNS_API": "https://ovh.example.org"}, "ovh.example.org is none of OVH's"},
		{"no class", map[string]string{"DNS_PROVIDER": "other"}, "DNS_CLASS: missing"},
		{"a class that is none", map[string]string{"DNS_PROVIDER": "other", "DNS_CLASS": "rm -rf"}, "is no class in a module"},
		{"a package without a version", map[string]string{"DNS_PROVIDER": "other", "DNS_CLASS": "a.B", "DNS_PACKAGE": "octodns-route53"}, "does not name one version"},
		{"a package that is an option", map[string]string{"DNS_PROVIDER": "other", "DNS_CLASS": "a.B", "DNS_PACKAGE": "--index-url=x==1"}, "does not name one version"},
		{"arguments that are no object", map[string]string{"DNS_PROVIDER": "other", "DNS_CLASS": "a.B", "DNS_ARGUMENTS": "[]"}, "DNS_ARGUMENTS: not a JSON object"},
		{"a class among the arguments", map[string]string{"DNS_PROVIDER": "other", "DNS_CLASS": "a.B", "DNS_ARGUMENTS": `{"class":"c.D"}`}, "the class goes into DNS_CLASS"},
	} {
		t.Run(c.what, func(t *testing.T) {
			_, err := loaded(t, c.vars).find()
			assert.ErrorContains(t, err, c.want)
		})
	}
}

func TestAllowances(t *testing.T) {
	for value, ok := range map[string]bool{"example.org=3": true, "Example.org.=3, b=1": true, "example.org": false, "example.org=0": false, "=3": false, "a=b": false} {
		var a Allowances
		err := a.EnvDecode(value)
		assert.Equal(t, err == nil, ok, value)
		if ok {
			assert.Equal(t, a["example.org."], 3)
		}
	}
}

func TestPinsAreWhole(t *testing.T) {
	text := string(requirements)
	for _, p := range providers {
		name := strings.ReplaceAll(strings.Split(p.class, ".")[0], "_", "-") + "=="
		assert.Assert(t, cmp.Contains(text, name), "requirements.txt has the package of %s", p.name)
	}
	for line := range strings.Lines(text) {
		if strings.Contains(line, "==") {
			assert.Assert(t, strings.HasSuffix(strings.TrimSpace(line), `\`), "%s has hashes", line)
		}
	}
}
