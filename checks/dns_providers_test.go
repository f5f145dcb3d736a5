//go:build checks

package checks

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/fs"

	"fediversity.eu/slipway/groups"
	"fediversity.eu/slipway/targets/report"
)

// accountKey makes a private key as TransIP has them.
func accountKey(t *testing.T) string {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	assert.NilError(t, err)
	text, err := x509.MarshalPKCS8PrivateKey(key)
	assert.NilError(t, err)
	return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: text}))
}

// TestDNSProviders has the real class of every provider take our arguments. Their
// APIs are not asked: octodns-validate stands in the place of octodns-sync, makes
// all providers and calls none, and a proxy that is not there keeps it to that.
func TestDNSProviders(t *testing.T) {
	group := groups.Group{Name: "g", Zones: []groups.Zone{{}}, Machines: []groups.Machine{{Name: "web", Addresses: []string{"192.0.2.7"}}}}
	assert.Equal(t, runDNS(t, group, "validate").code, report.Healthy)
	dir := t.TempDir()
	octodns := filepath.Join(dir, "octodns-sync")
	assert.NilError(t, os.WriteFile(octodns, fmt.Appendf(nil,
		"#!/bin/sh\nexport https_proxy=http://127.0.0.1:9 http_proxy=http://127.0.0.1:9\nexec %s -m octodns.cmds.validate --config-file \"$2\"\n", python(t)), 0o700))
	for provider, vars := range map[string]map[string]string{
		"rfc2136":  {"DNS_SERVER": "127.0.0.1", "DNS_TSIG_NAME": "k.", "DNS_TSIG_SECRET": "c2VjcmV0"},
		"powerdns": {"DNS_API": "http://127.0.0.1:9", "DNS_TOKEN": "token"},
		"desec":    {"DNS_TOKEN": "token"},
		"hetzner":  {"DNS_TOKEN": "token"},
		"gandi":    {"DNS_TOKEN": "token"},
		"ovh":      {"DNS_USER": "application", "DNS_PASSWORD": "secret", "DNS_TOKEN": "consumer"},
		"transip":  {"DNS_USER": "account", "DNS_PASSWORD": accountKey(t)},
		"inwx":     {"DNS_USER": "account", "DNS_PASSWORD": "password"},
		"other":    {"DNS_CLASS": "octodns.provider.yaml.YamlProvider", "DNS_ARGUMENTS": `{"directory":"/nowhere"}`},
	} {
		t.Run(provider, func(t *testing.T) {
			r := runDNS(t, group, "plan", vars, map[string]string{"DNS_PROVIDER": provider, "DNS_OCTODNS": octodns})
			if provider == "inwx" || provider == "transip" { // these log in as they are made, or would
				assert.ErrorContains(t, r.err, "Unable to connect to proxy")
				return
			}
			// It came to its end, and of course there is no plan.
			assert.ErrorContains(t, r.err, "read the plan of OctoDNS")
		})
	}
	t.Run("arguments that the class does not have", func(t *testing.T) {
		r := runDNS(t, group, "plan", map[string]string{
			"DNS_PROVIDER": "other", "DNS_CLASS": "octodns.provider.yaml.YamlProvider", "DNS_ARGUMENTS": `{"dirctory":"/nowhere"}`, "DNS_OCTODNS": octodns,
		})
		assert.Equal(t, r.code, report.Usage)
		assert.ErrorContains(t, r.err, "does not take these arguments")
	})
}

// TestDNSPackage installs a package beside OctoDNS, as any provider that is not
// among ours takes it.
func TestDNSPackage(t *testing.T) {
	s := newNameServer(t, "BIND", zoneName)
	group, at := small(2)
	vars := map[string]string{
		"DNS_PROVIDER": "other", "DNS_CLASS": "octodns_ddns.DdnsSource", "DNS_PACKAGE": "octodns-ddns==0.4.0",
		"DNS_ARGUMENTS": `{"types":["A"]}`,
	}
	r := runDNS(t, group, "plan", s.vars, at, vars)
	// It is there and was made: but it only tells addresses and takes no zones.
	assert.ErrorContains(t, r.err, `DdnsSource - "live" does not support targeting`)
}

// python is that of the OctoDNS in the cache.
func python(t *testing.T) string {
	t.Helper()
	_, _, cache := given(t)
	found, err := filepath.Glob(filepath.Join(cache, "tools", "octodns-*", "bin", "python"))
	assert.NilError(t, err)
	assert.Assert(t, len(found) > 0)
	return found[0]
}

// TestDNSOverTLS asks an API whose certificate an authority of the caller's own
// vouches for.
func TestDNSOverTLS(t *testing.T) {
	group := groups.Group{Name: "g", Zones: []groups.Zone{{}}, Machines: []groups.Machine{{Name: "web", Addresses: []string{"192.0.2.7"}}}}
	s := newNameServer(t, "PowerDNS", "example.org.")
	api, err := url.Parse(s.vars["DNS_API"])
	assert.NilError(t, err)
	front := httptest.NewTLSServer(httputil.NewSingleHostReverseProxy(api))
	defer front.Close()
	authority := fs.NewFile(t, "authority.pem", fs.WithBytes(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: front.Certificate().Raw}))).Path()
	there := map[string]string{"DNS_API": front.URL, "DNS_NEW_ZONES": "example.org"}

	assert.Assert(t, runDNS(t, group, "apply", s.vars, there).code != report.Healthy, "nobody vouches for it")
	for _, name := range []string{"SSL_CERT_FILE", "NIX_SSL_CERT_FILE"} {
		r := runDNS(t, group, "apply", s.vars, there, map[string]string{name: authority})
		assert.Equal(t, r.code, report.Healthy)
		there["DNS_NEW_ZONES"] = ""
	}
	assert.DeepEqual(t, s.ask("web.example.org.", "A"), []string{"web.example.org. 3600 IN A 192.0.2.7"})
}
