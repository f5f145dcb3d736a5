package dns

import (
	"strings"
	"testing"

	mdns "github.com/miekg/dns"
	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"fediversity.eu/slipway/targets/report"
)

// planOf makes a plan for one zone that is to hold so many records.
func planOf(t *testing.T, wanted int, changes string) (changes, []zone) { //nolint:gocritic // a plan
	t.Helper()
	z := zone{name: "example.org.", records: make([]record, wanted)}
	c, err := readPlan([]byte(`{"live":{"example.org.":{"changes":[`+changes+`],"meta":null}}}`), []zone{z})
	assert.NilError(t, err)
	return c, []zone{z}
}

// repeat writes so many changes of a type.
func repeat(kind string, count int) string {
	one := `{"type":"` + kind + `","name":"a","record_type":"A","existing":{"ttl":60,"value":"192.0.2.1"},"new":{"ttl":60,"value":"192.0.2.2"}}`
	return strings.TrimSuffix(strings.Repeat(one+",", count), ",")
}

const otherNS = `{"type":"update","name":"","record_type":"NS","existing":{"ttl":60,"values":["a.","b."]},"new":{"ttl":60,"values":["b.","c."]}}`

func TestGuard(t *testing.T) {
	for _, c := range []struct {
		what    string
		wanted  int
		changes string
		keys    GuardKeys
		p       provider
		why     string // nothing: it may pass
		hint    string
	}{
		{what: "nothing to change", wanted: 3},
		{what: "an empty zone with nothing to put into it"},
		{what: "an empty zone", wanted: 2, changes: repeat("create", 2), why: "as if it had been lost: 2 records would be made anew", hint: "DNS_NEW_ZONES=example.org"},
		{what: "a new zone", wanted: 2, changes: repeat("create", 2), keys: GuardKeys{New: []string{"Example.org."}}},
		{what: "another zone is new", wanted: 2, changes: repeat("create", 2), keys: GuardKeys{New: []string{"example.net"}}, why: "as if it had been lost"},
		{what: "one record more", wanted: 2, changes: repeat("create", 1)},
		{what: "one of two deleted", wanted: 1, changes: repeat("delete", 1)},
		{what: "the only one deleted", wanted: 0, changes: repeat("delete", 1), why: "1 of its 1 records would be deleted, and at most 0 may be", hint: "DNS_ALLOW_DELETE=example.org=1"},
		{what: "all of nine replaced by others", wanted: 9, changes: repeat("delete", 9) + "," + repeat("create", 9), why: "9 of its 9 records would be deleted"},
		{what: "five of ten deleted", wanted: 5, changes: repeat("delete", 5)},
		{what: "six of twelve deleted", wanted: 6, changes: repeat("delete", 6), why: "at most 5 may be"},
		{what: "a tenth of a hundred deleted", wanted: 90, changes: repeat("delete", 10)},
		{what: "more than a tenth of a hundred deleted", wanted: 89, changes: repeat("delete", 11), why: "11 of its 100 records would be deleted, and at most 10 may be", hint: "=11"},
		{what: "as many deleted as are allowed", wanted: 2, changes: repeat("delete", 8), keys: GuardKeys{Delete: Allowances{"example.org.": 8}}},
		{what: "more deleted than are allowed", wanted: 2, changes: repeat("delete", 8), keys: GuardKeys{Delete: Allowances{"example.org.": 7}}, why: "at most 7 may be"},
		{what: "deletions that are allowed elsewhere", wanted: 2, changes: repeat("delete", 8), keys: GuardKeys{Delete: Allowances{"example.net.": 8}}, why: "8 of its 10"},
		{what: "five of five changed", wanted: 5, changes: repeat("update", 5)},
		{what: "six of six changed", wanted: 6, changes: repeat("update", 6), why: "6 of its 6 records would be changed", hint: "DNS_ALLOW_UPDATE=example.org=6"},
		{what: "changes that are allowed", wanted: 6, changes: repeat("update", 6), keys: GuardKeys{Update: Allowances{"example.org.": 6}}},
		{what: "other name servers", wanted: 3, changes: otherNS, why: "its own name servers would be changed", hint: "DNS_ALLOW_NS=example.org"},
		{what: "other name servers, allowed", wanted: 3, changes: otherNS, keys: GuardKeys{NS: []string{"example.org"}}},
		{what: "other name servers, of which one can't be taken away", wanted: 3, changes: otherNS, keys: GuardKeys{NS: []string{"example.org"}}, p: provider{keepsNS: true}, why: "its own name servers a. can't be taken away"},
	} {
		t.Run(c.what, func(t *testing.T) {
			plan, zones := planOf(t, c.wanted, c.changes)
			err := c.keys.judge(plan, zones, c.p)
			if c.why == "" {
				assert.NilError(t, err)
				return
			}
			assert.ErrorContains(t, err, c.why)
			assert.Equal(t, report.CodeOf(err), report.Refused)
			assert.Assert(t, cmp.Contains(strings.Join(report.Hints(err), ""), c.hint))
		})
	}
}

