//go:build checks

package checks

import (
	"fmt"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"fediversity.eu/slipway/groups"
	"fediversity.eu/slipway/targets/report"
)

// small is a group with one zone of so many machines, m1 and on, and a mail
// exchanger.
func small(machines int) (groups.Group, map[string]string) {
	group := groups.Group{Name: "small", Zones: []groups.Zone{{Records: []groups.Record{
		{Name: "@", Type: "MX", Values: []string{"10 mx.example.net."}},
	}}}}
	at := map[string]string{}
	for i := range machines {
		group.Machines = append(group.Machines, groups.Machine{Name: fmt.Sprintf("m%d", i+1)})
		at[fmt.Sprintf("M%d_ADDRESSES", i+1)] = fmt.Sprintf("192.0.2.%d", i+1)
	}
	return group, at
}

const zoneName = "example.org."

var isNew = map[string]string{"DNS_NEW_ZONES": "example.org"}

// filled is a server of a kind whose zone holds the small group's.
func filled(t *testing.T, kind string, machines int) (*nameServer, groups.Group, map[string]string) {
	t.Helper()
	s := newNameServer(t, kind, zoneName)
	group, at := small(machines)
	assert.Equal(t, runDNS(t, group, "apply", s.vars, at, isNew).code, report.Healthy)
	return s, group, at
}

// hinted tells what the error of a run advises.
func hinted(r effectRun) string { return strings.Join(report.Hints(r.err), "; ") }

// TestDNSForeignValues has somebody else's records of a kind that OctoDNS reads and
// can't always write back: what it can is deleted as anything that nobody declared,
// and the rest is left alone and holds up nothing.
func TestDNSForeignValues(t *testing.T) {
	for _, k := range kindsOfServers {
		t.Run(k.name, func(t *testing.T) {
			s, group, at := filled(t, k.name, 4)
			s.set(zoneName, "padded.example.org.", "HTTPS", `1 . alpn=h2 ech="ABH+DQANAAAAAAAAAAAAAAAAAA=="`)
			s.set(zoneName, "equal.example.org.", "SVCB", `1 . key667="hello=world"`)
			s.set(zoneName, "blank.example.org.", "SVCB", `1 . key667="hello world"`)
			s.set(zoneName, "m1.example.org.", "A", "203.0.113.66")

			plan := runDNS(t, group, "plan", s.vars, at)
			assert.Equal(t, plan.code, report.Healthy, "%v", plan.err)
			assert.Assert(t, cmp.Contains(plan.out, "1 to change, 2 to delete"))
			assert.Assert(t, cmp.Contains(plan.log, "blank.example.org. SVCB is left alone"))
			assert.Equal(t, runDNS(t, group, "dump", s.vars, at).code, report.Healthy)

			apply := runDNS(t, group, "apply", s.vars, at)
			assert.Equal(t, apply.code, report.Healthy, "%v", apply.err)
			assert.Equal(t, apply.out, plan.out, "what was shown is what was done")
			assert.DeepEqual(t, s.ask("m1.example.org.", "A"), []string{"m1.example.org. 3600 IN A 192.0.2.1"})
			assert.Assert(t, cmp.Len(s.ask("padded.example.org.", "HTTPS"), 0))
			assert.Assert(t, cmp.Len(s.ask("equal.example.org.", "SVCB"), 0))
			assert.Assert(t, cmp.Len(s.ask("blank.example.org.", "SVCB"), 1))
			assert.Assert(t, !runDNS(t, group, "apply", s.vars, at).record.Changed)
		})
	}
}

func TestDNSDrift(t *testing.T) {
	for _, k := range kindsOfServers {
		t.Run(k.name, func(t *testing.T) {
			s, group, at := filled(t, k.name, 4)
			s.set(zoneName, "m1.example.org.", "A")
			s.set(zoneName, "m2.example.org.", "A", "203.0.113.66")
			s.set(zoneName, "rogue.example.org.", "A", "203.0.113.67")
			s.set(zoneName, "_acme-challenge.m1.example.org.", "TXT", `"of-a-machine"`)
			serial := s.serial(zoneName)

			plan := runDNS(t, group, "plan", s.vars, at)
			assert.Equal(t, plan.code, report.Healthy)
			assert.Equal(t, plan.out, `example.org.: 1 to create, 1 to change, 1 to delete, of 5 records
  - rogue A 3600 203.0.113.67
  + m1 A 3600 192.0.2.1
  ~ m2 A 3600 203.0.113.66
      becomes 3600 192.0.2.2
`)
			assert.Equal(t, s.serial(zoneName), serial, "a plan changes nothing")
			assert.Assert(t, !plan.record.Changed)
			assert.DeepEqual(t, plan.record.Zones, []report.Zone{{Name: zoneName, Records: 5, Create: 1, Change: 1, Delete: 1}})

			apply := runDNS(t, group, "apply", s.vars, at)
			assert.Equal(t, apply.code, report.Healthy)
			assert.Equal(t, apply.out, plan.out, "what was shown is what was done")
			assert.DeepEqual(t, s.ask("m1.example.org.", "A"), []string{"m1.example.org. 3600 IN A 192.0.2.1"})
			assert.DeepEqual(t, s.ask("m2.example.org.", "A"), []string{"m2.example.org. 3600 IN A 192.0.2.2"})
			assert.Assert(t, cmp.Len(s.ask("rogue.example.org.", "A"), 0))
			assert.Assert(t, cmp.Len(s.ask("_acme-challenge.m1.example.org.", "TXT"), 1), "challenges are the machines' own")
			assert.Assert(t, cmp.Len(s.ask(zoneName, "NS"), 1), "the zone's own name servers were not asked for")
			assert.Equal(t, runDNS(t, group, "apply", s.vars, at).record.Changed, false)

			dump := runDNS(t, group, "dump", s.vars, at)
			assert.Equal(t, dump.code, report.Healthy)
			assert.Assert(t, cmp.Contains(dump.out, "# example.org.\n"))
			assert.Assert(t, cmp.Contains(dump.out, "value: 192.0.2.2"))
			assert.Assert(t, cmp.Contains(dump.out, "of-a-machine"))
		})
	}
}

