//go:build checks

package checks

import (
	"bytes"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/miekg/dns"
	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/effects/registrars"
	"fediversity.eu/slipway/effects/registrars/fake"
	"fediversity.eu/slipway/groups"
	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/report"
	"fediversity.eu/slipway/targets/task"
)

// delegating is one domain at one registrar.
type delegating struct {
	*delegated
	domain    string
	registrar string
	servers   []string // addresses of its name servers
	registry  *fake.Registry
	variables map[string]string
}

// at gives a domain to a registrar, whose registry writes the zone above.
func (d *delegated) at(registrar, domain string, servers ...string) *delegating {
	d.t.Helper()
	g := &delegating{delegated: d, domain: domain, registrar: registrar, servers: servers, registry: fake.NewRegistry(domain, "parked.example.net")}
	g.registry.Changed = d.publish(domain)
	g.registry.Changed(g.registry.Holds())
	api := fake.Start(registrar, g.registry)
	d.t.Cleanup(api.Close)
	var lines []string
	for i, address := range servers {
		lines = append(lines, fmt.Sprintf("ns%d %s", i+1, address))
	}
	g.variables = map[string]string{
		"DNS_DOMAIN": domain, "REGISTRAR": registrar, "REGISTRAR_TIMEOUT": "2m",
		"DELEGATION_NAME_SERVERS": strings.Join(lines, "\n"), "DELEGATION_DNSKEY": d.entryPoint(servers[0], domain),
		"DELEGATION_PORT": strconv.Itoa(d.port), "DELEGATION_PARENT": aboveAddress, "DELEGATION_TIMEOUT": "2m",
	}
	maps.Copy(g.variables, api.Environment)
	return g
}

// delegation is how a run ended.
type delegation struct {
	err    error
	code   report.Code
	out    string
	said   string
	record report.Record
}

// saidWhat takes what a run says.
type saidWhat struct {
	mu    sync.Mutex
	text  strings.Builder
	heard func(string)
}

func (s *saidWhat) Take(e report.Event) {
	s.mu.Lock()
	fmt.Fprintln(&s.text, e.Level, e.Text)
	heard := s.heard
	s.mu.Unlock()
	if heard != nil {
		heard(e.Text)
	}
}

// run makes one run of a verb with some variables changed.
func (g *delegating) run(verb string, changes map[string]string, heard func(string)) *delegation {
	g.t.Helper()
	variables := maps.Clone(g.variables)
	maps.Copy(variables, changes)
	made := registrars.New().Task(groups.Group{Name: "operator", Delegations: []groups.Delegation{{}}}, verb)
	ended := &delegation{}
	environment := env.Map(variables)
	err := environment.Load(g.t.Context(), env.For{Alone: true}, made.Coordinates()...)
	if err != nil {
		err = &report.Fault{Code: report.Usage, What: "read the coordinates", Why: err}
	}
	if checker, ok := made.(task.Checker); ok && err == nil {
		err = checker.Check(environment)
	}
	said, out := &saidWhat{heard: heard}, &bytes.Buffer{}
	if err == nil {
		err = made.Run(g.t.Context(), &task.Run{
			Program: "operator-registrars-" + verb, Environment: environment, Log: report.NewLog(said), Out: out, Record: &ended.record,
		})
	}
	ended.err, ended.code, ended.out, ended.said = err, report.CodeOf(err), out.String(), said.text.String()
	g.t.Logf("%s at %s: %s: exit %d\n%s%s%v", g.domain, g.registrar, verb, ended.code, ended.said, ended.out, err)
	return ended
}

// expect runs a verb that ends in some way.
func (g *delegating) expect(verb string, changes map[string]string, code report.Code, says string) *delegation {
	g.t.Helper()
	ended := g.run(verb, changes, nil)
	assert.Equal(g.t, ended.code, code, "%s: %v", verb, ended.err)
	if says != "" {
		assert.ErrorContains(g.t, ended.err, says)
	}
	return ended
}

// TestRegistrars delegates signed domains of BIND and Knot at every registrar, as
// far as a registrar can be had here: the API is a strict stand-in, and what it
// stores goes into a zone that BIND serves.
func TestRegistrars(t *testing.T) {
	d := newDelegated(t)
	for _, c := range []struct {
		registrar, domain string
		servers           []string
	}{
		{"gandi", "ecdsap256sha256.example", []string{knotAddress, knotAddress2}},
		{"inwx", "ecdsap384sha384.example", []string{knotAddress, knotAddress2}},
		{"openprovider", "ed25519.example", []string{knotAddress, knotAddress2}},
		{"ovh", "ed448.example", []string{knotAddress, knotAddress2}},
		{"porkbun", "rsasha256.example", []string{knotAddress, knotAddress2}},
		{"transip", bindDomain, []string{bindAddress}},
	} {
		t.Run(c.registrar+" delegates "+c.domain, func(t *testing.T) {
			inner := *d
			inner.t = t
			g := inner.at(c.registrar, c.domain, c.servers...)
			g.refuses()
			g.delegates()
			g.waits()
			g.takesBack()
		})
	}
	t.Run("what is malformed is refused before anybody is asked", func(t *testing.T) {
		inner := *d
		inner.t = t
		inner.malformed()
	})
}

