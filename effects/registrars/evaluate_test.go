package registrars

import (
	"maps"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/effects/registrars/fake"
	"fediversity.eu/slipway/groups"
	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/report"
)

// A key, and its digest, of RFC 6605.
const (
	someKey    = "257 3 13 GojIhhXUN/u4v54ZQqGSnyhWJwaubCvTmeexv7bR6edbkrSqQpF64cYbcB7wNcP+e+MAnLr+Wi9xMWyQLc8NAA=="
	someDigest = "55648 13 2 B4C8C1FE2E7477127B27115656AD6256F424625BF5C1E2770CE6D6E37DF61D17"
)

// declared is a delegation that needs no coordinates.
func declared(change func(*groups.Delegation)) groups.Group {
	d := groups.Delegation{
		Domain: "example.net", Registrar: "gandi", DNSKEY: []string{someKey},
		NameServers: []groups.NameServer{{Name: "ns1", Addresses: []string{"192.0.2.1", "2001:db8::1"}}, {Name: "ns.example.org"}},
	}
	change(&d)
	return groups.Group{Name: "operator", Delegations: []groups.Delegation{d}}
}

func TestWhatIsDeclaredWrongly(t *testing.T) {
	hosts := func(name string, addresses ...string) func(*groups.Delegation) {
		return func(d *groups.Delegation) {
			d.NameServers = []groups.NameServer{{Name: "ns.example.org"}, {Name: name, Addresses: addresses}}
		}
	}
	for _, c := range []struct {
		name   string
		change func(*groups.Delegation)
		says   string
	}{
		{"an unknown registrar", func(d *groups.Delegation) { d.Registrar = "foo" }, `unknown registrar "foo" for example.net; valid registrars: gandi, inwx, openprovider, ovh, porkbun, transip`},
		{"a registrar in capitals", func(d *groups.Delegation) { d.Registrar = "Gandi" }, `unknown registrar "Gandi"`},
		{"a domain that is none", func(d *groups.Delegation) { d.Domain = "example" }, `"example" is no domain that a registrar could delegate`},
		{"an address for a domain", func(d *groups.Delegation) { d.Domain = "192.0.2.1" }, `"192.0.2.1" is no domain`},
		{"a domain that is not in its xn-- form", func(d *groups.Delegation) { d.Domain = "bücher.example" }, "of an international name, its xn-- form"},
		{"a domain with a blank", func(d *groups.Delegation) { d.Domain = "exa mple.net" }, "is no host name"},
		{"a name with an empty part", hosts("ns..example.org"), "is no host name"},
		{"a name that begins with a hyphen", hosts("-ns.example.org"), "is no host name"},
		{"a name with a part that is too long", hosts(strings.Repeat("n", 64) + ".example.org"), "is no host name"},
		{"a name that is too long", hosts(strings.Repeat("n.", 130) + "example.org"), "longer than a name may be"},
		{"no name", hosts(""), "is no host name"},
		{"a name server without an address that everybody would need", hosts("ns1.example.net"), "ns1.example.net is below the domain and has no address: nobody could find it"},
		{"the same, by its short name", hosts("ns1"), "ns1.example.net is below the domain and has no address"},
		{"a name server elsewhere with an address", hosts("ns1.example.org", "192.0.2.1"), "ns1.example.org is not below the domain: its addresses are the business of its own"},
		{"a name server that only looks like one below", hosts("ns1.myexample.net", "192.0.2.1"), "not below the domain"},
		{"an address that is none", hosts("ns1", "192.0.2.256"), `"192.0.2.256" is no address of a host`},
		{"an address with a zone", hosts("ns1", "fe80::1%eth0"), "is no address of a host"},
		{"no address at all", hosts("ns1", "::"), "is no address of a host"},
		{"an address of many", hosts("ns1", "224.0.0.1"), "is no address of a host"},
		{"a name server twice", hosts("NS.example.org."), "name server ns.example.org is there twice"},
		{"too many name servers", func(d *groups.Delegation) {
			for letter := range strings.SplitSeq("abcdefghijkl", "") {
				d.NameServers = append(d.NameServers, groups.NameServer{Name: letter + ".example.org"})
			}
		}, "it has 14 name servers; 13 is the most"},
		{"a host elsewhere", func(d *groups.Delegation) { d.Hosts = []groups.NameServer{{Name: "ns.example.com"}} }, "host ns.example.com is not below the domain"},
		{"a host that is a name server", func(d *groups.Delegation) {
			d.Hosts = []groups.NameServer{{Name: "ns1", Addresses: []string{"192.0.2.1"}}}
		}, "host ns1.example.net is there twice"},
		{"a malformed key", func(d *groups.Delegation) { d.DNSKEY = []string{someKey, "257 2 13 AA=="} }, "DNSKEY 2: protocol is 2"},
		{"a malformed digest", func(d *groups.Delegation) { d.DS = []string{"70000 13 2 AB"} }, `DS 1: key tag "70000"`},
		{"a key of another domain", func(d *groups.Delegation) { d.DNSKEY = []string{"example.org. IN DNSKEY " + someKey} }, "is of example.org., not of example.net"},
		{"a digest of another key", func(d *groups.Delegation) { d.DS = []string{"1" + someDigest[5:]} }, "DS 1 is of none of the keys that are given (their tags: 55648)"},
		{"a digest alone where the key is wanted", func(d *groups.Delegation) { d.DNSKEY, d.DS = nil, []string{someDigest} }, "a DS alone is given, and gandi takes the DNSKEY"},
		{"keys of what is not signed", func(d *groups.Delegation) { d.Unsigned = true }, "it is said to be unsigned, and has a DNSKEY or DS"},
	} {
		t.Run(c.name, func(t *testing.T) {
			group := declared(c.change)
			for what, err := range map[string]error{"declared": New().Check(group), "evaluated": evaluated(t, group, nil)} {
				assert.Equal(t, report.CodeOf(err), report.Usage, what)
				assert.ErrorContains(t, err, c.says, what)
			}
		})
	}
}