// colleague does something else with a zone as soon as a plan for it is shown.
type colleague func()

func (c colleague) Write(text []byte) (int, error) {
	c()
	return len(text), nil
}

func TestDNSSomebodyElseIsFaster(t *testing.T) {
	for _, k := range kindsOfServers {
		t.Run(k.name, func(t *testing.T) {
			s, group, at := filled(t, k.name, 4)
			s.set(zoneName, "m1.example.org.", "A")
			var serial string
			r := watchDNS(t, colleague(func() {
				s.set(zoneName, "m2.example.org.", "A", "203.0.113.66")
				serial = s.serial(zoneName)
			}), group, "apply", s.vars, at)
			assert.Equal(t, r.code, report.Busy)
			assert.ErrorContains(t, r.err, "changed by somebody else in the meantime")
			assert.Assert(t, cmp.Contains(hinted(r), "run it again"))
			assert.Assert(t, !r.record.Changed)
			assert.Equal(t, s.serial(zoneName), serial, "nothing was changed")
			assert.Equal(t, runDNS(t, group, "apply", s.vars, at).code, report.Healthy)
			assert.DeepEqual(t, s.ask("m2.example.org.", "A"), []string{"m2.example.org. 3600 IN A 192.0.2.2"})
		})
	}
}

func TestDNSRefusals(t *testing.T) {
	for _, k := range kindsOfServers {
		t.Run(k.name, func(t *testing.T) {
			s, group, at := filled(t, k.name, 8)
			refused := func(r effectRun, why, hint string) {
				t.Helper()
				assert.Equal(t, r.code, report.Refused)
				assert.ErrorContains(t, r.err, why)
				assert.Assert(t, cmp.Contains(hinted(r), hint))
				assert.Assert(t, !r.record.Changed)
			}
			untouched := func(run func()) {
				t.Helper()
				serial := s.serial(zoneName)
				run()
				assert.Equal(t, s.serial(zoneName), serial, "nothing was changed")
			}

			// Below ten records OctoDNS itself protects nothing.
			gone := map[string]string{}
			for i := range 6 {
				gone[fmt.Sprintf("M%d_ADDRESSES", i+1)] = ""
			}
			untouched(func() {
				refused(runDNS(t, group, "apply", s.vars, at, gone), "6 of its 9 records would be deleted, and at most 4 may be", "DNS_ALLOW_DELETE=example.org=6")
				refused(runDNS(t, group, "plan", s.vars, at, gone), "apply would be refused", "DNS_ALLOW_DELETE=example.org=6")
				refused(runDNS(t, group, "apply", s.vars, at, gone, map[string]string{"DNS_ALLOW_DELETE": "example.org=5"}), "at most 5 may be", "=6")
			})
			assert.Equal(t, runDNS(t, group, "apply", s.vars, at, gone, map[string]string{"DNS_ALLOW_DELETE": "example.org=6"}).code, report.Healthy)
			assert.Assert(t, cmp.Len(s.ask("m1.example.org.", "A"), 0))
			assert.Equal(t, runDNS(t, group, "apply", s.vars, at).code, report.Healthy)

			moved := map[string]string{}
			for i := range 8 {
				moved[fmt.Sprintf("M%d_ADDRESSES", i+1)] = fmt.Sprintf("198.51.100.%d", i+1)
			}
			untouched(func() {
				refused(runDNS(t, group, "apply", s.vars, moved), "8 of its 9 records would be changed", "DNS_ALLOW_UPDATE=example.org=8")
			})

			allow := map[string]string{"DNS_ALLOW_NS": "example.org"}
			served := func(names ...string) groups.Group {
				g := group
				g.Zones = []groups.Zone{{Records: append([]groups.Record{{Name: "@", Type: "NS", Values: names}}, group.Zones[0].Records...)}}
				return g
			}
			named := served("ns1.example.com.", "ns2.example.com.")
			if s.api == 0 {
				untouched(func() {
					refused(runDNS(t, named, "apply", s.vars, at, allow), "ns.example.net. can't be taken away by dynamic updates", "on the server itself")
				})
				named = served("ns1.example.com.", "ns.example.net.")
			}
			untouched(func() {
				refused(runDNS(t, named, "apply", s.vars, at), "its own name servers would be changed", "DNS_ALLOW_NS=example.org")
			})
			assert.Equal(t, runDNS(t, named, "apply", s.vars, at, allow).code, report.Healthy)
			assert.Assert(t, cmp.Len(s.ask(zoneName, "NS"), 2))

			// Lost: everything that the group had published is gone.
			for i := range 8 {
				s.set(zoneName, fmt.Sprintf("m%d.example.org.", i+1), "A")
			}
			s.set(zoneName, zoneName, "MX")
			untouched(func() {
				refused(runDNS(t, named, "apply", s.vars, at), "as if it had been lost", "DNS_NEW_ZONES=example.org")
			})
			assert.Equal(t, runDNS(t, named, "apply", s.vars, at, isNew).code, report.Healthy)

			untouched(func() {
				nothing := groups.Group{Name: "small", Machines: group.Machines, Zones: []groups.Zone{{}}}
				refused(runDNS(t, nothing, "apply", s.vars), "they would hold nothing", "ADDRESSES")
			})
		})
	}
}

