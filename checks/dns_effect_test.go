//go:build checks

package checks

import (
	"bytes"
	"context"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"fediversity.eu/slipway/effects/dns"
	"fediversity.eu/slipway/groups"
	"fediversity.eu/slipway/internal/child"
	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/report"
	"fediversity.eu/slipway/targets/task"
)

// effectRun is what one run of a verb came to.
type effectRun struct {
	code   report.Code
	err    error
	out    string
	log    string
	record *report.Record
	took   time.Duration
}

// hasVenv tells whether OctoDNS can be installed at all.
var hasVenv = sync.OnceValue(func() bool {
	return child.Command{Path: "python3", Args: []string{"-c", "import ensurepip, venv"}, Env: serverPath}.Run(context.Background()) == nil
})

// runDNS runs a verb of the effect as a program would.
func runDNS(t *testing.T, group groups.Group, verb string, sets ...map[string]string) effectRun {
	t.Helper()
	return watchDNS(t, io.Discard, group, verb, sets...)
}

// watchDNS runs a verb, and has a reader see what it prints when it does.
func watchDNS(t *testing.T, reader io.Writer, group groups.Group, verb string, sets ...map[string]string) effectRun {
	t.Helper()
	if !hasVenv() {
		t.Skip("missing part: python3-venv")
	}
	_, _, cache := given(t)
	vars := map[string]string{
		"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": t.TempDir(),
		"CACHE_DIR": cache, "DNS_DOMAIN": "example.org",
	}
	for _, set := range sets {
		maps.Copy(vars, set)
	}
	var out, log bytes.Buffer
	environment := env.Map(vars)
	r := effectRun{record: &report.Record{Program: group.Name + "-dns-" + verb, Started: time.Now()}}
	began := time.Now()
	r.err = func() error {
		effect := dns.New().Task(group, verb)
		if err := environment.Load(t.Context(), env.For{}, effect.Coordinates()...); err != nil {
			return &report.Fault{Code: report.Usage, What: "read the coordinates", Why: err}
		}
		if err := effect.(task.Checker).Check(environment); err != nil {
			return &report.Fault{Code: report.Usage, What: "check the coordinates", Why: err}
		}
		return effect.Run(t.Context(), &task.Run{
			Program: r.record.Program, Environment: environment, Log: report.NewLog(report.Plain(&log)), Out: io.MultiWriter(&out, reader), Record: r.record,
		})
	}()
	r.took = time.Since(began)
	r.record.Close(r.err)
	r.code, r.out, r.log = report.CodeOf(r.err), out.String(), log.String()
	t.Logf("%s: %s after %.2f s\n%s%s", r.record.Program, r.code, r.took.Seconds(), shortened(r.log), shortened(r.out))
	if r.err != nil {
		t.Logf("error: %v\nhints: %s", r.err, strings.Join(report.Hints(r.err), "; "))
	}
	for _, secret := range []string{tsigSecret, "api-key-of-a-check"} {
		for _, text := range []string{r.out, r.log, r.record.Outcome} {
			assert.Assert(t, !strings.Contains(text, secret), "a secret was shown")
		}
	}
	return r
}

// hostKey is a host key of nobody.
const hostKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGwJ0vX1lM9sYkBvJq5J2XhB8yYc0uQ3m2Xm5V1cZx0N check"

// hostKeyPrint is what ssh-keygen -r says of it.
const hostKeyPrint = "DF68825714F4FCFDF29972BD66272628BC75913177808373E7382B6264C656E9"

// longKey is as long as that of a DKIM record of 4096 bits, and does not fit into
// one string.
var longKey = "v=DKIM1; k=rsa; p=" + strings.Repeat("MIICIjANBgkqhkiG9w0BAQEFAAOCAg8A", 22)

const digest = "3490a6806d47f17a34c29e2ce80e8a999ffbe4be0b9d3f1a2c3d4e5f60718293"

