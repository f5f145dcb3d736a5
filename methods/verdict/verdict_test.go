package verdict

import (
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/groups"
	"fediversity.eu/slipway/targets/report"
)

func failing(name string, class Class) Finding {
	return Finding{Unit: Unit{Name: name, Active: "failed", Sub: "failed", Result: "exit-code", ExitCode: exited, ExitStatus: 1}, Fault: FailedUnit, Class: class}
}

func TestWhatTurnsAVerdict(t *testing.T) {
	site := groups.Probe{Name: "site", Ask: groups.TCP{Address: "127.0.0.1:80"}}
	for _, c := range []struct {
		name    string
		verdict Verdict
		code    report.Code
	}{
		{"nothing", Verdict{}, report.Healthy},
		{"a new fault", Verdict{Findings: []Finding{failing("a", New)}}, report.Unhealthy},
		{"a fault where nothing was changed", Verdict{Findings: []Finding{failing("a", Present)}}, report.Unhealthy},
		{"an old fault", Verdict{Findings: []Finding{failing("a", Old)}}, report.Healthy},
		{"an old fault that counts", Verdict{Findings: []Finding{failing("a", Old)}, baseline: Fail}, report.Unhealthy},
		{"a tolerated fault", Verdict{Findings: []Finding{failing("a", Tolerated)}, baseline: Fail}, report.Healthy},
		{"a remark", Verdict{Findings: []Finding{{Fault: Recovered, Class: Remark}}, baseline: Fail}, report.Healthy},
		{"the machine itself", Verdict{Machine: []string{"another system runs"}}, report.Unhealthy},
		{"a right answer", Verdict{Probes: []Answer{{Probe: site, Outcome: Right}}}, report.Healthy},
		{"a wrong answer", Verdict{Probes: []Answer{{Probe: site, Outcome: Right}, {Probe: site, Outcome: Wrong}}}, report.Unhealthy},
		{"a question that could not be asked", Verdict{Probes: []Answer{{Probe: site, Outcome: Right}, {Probe: site, Outcome: NotKnown}}}, report.Unknown},
		{"a question that could not be asked, and a wrong answer", Verdict{Probes: []Answer{{Probe: site, Outcome: NotKnown}, {Probe: site, Outcome: Wrong}}}, report.Unhealthy},
		{"a question that could not be asked, and a fault", Verdict{Probes: []Answer{{Probe: site, Outcome: NotKnown}}, Findings: []Finding{failing("a", New)}}, report.Unhealthy},
	} {
		t.Run(c.name, func(t *testing.T) {
			assert.Equal(t, c.verdict.Code(), c.code)
			assert.Equal(t, c.verdict.Healthy(), c.code == report.Healthy)
			assert.Equal(t, report.CodeOf(c.verdict.Err()), c.code)
			if err := c.verdict.Err(); err != nil {
				assert.Equal(t, len(report.Hints(err)), 1)
			}
		})
	}
}

func TestAnUnhealthyMachineIsShown(t *testing.T) {
	broken := failing("web.service", New)
	broken.Restarts, broken.Since, broken.Journal = 5, time.Unix(1700000000, 0), []string{"cannot bind", "Main process exited"}
	v := Verdict{
		Findings: []Finding{
			{Unit: Unit{Name: "b.mount", Active: "activating", Sub: "mounting", Result: "success"}, Fault: StillStarts, Class: New},
			failing("old.service", Old), broken,
		},
		Machine: []string{"/nix/store/a runs instead of /nix/store/b"},
		Probes: []Answer{
			{Probe: groups.Probe{Name: "site", Ask: groups.HTTP{URL: "http://127.0.0.1/", Host: "www.example.org"}}, Outcome: Wrong, Why: "HTTP status 503 instead of 200"},
			{Probe: groups.Probe{Name: "database", Ask: groups.TCP{Address: "127.0.0.1:5432"}}, Outcome: NotKnown, Why: "contact lost"},
			{Probe: groups.Probe{Name: "fine", Ask: groups.Command{Script: "true"}}, Outcome: Right},
		},
	}
	assert.Error(t, v.Err(), `judge the machine: 2 units unhealthy, /nix/store/a runs instead of /nix/store/b, 1 probe unanswered, 1 probe not carried out
  b.mount: still starting (activating/mounting)
  web.service: failed (exit-code, exit status 1, 5 restarts, since 22:13:20 UTC)
    | cannot bind
    | Main process exited
  probe site (http://127.0.0.1/ as www.example.org): HTTP status 503 instead of 200
  probe database (tcp 127.0.0.1:5432): not carried out: contact lost`)
	assert.Equal(t, len(v.Remarks()), 1)
	assert.Equal(t, v.Remarks()[0].String(), "old.service: failed (exit-code, exit status 1); it was so before")
}

func TestHowAFindingStandsInARecord(t *testing.T) {
	f := failing("web.service", Tolerated)
	since := time.Unix(1700000000, 0).UTC()
	f.Unit.User, f.Restarts, f.Why, f.Since, f.Journal = "1000", 2, "because", since, []string{"alas"}
	assert.DeepEqual(t, f.Record(), report.Unit{
		Name: "web.service", User: "1000", Class: "tolerated", Fault: "failed", Why: "because", Since: &since, Result: "exit-code", ExitStatus: 1,
		Exit: "exit status 1", Restarts: 2, Journal: []string{"alas"},
	})
}

func TestTolerated(t *testing.T) {
	o := Options{Tolerate: []string{"acme-*.service", "network-wait", "exact.timer", `mnt-my\x2ddata.mount  one two`, `dev-*\x2d?.swap`}}
	for unit, want := range map[string]bool{
		"acme-order-renew-a.service": true, "network-wait.service": true, "exact.timer": true,
		`mnt-my\x2ddata.mount`: true, "one.service": true, "two.service": true, `dev-a\x2db.swap`: true,
		"mnt-myx2ddata.mount": false, "one two.service": false,
		"acme.service": false, "network-wait.timer": false, "exact.service": false, "xacme-a.service": false,
	} {
		assert.Equal(t, o.tolerates(unit), want, unit)
	}
	assert.NilError(t, CheckTolerate(o.Tolerate))
	assert.ErrorContains(t, CheckTolerate([]string{"a[.service"}), `"a[.service"`)
}

func TestWhatIsToleratedAndIsNotThere(t *testing.T) {
	o := Options{Tolerate: []string{"web", "gone.service old", "acme-*"}}
	units := []Unit{{Name: "web.service"}, {Name: "acme-a.timer"}}
	assert.DeepEqual(t, o.idle(units, []Finding{{Unit: Unit{Name: "old.service"}}}), []string{"gone.service"})
}

func TestRoughDurations(t *testing.T) {
	for d, want := range map[time.Duration]string{
		2340 * time.Millisecond: "2.3s", 61 * time.Second: "1m1s", 10 * time.Minute: "10m", 5 * time.Hour: "5h", 90 * time.Minute: "1h30m",
	} {
		assert.Equal(t, rough(d), want)
	}
}