// evaluated evaluates a group with coordinates.
func evaluated(t *testing.T, group groups.Group, variables map[string]string) error {
	t.Helper()
	e := newEvaluation(group)
	if err := env.Map(variables).Load(t.Context(), env.For{Alone: true}, e.coordinates()...); err != nil {
		return err
	}
	_, err := e.evaluate()
	return err
}

func TestWhatIsDeclaredWell(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*groups.Delegation)
	}{
		{"as it is", func(*groups.Delegation) {}},
		{"with a digest of its key", func(d *groups.Delegation) { d.DS = []string{someDigest} }},
		{"with a digest alone, where that is wanted", func(d *groups.Delegation) { d.Registrar, d.DNSKEY, d.DS = "porkbun", nil, []string{someDigest} }},
		{"not signed", func(d *groups.Delegation) { d.DNSKEY, d.Unsigned = nil, true }},
		{"in capitals, with dots", func(d *groups.Delegation) { d.Domain = "Example.NET." }},
		{"with a host for others", func(d *groups.Delegation) {
			d.Hosts = []groups.NameServer{{Name: "ns9.example.net", Addresses: []string{"192.0.2.9"}}}
		}},
		{"with itself as name server", func(d *groups.Delegation) {
			d.NameServers = append(d.NameServers, groups.NameServer{Name: "example.net", Addresses: []string{"192.0.2.9"}})
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			group := declared(c.change)
			assert.NilError(t, New().Check(group))
			assert.NilError(t, evaluated(t, group, nil))
			assert.Equal(t, len(newEvaluation(group).coordinates()), 0, "nothing is left open")
		})
	}
}

func TestAllFaultsAreSaidAtOnce(t *testing.T) {
	group := declared(func(d *groups.Delegation) {
		d.Registrar, d.DNSKEY, d.NameServers[0].Addresses = "foo", []string{"x"}, nil
	})
	group.Delegations = append(group.Delegations, group.Delegations[0], groups.Delegation{Domain: "-"})
	err := New().Check(group)
	for _, says := range []string{"unknown registrar", "DNSKEY 1", "ns1.example.net is below", "example.net: delegated twice", `-: "-" is no host name`} {
		assert.ErrorContains(t, err, says)
	}
}