// everything is a group with every type of record, and values that are often
// spoilt on their way.
func everything() groups.Group {
	return groups.Group{
		Name: "everything",
		Machines: []groups.Machine{
			{
				Name: "web", Names: []string{"@", "www"},
				Records: []groups.Record{
					{Name: "_443._tcp.web", Type: "TLSA", Values: []string{"3 1 1 " + strings.ToUpper(digest)}},
					{Name: "*.apps", Type: "CNAME", Values: []string{"web"}},
					{Name: "@", Type: "HTTPS", Values: []string{"1 . alpn=h2,h3 ipv4hint=192.0.2.7 ipv6hint=2001:db8::7"}},
				},
			},
			{Name: "mail", Addresses: []string{"192.0.2.25", "2001:db8::25"}},
			{Name: "bench", Names: []string{"bench.lab"}, Addresses: []string{"198.51.100.9"}},
			{Name: "db", Records: []groups.Record{{Name: "sql", Type: "CNAME", Values: []string{"db"}}}},
		},
		Zones: []groups.Zone{
			{Records: []groups.Record{
				{Name: "@", Type: "MX", Values: []string{"10 mail", "20 backup.example.net."}},
				{Name: "nomail", Type: "MX", TTL: 30, Values: []string{"0 ."}},
				{Name: "@", Type: "TXT", TTL: 2147483647, Values: []string{"v=spf1 mx -all", "second=text"}},
				{Name: "_dmarc", Type: "TXT", Values: []string{"v=DMARC1; p=reject; rua=mailto:postmaster@example.org"}},
				{Name: "k1._domainkey", Type: "TXT", Values: []string{longKey}},
				{Name: "odd", Type: "TXT", Values: []string{";", "a  b 'c' #d 100% $e {f: g} [h] <i> & !j @k *l |m", "012", "null", "1e3"}},
				{Name: "on", Type: "A", Values: []string{"192.0.2.99"}},
				{Name: "null", Type: "A", Values: []string{"192.0.2.99"}},
				{Name: "012", Type: "A", Values: []string{"192.0.2.99"}},
				{Name: "1e3", Type: "A", Values: []string{"192.0.2.99"}},
				{Name: "b\u00fccher", Type: "CNAME", Values: []string{"WWW"}},
				{Name: strings.Repeat("l", 63), Type: "AAAA", Values: []string{"2001:0DB8:0:0::1"}},
				{Name: "_sip._tcp", Type: "SRV", Values: []string{"0 5 5060 web", "10 0 5061 sip.example.net."}},
				{Name: "@", Type: "CAA", Values: []string{`0 issue "letsencrypt.org"`, `0 issuewild ";"`, `128 issue "ca.example.net; account=230123"`, `0 iodef "mailto:security@example.org"`}},
				{Name: "child", Type: "NS", Values: []string{"ns1.example.net.", "ns.child.@"}},
				{Name: "ns.child", Type: "A", Values: []string{"192.0.2.53"}},
				{Name: "child", Type: "DS", Values: []string{"60485 13 2 " + digest}},
				{Name: "alias", Type: "HTTPS", Values: []string{"0 web"}},
				{Name: "odd", Type: "HTTPS", Values: []string{"2 web mandatory=alpn,port alpn=h3 no-default-alpn port=8443"}},
				{Name: "hidden", Type: "HTTPS", Values: []string{"1 web alpn=h2 ech=ABH+DQANAAAAAAAAAAAAAAAAAA=="}},
				{Name: "hidden", Type: "SVCB", Values: []string{"1 web ech=ABD+DQAMAAAAAAAAAAAAAAAA"}},
				{Name: "_dns.resolver", Type: "SVCB", Values: []string{"1 web alpn=dot"}},
				{Name: "extra", Type: "SSHFP", Values: []string{"1 2 " + strings.ToUpper(digest)}},
			}},
			{Name: "lab", TTL: 300},
			{Name: "192.0.2.0/24"},
			{Name: "2001:db8::/48"},
		},
	}
}

var everyZone = []string{"example.org.", "lab.example.org.", "2.0.192.in-addr.arpa.", "0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa."}

