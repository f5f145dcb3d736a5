//go:build checks

package checks

import (
	"bytes"
	"maps"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/effects/dns"
	"fediversity.eu/slipway/groups"
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

// runDNS runs a verb of the effect as a program would.
func runDNS(t *testing.T, group groups.Group, verb string, sets ...map[string]string) effectRun {
	t.Helper()
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
			Program: r.record.Program, Environment: environment, Log: report.NewLog(report.Plain(&log)), Out: &out, Record: r.record,
		})
	}()
	r.took = time.Since(began)
	r.record.Close(r.err)
	r.code, r.out, r.log = report.CodeOf(r.err), out.String(), log.String()
	t.Logf("%s: %s after %.2f s\n%s%s", r.record.Program, r.code, r.took.Seconds(), r.log, r.out)
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

func TestDNSTry(t *testing.T) {
	g := groups.Group{Name: "g", Zones: []groups.Zone{{}}, Machines: []groups.Machine{{Name: "web", Names: []string{"@", "www"}}, {Name: "db"}}}
	for _, k := range kindsOfServers {
		t.Run(k.name, func(t *testing.T) {
			s := newNameServer(t, k.name, "example.org.")
			at := map[string]string{"WEB_ADDRESSES": "192.0.2.7,2001:db8::7"}
			runDNS(t, g, "validate", at)
			runDNS(t, g, "plan", s.vars, at)
			runDNS(t, g, "apply", s.vars, at)
			runDNS(t, g, "apply", s.vars, at, map[string]string{"DNS_NEW_ZONES": "example.org"})
			runDNS(t, g, "apply", s.vars, at)
			runDNS(t, g, "dump", s.vars, at)
			t.Log(s.ask("www.example.org.", "AAAA"))
		})
	}
}