func TestWhatIsOpenComesFromCoordinates(t *testing.T) {
	open := groups.Group{Name: "operator", Delegations: []groups.Delegation{{}}}
	all := map[string]string{
		"DNS_DOMAIN": "example.net", "REGISTRAR": "porkbun", "DELEGATION_NAME_SERVERS": "ns1 192.0.2.1\nns.example.org", "DELEGATION_DS": someDigest,
	}
	with := func(variable, value string) map[string]string {
		changed := maps.Clone(all)
		changed[variable] = value
		return changed
	}
	assert.NilError(t, New().Check(open), "what is open is not wrong")
	assert.NilError(t, evaluated(t, open, all))
	assert.ErrorContains(t, evaluated(t, open, with("REGISTRAR", "foo")), "one of gandi, inwx, openprovider, ovh, porkbun, transip")
	assert.ErrorContains(t, evaluated(t, open, with("REGISTRAR", "")), "REGISTRAR")
	assert.ErrorContains(t, evaluated(t, open, with("DELEGATION_DS", "")), "neither a DNSKEY nor a DS is given")
	assert.ErrorContains(t, evaluated(t, open, with("DELEGATION_DNSKEY", "none")), "said to be unsigned")
	assert.ErrorContains(t, evaluated(t, open, with("DELEGATION_NAME_SERVERS", "ns1")), "has no address")
	two := open
	two.Delegations = append(two.Delegations, groups.Delegation{Domain: "example.com"})
	assert.ErrorContains(t, evaluated(t, two, all), "2 domains of operator have no keys")
}

func TestVerbsAndTheirKeys(t *testing.T) {
	e := New()
	assert.Equal(t, e.Name(), "registrars")
	assert.Equal(t, len(e.Verbs(groups.Group{})), 0, "of nothing, nothing can be done")
	group := declared(func(d *groups.Delegation) { d.Domain = "" })
	names := func(verb string) string {
		keys, err := env.Declared(e.Task(group, verb).Coordinates()...)
		assert.NilError(t, err)
		var list []string
		for _, k := range keys {
			list = append(list, k.Name)
		}
		return strings.Join(list, " ")
	}
	for _, verb := range e.Verbs(group) {
		assert.Assert(t, verb.Description != "")
	}
	account := "DELEGATION_PORT DELEGATION_RESOLVER DNS_DOMAIN GANDI_TOKEN GANDI_URL REGISTRAR_TIMEOUT"
	assert.Equal(t, names("apply"), account)
	assert.Equal(t, names("plan"), account)
	assert.Equal(t, names("validate"), "DNS_DOMAIN")
	assert.Equal(t, names("verify"), "DELEGATION_PARENT DELEGATION_PORT DELEGATION_RESOLVER DELEGATION_TIMEOUT DNS_DOMAIN")
	group.Delegations[0].Registrar = ""
	for _, r := range table {
		assert.Assert(t, strings.Contains(names("apply"), strings.ToUpper(r.name)+"_URL"), "any registrar may be meant")
	}
}

func TestValidateShowsWhatIsDeclared(t *testing.T) {
	s := newScene(t, "gandi")
	s.group = declared(func(*groups.Delegation) {})
	s.registry.Trouble = func(string, string) int { return fake.Hang }
	s.expect("validate", report.Healthy, "")
	assert.Equal(t, s.out.String(), `example.net at gandi:
  server ns1.example.net
  server ns.example.org
  host ns1.example.net 192.0.2.1 2001:db8::1
  DNSKEY `+someKey+`
  derived: DS `+someDigest+`
`)
}

func TestEveryDomainIsWorkedOn(t *testing.T) {
	s := newScene(t, "gandi")
	s.group.Delegations = append([]groups.Delegation{declared(func(*groups.Delegation) {}).Delegations[0]}, s.group.Delegations...)
	// The account does not have the first; the second is done all the same, so that it
	// is not true any more that nothing was changed.
	s.expect("plan", report.Refused, "not there")
	s.expect("apply", report.Failed, "1 of 2 domains: delegate example.net")
	assert.Equal(t, s.registry.Holds().Servers[0], "ns1.example.org")
	assert.Assert(t, s.record.Changed)
}