// refuses shows that a key that the domain's servers do not serve is refused, and
// that nothing is changed then.
func (g *delegating) refuses() {
	g.t.Helper()
	before := g.says(g.domain, dns.TypeNS)
	stranger, err := fake.NewKey(g.domain, true)
	assert.NilError(g.t, err)
	for _, verb := range []string{"plan", "apply"} {
		ended := g.expect(verb, map[string]string{"DELEGATION_DNSKEY": stranger.Data()}, report.Refused, fmt.Sprint(stranger.KeyTag()))
		assert.Assert(g.t, !ended.record.Changed)
	}
	// A server of another domain does not serve this one.
	other := map[string]string{bindAddress: knotAddress}[g.servers[0]]
	if other == "" {
		other = bindAddress
	}
	g.expect("apply", map[string]string{"DELEGATION_NAME_SERVERS": "ns1 " + other}, report.Refused, "does not serve "+g.domain)
	// Nobody is there.
	g.expect("apply", map[string]string{"DELEGATION_NAME_SERVERS": "ns1 127.0.61.9"}, report.Unknown, "gives no answer")
	assert.Equal(g.t, len(g.registry.Writes()), 0)
	assert.DeepEqual(g.t, g.says(g.domain, dns.TypeNS), before)
	assert.Equal(g.t, len(g.says(g.domain, dns.TypeDS)), 0)
}

// delegates goes from nothing to a delegation that parent and child agree on.
func (g *delegating) delegates() {
	g.t.Helper()
	shown := g.expect("validate", nil, report.Healthy, "").out
	if g.servers[0] == knotAddress {
		// The digest that Knot derives itself.
		own := strings.Fields(g.keymgr(g.domain, "ds")[0])
		assert.Assert(g.t, strings.Contains(shown, "derived: DS "+strings.Join(own[2:5], " ")+" "+strings.ToUpper(own[5])), "%v is not in\n%s", own, shown)
	}
	g.expect("verify", map[string]string{"DELEGATION_TIMEOUT": "100ms"}, report.Failed, "delegates "+g.domain+" elsewhere")
	planned := g.expect("plan", nil, report.Healthy, "")
	assert.Assert(g.t, planned.record.Plan.Changes)
	assert.Equal(g.t, len(g.registry.Writes()), 0)

	applied := g.expect("apply", nil, report.Healthy, "")
	assert.Assert(g.t, applied.record.Changed)
	var kinds []string
	for _, write := range g.registry.Writes() {
		kinds = append(kinds, strings.Fields(write)[0])
	}
	order := []string{"host", "host", "servers", map[string]string{"gandi": "key", "inwx": "key", "porkbun": "ds"}[g.registrar]}
	if order[3] == "" {
		order[3] = "keys"
	}
	if g.registrar == "transip" {
		order = order[2:]
	}
	assert.DeepEqual(g.t, kinds, order)
	referral := strings.Join(g.says(g.domain, dns.TypeNS), "\n")
	for i, address := range g.servers {
		assert.Assert(g.t, strings.Contains(referral, fmt.Sprintf("%s. 60 IN NS ns%d.%s.", g.domain, i+1, g.domain)), referral)
		assert.Assert(g.t, strings.Contains(referral, fmt.Sprintf("ns%d.%s. 60 IN %s %s", i+1, g.domain, addressRecord(address), address)), referral)
	}
	assert.Equal(g.t, len(g.says(g.domain, dns.TypeDS)), 1)
	g.expect("verify", nil, report.Healthy, "")

	writes := len(g.registry.Writes())
	again := g.expect("apply", nil, report.Healthy, "")
	assert.Assert(g.t, !again.record.Changed && strings.Contains(again.said, "no changes"))
	assert.Assert(g.t, strings.HasPrefix(g.expect("plan", nil, report.Healthy, "").out, "no changes"))
	assert.Equal(g.t, len(g.registry.Writes()), writes)
}

// waits shows that verify waits until the zone above says what it should.
func (g *delegating) waits() {
	g.t.Helper()
	right := g.registry.Holds()
	wrong := right
	wrong.Keys, wrong.DS = nil, nil
	g.registry.Changed(wrong) // a registry that has lost the keys
	var once sync.Once
	ended := g.run("verify", nil, func(text string) {
		if strings.Contains(text, "has no DS of the key") {
			once.Do(func() { g.registry.Changed(right) })
		}
	})
	assert.NilError(g.t, ended.err)
	assert.Assert(g.t, strings.Contains(ended.said, "not yet"), "it did not wait:\n%s", ended.said)
}