// TestOwnNameServersAreNoContent has a zone in which only what its server made by
// itself is left.
func TestOwnNameServersAreNoContent(t *testing.T) {
	ns := record{name: "example.org.", kind: mdns.TypeNS}
	z := zone{name: "example.org.", records: []record{ns, {name: "a.example.org.", kind: mdns.TypeA}}}
	c, err := readPlan([]byte(`{"live":{"example.org.":{"changes":[`+repeat("create", 1)+`]}}}`), []zone{z})
	assert.NilError(t, err)
	assert.ErrorContains(t, (&GuardKeys{}).judge(c, []zone{z}, provider{}), "as if it had been lost")
}

func TestZonesThatTheGroupDoesNotHave(t *testing.T) {
	keys := GuardKeys{New: []string{"example.net"}, Delete: Allowances{"example.com.": 1}, Update: Allowances{"example.org.": 1}, NS: []string{"exmple.org"}}
	err := keys.check([]zone{{name: "example.org."}})
	for _, want := range []string{"DNS_NEW_ZONES: the group has no zone example.net", "DNS_ALLOW_DELETE: the group has no zone example.com", "DNS_ALLOW_NS: the group has no zone exmple.org"} {
		assert.Check(t, cmp.ErrorContains(err, want))
	}
	assert.Assert(t, !strings.Contains(err.Error(), "DNS_ALLOW_UPDATE"))
}

func TestPlansThatCannotBeRead(t *testing.T) {
	for _, text := range []string{"", "[]", `{"live":{"example.org.":{"changes":[{"type":"rename"}]}}}`} {
		_, err := readPlan([]byte(text), []zone{{name: "example.org."}})
		assert.ErrorContains(t, err, "read the plan of OctoDNS", "%q", text)
	}
}

func TestPlanInWords(t *testing.T) {
	c, _ := planOf(t, 5, `{"type":"create","name":"","record_type":"MX","new":{"ttl":60,"values":[{"exchange":"a.example.org.","preference":10}]}},
{"type":"create","name":"t","record_type":"TXT","new":{"ttl":60,"value":"a\\; b"}},
{"type":"delete","name":"x","record_type":"TLSA","existing":{"ttl":60,"value":{"certificate_usage":3,"selector":1,"matching_type":1,"certificate_association_data":"ab"}}},
{"type":"create","name":"h","record_type":"HTTPS","new":{"ttl":60,"value":{"svcpriority":1,"targetname":".","svcparams":{"alpn":["h2"]}}}},
{"type":"update","name":"s","record_type":"SRV","existing":{"ttl":60,"value":{"priority":0,"weight":5,"port":1,"target":"a."}},"new":{"ttl":90,"value":{"priority":0,"weight":5,"port":2,"target":"a."}}}`)
	var b strings.Builder
	assert.NilError(t, c.show(&b))
	assert.Equal(t, b.String(), `example.org.: 3 to create, 1 to change, 1 to delete, of 3 records
  + @ MX 60 10 a.example.org.
  + t TXT 60 a; b
  - x TLSA 60 3 1 1 ab
  + h HTTPS 60 1 . {"alpn":["h2"]}
  ~ s SRV 60 0 5 1 a.
      becomes 90 0 5 2 a.
`)
}