// everyAnswer is what servers must answer for the zones of everything, byte by
// byte. Where a long text is cut into strings is not part of it: whoever reads it
// joins them.
var everyAnswer = []string{
	"example.org. 3600 IN A 192.0.2.7",
	"example.org. 3600 IN AAAA 2001:db8::7",
	"www.example.org. 3600 IN A 192.0.2.7",
	"web.example.org. 3600 IN AAAA 2001:db8::7",
	"web.example.org. 3600 IN SSHFP 4 2 " + hostKeyPrint,
	"_443._tcp.web.example.org. 3600 IN TLSA 3 1 1 " + digest,
	"*.apps.example.org. 3600 IN CNAME web.example.org.",
	"example.org. 3600 IN HTTPS 1 . alpn=\"h2,h3\" ipv4hint=\"192.0.2.7\" ipv6hint=\"2001:db8::7\"",
	"mail.example.org. 3600 IN A 192.0.2.25",
	"example.org. 3600 IN MX 10 mail.example.org.",
	"example.org. 3600 IN MX 20 backup.example.net.",
	"nomail.example.org. 30 IN MX 0 .",
	`example.org. 2147483647 IN TXT "second=text"`,
	`example.org. 2147483647 IN TXT "v=spf1 mx -all"`,
	`_dmarc.example.org. 3600 IN TXT "v=DMARC1; p=reject; rua=mailto:postmaster@example.org"`,
	`k1._domainkey.example.org. 3600 IN TXT "` + longKey + `"`,
	`odd.example.org. 3600 IN TXT ";"`,
	`odd.example.org. 3600 IN TXT "012"`,
	`odd.example.org. 3600 IN TXT "1e3"`,
	`odd.example.org. 3600 IN TXT "a  b 'c' #d 100% $e {f: g} [h] <i> & !j @k *l |m"`,
	`odd.example.org. 3600 IN TXT "null"`,
	"on.example.org. 3600 IN A 192.0.2.99",
	"null.example.org. 3600 IN A 192.0.2.99",
	"012.example.org. 3600 IN A 192.0.2.99",
	"1e3.example.org. 3600 IN A 192.0.2.99",
	"xn--bcher-kva.example.org. 3600 IN CNAME www.example.org.",
	strings.Repeat("l", 63) + ".example.org. 3600 IN AAAA 2001:db8::1",
	"_sip._tcp.example.org. 3600 IN SRV 0 5 5060 web.example.org.",
	"_sip._tcp.example.org. 3600 IN SRV 10 0 5061 sip.example.net.",
	`example.org. 3600 IN CAA 0 iodef "mailto:security@example.org"`,
	`example.org. 3600 IN CAA 0 issue "letsencrypt.org"`,
	`example.org. 3600 IN CAA 0 issuewild ";"`,
	`example.org. 3600 IN CAA 128 issue "ca.example.net; account=230123"`,
	"child.example.org. 3600 IN NS ns.child.example.org.",
	"child.example.org. 3600 IN NS ns1.example.net.",
	"child.example.org. 3600 IN DS 60485 13 2 " + strings.ToUpper(digest),
	"alias.example.org. 3600 IN HTTPS 0 web.example.org.",
	`odd.example.org. 3600 IN HTTPS 2 web.example.org. mandatory="alpn,port" alpn="h3" no-default-alpn="" port="8443"`,
	`hidden.example.org. 3600 IN HTTPS 1 web.example.org. alpn="h2" ech="ABH+DQANAAAAAAAAAAAAAAAAAA=="`,
	`hidden.example.org. 3600 IN SVCB 1 web.example.org. ech="ABD+DQAMAAAAAAAAAAAAAAAA"`,
	`_dns.resolver.example.org. 3600 IN SVCB 1 web.example.org. alpn="dot"`,
	"extra.example.org. 3600 IN SSHFP 1 2 " + strings.ToUpper(digest),
	"bench.lab.example.org. 300 IN A 198.51.100.9",
	"7.2.0.192.in-addr.arpa. 3600 IN PTR web.example.org.",
	"25.2.0.192.in-addr.arpa. 3600 IN PTR mail.example.org.",
	"7." + strings.Repeat("0.", 23) + "8.b.d.0.1.0.0.2.ip6.arpa. 3600 IN PTR web.example.org.",
}