// takesBack takes the keys out, then the second name server or its address.
func (g *delegating) takesBack() {
	g.t.Helper()
	before := len(g.registry.Writes())
	less := map[string]string{"DELEGATION_DNSKEY": "none", "DELEGATION_NAME_SERVERS": "ns1 " + g.servers[0]}
	g.expect("apply", less, report.Healthy, "")
	var kinds []string
	for _, write := range g.registry.Writes()[before:] {
		kinds = append(kinds, strings.TrimSuffix(strings.TrimPrefix(write, "no "), "s"))
	}
	order := []string{map[string]string{"porkbun": "ds"}[g.registrar], "server", "host ns2." + g.domain}
	if order[0] == "" {
		order[0] = "key"
	}
	order[0] = strings.TrimSuffix(order[0], "s")
	if len(g.servers) == 1 {
		order = order[:1]
	}
	assert.DeepEqual(g.t, kinds, order)
	assert.Equal(g.t, len(g.says(g.domain, dns.TypeDS)), 0)
	if len(g.servers) == 1 {
		g.expect("verify", less, report.Healthy, "")
		return
	}
	assert.Equal(g.t, len(g.says("ns2."+g.domain, dns.TypeA)), 2, "one name server and its address are left")
	// The domain itself still has both.
	less["DELEGATION_TIMEOUT"] = "100ms"
	g.expect("verify", less, report.Failed, "has other name servers in")
}

// malformed tries every kind of malformed input.
func (d *delegated) malformed() {
	d.t.Helper()
	g := d.at("gandi", knotDomain, knotAddress)
	asked := 0
	g.registry.Trouble = func(string, string) int {
		asked++
		return 500
	}
	good := strings.Fields(g.variables["DELEGATION_DNSKEY"])
	public := strings.Join(good[7:], "")
	const digest = "B4C8C1FE2E7477127B27115656AD6256F424625BF5C1E2770CE6D6E37DF61D17"
	key := func(text string) map[string]string { return map[string]string{"DELEGATION_DNSKEY": text} }
	ds := func(text string) map[string]string {
		return map[string]string{"DELEGATION_DNSKEY": "", "DELEGATION_DS": text, "REGISTRAR": "porkbun", "PORKBUN_API_KEY": "some", "PORKBUN_SECRET_KEY": "some"}
	}
	for _, c := range []struct {
		changes map[string]string
		says    string
	}{
		{map[string]string{"REGISTRAR": "gandhi"}, "one of gandi, inwx, openprovider, ovh, porkbun, transip"},
		{map[string]string{"DELEGATION_NAME_SERVERS": "ns1." + knotDomain}, "is below the domain and has no address"},
		{map[string]string{"DELEGATION_DNSKEY": ""}, "neither a DNSKEY nor a DS is given"},
		{map[string]string{"DELEGATION_DNSKEY": "", "DELEGATION_DS": "55648 13 2 " + digest}, "a DS alone is given, and gandi takes the DNSKEY"},
		{key("257 3 13 " + strings.TrimRight(public, "=")), "not base64 with its padding"},
		{key("257 3 13 " + public[:84]), "has 63 bytes; algorithm 13"},
		{key("257 3 13 AAAA" + public[4:]), "no point of its curve"},
		{key("257 3 13 AAAA"), "has 3 bytes; algorithm 13"},
		{key("257 2 13 " + public), "protocol is 2"},
		{key("0 3 13 " + public), "signs no zone"},
		{key("258 3 13 " + public), "bits that mean nothing"},
		{key("385 3 13 " + public), "revoked"},
		{key("257 3 5 " + public), "RSASHA1"},
		{key("257 3 99 " + public), "algorithm 99 is unknown"},
		{key("other.example. IN DNSKEY 257 3 13 " + public), "is of other.example."},
		{key("none\n257 3 13 " + public), "is no DNSKEY record"},
		{ds("70000 13 2 " + digest), "key tag"},
		{ds("55648 13 2 " + digest[1:]), "pairs of hexadecimal digits"},
		{ds("55648 13 2 " + digest[:40]), "has 20 bytes; digest type 2 has 32"},
		{ds("55648 13 4 " + digest), "digest type 4 has 48"},
		{ds("55648 13 1 " + digest[:40]), "SHA-1"},
		{ds("55648 13 3 " + digest), "GOST"},
		{ds("55648 5 2 " + digest), "RSASHA1"},
		{ds("55648 13 2 ZZ"), "pairs of hexadecimal digits"},
	} {
		ended := g.run("apply", c.changes, nil)
		assert.Equal(d.t, ended.code, report.Usage, "%v: %v", c.changes, ended.err)
		assert.ErrorContains(d.t, ended.err, c.says)
	}
	assert.Equal(d.t, asked, 0, "the registrar was asked")
}