func TestDNSServerTrouble(t *testing.T) {
	for _, k := range kindsOfServers {
		t.Run(k.name, func(t *testing.T) {
			s, group, at := filled(t, k.name, 2)
			serial := s.serial(zoneName)
			secret, wrong := "DNS_TSIG_SECRET", "d3JvbmcgYnV0IG9mIGJhc2U2NA=="
			if s.api != 0 {
				secret, wrong = "DNS_TOKEN", "another-api-key"
			}
			for _, c := range []struct {
				name string
				vars map[string]string
				code report.Code
				why  string
			}{
				{"a wrong secret", map[string]string{secret: wrong}, report.Refused, "the server knows the TSIG key, but|does not take the credentials"},
				{"no secret", map[string]string{secret: ""}, report.Usage, secret + ": missing"},
				{"a secret that reads as a number", map[string]string{secret: "12345678"}, report.Usage, secret + ": it reads as a number"},
				{"a key that the server does not know", map[string]string{"DNS_TSIG_NAME": "other."}, report.Refused, "does not know the TSIG key"},
				{"a zone that the group does not have", map[string]string{"DNS_ALLOW_DELETE": "example.net=3"}, report.Usage, "the group has no zone example.net"},
				{"a provider that nobody knows", map[string]string{"DNS_PROVIDER": "other", "DNS_CLASS": "octodns_nobody.NobodyProvider"}, report.Usage, "Unknown provider class|lacks the provider's package"},
			} {
				if _, ok := c.vars["DNS_TSIG_NAME"]; ok && s.api != 0 {
					continue
				}
				t.Run(c.name, func(t *testing.T) {
					for _, verb := range []string{"plan", "apply", "dump"} {
						r := runDNS(t, group, verb, s.vars, at, c.vars)
						assert.Equal(t, r.code, c.code)
						one, other, _ := strings.Cut(c.why, "|")
						assert.Assert(t, strings.Contains(r.err.Error(), one) || other != "" && strings.Contains(r.err.Error(), other), "%v", r.err)
						assert.Assert(t, !strings.Contains(r.err.Error(), wrong))
					}
				})
			}
			assert.Equal(t, s.serial(zoneName), serial)

			t.Run("no such zone", func(t *testing.T) {
				elsewhere := map[string]string{"DNS_DOMAIN": "example.com"}
				r := runDNS(t, group, "apply", s.vars, at, elsewhere)
				assert.Equal(t, r.code, report.Refused)
				r = runDNS(t, group, "apply", s.vars, at, elsewhere, map[string]string{"DNS_NEW_ZONES": "example.com"})
				if s.api == 0 {
					assert.Equal(t, r.code, report.Refused)
					assert.ErrorContains(t, r.err, "the server does not have the zone")
					return
				}
				assert.Equal(t, r.code, report.Healthy, "an API can make a zone")
				assert.Assert(t, cmp.Len(s.ask("m1.example.com.", "A"), 1))
			})

			t.Run("a server that is down", func(t *testing.T) {
				s.stop()
				for _, verb := range []string{"plan", "apply", "dump"} {
					r := runDNS(t, group, verb, s.vars, at)
					assert.Equal(t, r.code, report.Unknown)
					assert.ErrorContains(t, r.err, "nobody answers")
				}
				s.start()
				assert.Equal(t, runDNS(t, group, "apply", s.vars, at).code, report.Healthy)
			})
		})
	}
}