// addresses are the coordinates of everything's machines.
var addresses = map[string]string{"WEB_ADDRESSES": "192.0.2.7, 2001:db8::7", "WEB_SSH_HOST_KEY": hostKey}

func TestDNSRoundTrip(t *testing.T) {
	for _, k := range kindsOfServers {
		t.Run(k.name, func(t *testing.T) {
			s := newNameServer(t, k.name, everyZone...)
			group := everything()
			assert.Equal(t, runDNS(t, group, "validate", addresses).code, report.Healthy)
			r := runDNS(t, group, "apply", s.vars, addresses, map[string]string{"DNS_NEW_ZONES": strings.Join(everyZone, ",")})
			assert.Equal(t, r.code, report.Healthy)
			assert.Assert(t, r.record.Changed)
			wanted := map[[2]string][]string{}
			for _, want := range everyAnswer {
				fields := strings.Fields(want)
				question := [2]string{fields[0], fields[3]}
				wanted[question] = append(wanted[question], want)
			}
			for question, want := range wanted {
				slices.Sort(want)
				assert.Check(t, cmp.DeepEqual(s.ask(question[0], question[1]), want))
			}
			assert.Check(t, cmp.Len(s.ask("db.example.org.", "A"), 0), "a machine without an address is in no zone")
			assert.Check(t, cmp.Len(s.ask("sql.example.org.", "CNAME"), 0), "nor is what points at it")
			serial := s.serial("example.org.")
			again := runDNS(t, group, "apply", s.vars, addresses)
			assert.Equal(t, again.code, report.Healthy)
			assert.Assert(t, !again.record.Changed && again.out == "", "a second run changes nothing")
			assert.Equal(t, s.serial("example.org."), serial)
		})
	}
}

// TestDNSZonesThatOctoDNSNamesItself has an international domain, whose files
// OctoDNS names in its own alphabet, and a reverse zone of RFC 2317, whose name
// holds what separates folders.
func TestDNSZonesThatOctoDNSNamesItself(t *testing.T) {
	const domain, reverse = "xn--bcher-kva.example.", "0/25.2.0.192.in-addr.arpa."
	group := groups.Group{
		Name: "odd", Machines: []groups.Machine{{Name: "web", Addresses: []string{"192.0.2.7"}}},
		Zones: []groups.Zone{{}, {Name: reverse, Records: []groups.Record{{Name: "7", Type: "PTR", Values: []string{"web." + domain}}}}},
	}
	own := map[string]string{"DNS_DOMAIN": strings.TrimSuffix(domain, "."), "DNS_NEW_ZONES": domain + "," + reverse}
	for _, k := range kindsOfServers {
		t.Run(k.name, func(t *testing.T) {
			s := newNameServer(t, k.name, domain, reverse)
			assert.Equal(t, runDNS(t, group, "validate", s.vars, own).code, report.Healthy)
			assert.Equal(t, runDNS(t, group, "apply", s.vars, own).code, report.Healthy)
			assert.DeepEqual(t, s.ask("web."+domain, "A"), []string{"web." + domain + " 3600 IN A 192.0.2.7"})
			assert.DeepEqual(t, s.ask("7."+reverse, "PTR"), []string{"7." + reverse + " 3600 IN PTR web." + domain})
			assert.Assert(t, !runDNS(t, group, "apply", s.vars, own).record.Changed)
			dump := runDNS(t, group, "dump", s.vars, own)
			assert.Equal(t, dump.code, report.Healthy)
			for _, want := range []string{"# " + domain + "\n", "value: 192.0.2.7", "# " + reverse + "\n", "web." + domain} {
				assert.Check(t, cmp.Contains(dump.out, want))
			}
		})
	}
}

// shortened is as much of a text as a log is to hold.
func shortened(text string) string {
	const most = 4000
	if len(text) <= most {
		return text
	}
	return text[:most] + "…\n"
}
