package verdict

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/godbus/dbus/v5"
	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"fediversity.eu/slipway/groups"
	"fediversity.eu/slipway/internal/plaintext"
	"fediversity.eu/slipway/targets/report"
)

// seen is what came of a verdict, how long it took, and what was said meanwhile.
type seen struct {
	Verdict
	err  error
	took time.Duration
	said string
}

// judged observes a machine, whose first sample is the baseline, and judges it.
func judged(t *testing.T, m *machine, o Options) seen {
	t.Helper()
	var s seen
	var log strings.Builder
	if o.Limit == 0 {
		o.Limit = time.Minute
	}
	synctest.Test(t, func(t *testing.T) {
		w, err := Observe(t.Context(), m, report.NewLog(report.Plain(&log)))
		if s.err = err; err != nil {
			return
		}
		defer w.Close()
		began := time.Now()
		s.Verdict, s.err = w.Judge(t.Context(), m, o)
		s.took = time.Since(began)
	})
	s.said = log.String()
	return s
}

// faultsOf says class and fault of each finding.
func faultsOf(v Verdict) string {
	var all []string
	for _, f := range v.Findings {
		all = append(all, fmt.Sprintf("%s: %s %s", f.Name(), f.Class, f.Fault))
	}
	return strings.Join(all, "; ")
}

func TestAMachineThatStaysWell(t *testing.T) {
	s := judged(t, &machine{samples: []any{printed(100, web("active")), printed(110, web("active"))}}, Options{})
	assert.NilError(t, s.err)
	assert.Assert(t, s.Healthy())
	assert.Equal(t, s.Units, 2)
	assert.Equal(t, s.took, time.Duration(0), "nothing was started that could still fail")
	assert.Assert(t, strings.Contains(s.said, "its journal is read instead"), s.said)
}

func TestWhatTheRunStartedMustLiveForAMoment(t *testing.T) {
	started := "ExecMainStartTimestampMonotonic=109000000"
	s := judged(t, &machine{samples: []any{printed(100), printed(110, web("active", started)), printed(111, web("active", started))}}, Options{})
	assert.NilError(t, s.err)
	assert.Assert(t, s.Healthy())
	assert.Equal(t, s.took, 500*time.Millisecond, "looked at again until it is two seconds old")
	assert.Assert(t, strings.Contains(s.said, "watching web.service"), s.said)
}

func TestNewAndOld(t *testing.T) {
	failed, well := web("failed", "Result=exit-code", "FragmentPath=/etc/web"), web("active", "FragmentPath=/etc/web")
	reset := web("inactive", "FragmentPath=/etc/web")
	illReloaded := web("active", "FragmentPath=/etc/web", "ReloadResult=exit-code")
	looping := web("active", "FragmentPath=/etc/web", "Restart=always", "NRestarts=2", "ExecMainStartTimestampMonotonic=99000000")
	waiting := strings.NewReplacer("SubState=x", "SubState=auto-restart").Replace(web("activating", "FragmentPath=/etc/web", "Restart=always", "NRestarts=2"))
	for _, c := range []struct {
		name    string
		before  string
		after   string
		sums    any
		options Options
		want    string
		code    report.Code
		says    string
	}{
		{name: "fails now", before: well, after: failed, want: "web.service: new failed", code: report.Unhealthy},
		{name: "failed before, and does again", before: failed, after: failed, want: "web.service: old failed", says: "1 unit unhealthy"},
		{name: "failed before, and counts", before: failed, after: failed, options: Options{Baseline: Fail}, want: "web.service: old failed", code: report.Unhealthy},
		{name: "failed before, and was reset", before: failed, after: reset, want: "web.service: old had failed before, and was not started again"},
		{name: "failed before, and was mended", before: failed, after: well},
		{name: "failed before, and was unloaded", before: failed, after: "", want: "web.service: old had failed before, and was not started again"},
		{name: "had not reloaded, and fails now", before: illReloaded, after: failed, want: "web.service: new failed", code: report.Unhealthy},
		{name: "was up between restarts, and is no more", before: looping, after: failed, want: "web.service: new failed", code: report.Unhealthy},
		{name: "was up between restarts, and is so still", before: looping, after: strings.NewReplacer("NRestarts=2", "NRestarts=4", "=99000000", "=109000000").Replace(looping), want: "web.service: old restarts again and again"},
		{name: "waited for a restart, and was given up", before: waiting, after: failed, want: "web.service: old failed"},
		{name: "fails, and is tolerated", before: well, after: failed, options: Options{Tolerate: []string{"w?b"}}, want: "web.service: tolerated failed"},
		{name: "a switch that blames nobody", before: well, after: well, options: Options{Switch: Switch{Code: 4}}, code: report.Unhealthy, says: "nothing new is failed"},
		{name: "a switch that blames what was so before", before: failed, after: failed, options: Options{Switch: Switch{Code: 4, Units: []string{"web.service"}}}, want: "web.service: old failed"},
		{name: "a switch that blames nobody, beside what was so before", before: failed, after: failed, options: Options{Switch: Switch{Code: 4}}, want: "web.service: old failed", code: report.Unhealthy, says: "nothing new is failed"},
		{name: "a switch that blames nobody, beside what is new", before: well, after: failed, options: Options{Switch: Switch{Code: 4}}, want: "web.service: new failed", code: report.Unhealthy, says: "1 unit unhealthy\n"},
		{name: "a switch that blames nobody, beside what is tolerated", before: well, after: failed, options: Options{Switch: Switch{Code: 4}, Tolerate: []string{"web"}}, want: "web.service: tolerated failed", code: report.Unhealthy, says: "nothing new is failed"},
		{name: "a switch that blames another, beside what was so before", before: failed, after: failed, options: Options{Switch: Switch{Code: 4, Units: []string{"web.service", "mail.service"}}}, want: "web.service: old failed", code: report.Unhealthy, says: "of mail.service none is failed now"},
		{name: "a switch that blames a user, beside what was so before", before: failed, after: failed, options: Options{Switch: Switch{Code: 4, Units: []string{"web.service"}, Users: []string{"ann"}}}, want: "web.service: old failed", code: report.Unhealthy, says: "the activation of user ann failed"},
		{name: "a switch that blames a user alone", before: well, after: well, options: Options{Switch: Switch{Code: 4, Users: []string{"ann"}}}, code: report.Unhealthy, says: "the activation of user ann failed (exit code 4)"},
		{name: "a switch that blames users, beside what is new", before: well, after: failed, options: Options{Switch: Switch{Code: 4, Users: []string{"ann", "ben"}}}, want: "web.service: new failed", code: report.Unhealthy, says: "the activation of user ann, ben failed (exit code 4)"},
		{name: "another system", before: well, after: well, options: Options{System: "/nix/store/b"}, code: report.Unhealthy, says: "/nix/store/a runs instead of /nix/store/b"},
		{name: "the right system", before: well, after: well, options: Options{System: "/nix/store/a"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := judged(t, &machine{samples: []any{printed(100, c.before), printed(110, c.after)}}, c.options)
			assert.NilError(t, s.err)
			assert.Equal(t, faultsOf(s.Verdict), c.want)
			assert.Equal(t, s.Code(), c.code)
			if c.code != report.Healthy && c.says != "" {
				assert.ErrorContains(t, s.Err(), c.says)
			}
		})
	}
}

func TestAUnitThatThisRunChangedIsNotOld(t *testing.T) {
	failed := web("failed", "FragmentPath=/etc/web", "DropInPaths=/etc/web.d/a /etc/web.d/b")
	m := &machine{samples: []any{printed(100, failed), printed(110, failed)}, sums: "1 1\n2 2\n3 3\n"}
	synctest.Test(t, func(t *testing.T) {
		w, err := Observe(t.Context(), m, &report.Log{})
		assert.NilError(t, err)
		m.sums = "1 1\n2 2\n4 3\n"
		v, err := w.Judge(t.Context(), m, Options{Limit: time.Minute})
		assert.NilError(t, err)
		assert.Equal(t, faultsOf(v), "web.service: new failed")
	})
}

func TestAUnitThatThisRunRemovedIsForgotten(t *testing.T) {
	m := &machine{samples: []any{printed(100, web("failed", "FragmentPath=/etc/web")), printed(110)}, sums: "1 1\n"}
	synctest.Test(t, func(t *testing.T) {
		w, err := Observe(t.Context(), m, &report.Log{})
		assert.NilError(t, err)
		m.sums = "none\n"
		v, err := w.Judge(t.Context(), m, Options{Limit: time.Minute})
		assert.NilError(t, err)
		assert.Equal(t, faultsOf(v), "")
	})
}

// rebooted is a sample of the next boot.
func rebooted(seconds int, units ...string) string {
	return strings.Replace(printed(seconds, units...), "Boot=0a", "Boot=0b", 1)
}

func TestAMachineThatWasRebooted(t *testing.T) {
	started, worn := "ExecMainStartTimestampMonotonic=19000000", "Id=worn.service\nLoadState=loaded\nSubState=failed\nFragmentPath=/etc/worn\nActiveState=failed"
	well := "Id=worn.service\nLoadState=loaded\nSubState=running\nFragmentPath=/etc/worn\nActiveState=active"
	for _, c := range []struct {
		name    string
		samples []any
		journal any
		want    string
		code    report.Code
		looks   int
	}{
		{
			name: "what it started must live for a moment", samples: []any{printed(900, web("active")), rebooted(20, web("active", started)), rebooted(21, web("active", started))},
			looks: 2,
		},
		{
			name: "what it started dies", samples: []any{printed(900, web("active")), rebooted(20, web("active", started)), rebooted(21, web("failed", started))},
			want: "web.service: new failed", code: report.Unhealthy, looks: 2,
		},
		{name: "what fails at every boot is old", samples: []any{printed(900, worn), rebooted(20, worn)}, want: "worn.service: old failed", looks: 1},
		{name: "what fails since the boot is new", samples: []any{printed(900, well), rebooted(20, worn)}, want: "worn.service: new failed", code: report.Unhealthy, looks: 1},
		{
			name:    "two restarts a while ago",
			samples: []any{printed(900, web("active")), rebooted(90, web("active", "Restart=always", "NRestarts=2", "ExecMainStartTimestampMonotonic=60000000"))},
			journal: startedInTheJournal(56) + againInTheJournal(58, 1) + againInTheJournal(60, 2), want: "web.service: remark was restarted, and runs", looks: 1,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			// It listened until then, to what is of no account in the next boot.
			p := &peer{says: func(ctx context.Context, say func(*dbus.Message) error) error {
				for n := range 3 {
					if err := say(change("web.service", map[string]dbus.Variant{"NRestarts": dbus.MakeVariant(uint32(n + 1))})); err != nil {
						return err
					}
				}
				<-ctx.Done()
				return context.Cause(ctx)
			}}
			m := &machine{samples: append(c.samples[:1:1], append([]any{c.samples[1]}, c.samples[1:]...)...), journal: c.journal, bus: p.serve}
			s := judged(t, m, Options{})
			assert.NilError(t, s.err)
			assert.Equal(t, faultsOf(s.Verdict), c.want)
			assert.Equal(t, s.Code(), c.code)
			assert.Assert(t, strings.Contains(s.said, "rebooted since the baseline"), s.said)
			assert.Equal(t, m.looks, 1+1+c.looks, "the baseline, one that finds the reboot, and what the verdict takes")
		})
	}
}

// againInTheJournal is an entry about a restart of web.service.
func againInTheJournal(at, n int) string {
	return fmt.Sprintf(`{"MESSAGE_ID":%q,"UNIT":"web.service","__MONOTONIC_TIMESTAMP":"%d000000","N_RESTARTS":"%d"}`+"\n", unitRestarts, at, n)
}

// startedInTheJournal is an entry about a start of web.service.
func startedInTheJournal(at int) string {
	return fmt.Sprintf(`{"MESSAGE_ID":%q,"UNIT":"web.service","__MONOTONIC_TIMESTAMP":"%d000000","JOB_TYPE":"start","JOB_RESULT":"done"}`+"\n", unitStarted, at)
}

func TestAMachineThatAnotherRunChanged(t *testing.T) {
	started := "ExecMainStartTimestampMonotonic=109000000"
	for changed, want := range map[bool]string{false: "", true: "web.service: present failed"} {
		synctest.Test(t, func(t *testing.T) {
			m := &machine{samples: []any{printed(110, web("active", started)), printed(111, web("failed", started))}}
			v, err := Look(t.Context(), m, Options{Limit: time.Minute, Changed: changed}, &report.Log{})
			assert.NilError(t, err)
			assert.Equal(t, faultsOf(v), want)
		})
	}
}

func TestAMachineThatStarts(t *testing.T) {
	m := &machine{samples: []any{printed(100), printed(110, web("activating")), printed(111, web("activating")), printed(112, web("active"))}}
	s := judged(t, m, Options{})
	assert.NilError(t, s.err)
	assert.Assert(t, s.Healthy())
	assert.Equal(t, s.took, time.Second)
	assert.Equal(t, strings.Count(s.said, "watching web.service"), 1, "said once, and by name")
}

func TestWhatIsSeenIsSaidAtOnce(t *testing.T) {
	other := "Id=slow.service\nLoadState=loaded\nSubState=start\nActiveState="
	m := &machine{samples: []any{printed(100), printed(110, web("failed"), other+"activating"), printed(111, web("failed"), other+"activating"), printed(112, web("failed"), other+"active")}}
	s := judged(t, m, Options{})
	assert.Equal(t, faultsOf(s.Verdict), "web.service: new failed")
	assert.Equal(t, strings.Count(s.said, "seen: web.service: failed"), 1)
}

func TestWhatIsStillStartingWhenTheTimeIsUp(t *testing.T) {
	for _, limit := range []time.Duration{5 * time.Second, time.Minute, 5 * time.Minute} {
		t.Run(limit.String(), func(t *testing.T) {
			s := judged(t, &machine{samples: []any{printed(100), printed(110, web("activating"))}}, Options{Limit: limit})
			assert.NilError(t, s.err)
			assert.Equal(t, faultsOf(s.Verdict), "web.service: new still starting")
			assert.Equal(t, s.took, limit)
		})
	}
}

func TestALookThatFailsIsNotKnown(t *testing.T) {
	away := fmt.Errorf("%w: connection reset", ErrContact)
	for _, c := range []struct {
		name    string
		samples []any
		text    string
	}{
		{"at the baseline", []any{away}, "look at the units: the machine could not be asked: connection reset"},
		{"at the first look", []any{printed(100), away}, "connection reset"},
		{"after others", []any{printed(100), printed(110, web("activating")), away}, "connection reset"},
		{"no units", []any{printed(100), ""}, "look at the units: systemctl named no unit"},
		{"half a unit", []any{printed(100), printed(110, "Id=web.service")}, "unit web.service: no ActiveState"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := judged(t, &machine{samples: c.samples}, Options{})
			assert.Equal(t, report.CodeOf(s.err), report.Unknown)
			assert.ErrorContains(t, s.err, c.text)
		})
	}
}

// silent never answers.
type silent struct{ machine }

func (*silent) Output(ctx context.Context, _ string, _ ...string) ([]byte, error) {
	<-ctx.Done()
	return nil, fmt.Errorf("run: %w", context.Cause(ctx))
}

func TestAMachineThatDoesNotAnswerIsNotKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		_, err := Look(t.Context(), &silent{}, Options{Limit: time.Hour}, &report.Log{})
		assert.Equal(t, report.CodeOf(err), report.Unknown)
		assert.Equal(t, time.Since(began), lookLimit)
	})
}

// late answers, but takes its time.
type late struct{ *machine }

func (l late) Output(ctx context.Context, script string, args ...string) ([]byte, error) {
	select {
	case <-time.After(25 * time.Second):
		return l.machine.Output(ctx, script, args...)
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func TestAMachineThatTakesItsTimeIsJudged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v, err := Look(t.Context(), late{&machine{samples: []any{printed(110, web("failed"))}}}, Options{Limit: time.Hour}, &report.Log{})
		assert.NilError(t, err)
		assert.Equal(t, faultsOf(v), "web.service: present failed")
	})
}

func TestAnInterruptionIsNoVerdict(t *testing.T) {
	for name, host := range map[string]Host{
		"between looks": &machine{samples: []any{printed(100, web("activating"))}},
		"in a look":     &silent{},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				time.AfterFunc(1700*time.Millisecond, func() { cancel(&report.Interruption{Signal: syscall.SIGTERM}) })
				v, err := Look(ctx, host, Options{Limit: time.Minute}, &report.Log{})
				assert.Equal(t, report.CodeOf(err), report.Terminated)
				assert.Equal(t, len(v.Findings), 0)
			})
		})
	}
}

func TestTheLastWordsOfWhatFailed(t *testing.T) {
	m := &machine{
		samples: []any{printed(110, web("failed"))},
		words:   `{"__CURSOR":"1","MESSAGE":"cannot bind"}` + "\n" + `{"__CURSOR":"2","MESSAGE":"Main process exited\nfor good"}` + "\n",
	}
	v, err := Look(t.Context(), m, Options{Limit: time.Minute}, &report.Log{})
	assert.NilError(t, err)
	assert.Equal(t, faultsOf(v), "web.service: present failed")
	assert.DeepEqual(t, v.Findings[0].Journal, []string{"cannot bind", "Main process exited", "for good"})
	assert.DeepEqual(t, m.asked, []string{"web.service"})
	assert.Equal(t, m.looks, 1, "nothing changed: one look")
}

func TestWordsOfAnInvocation(t *testing.T) {
	entry := func(message, from, about string) string {
		text, err := json.Marshal(map[string]string{"MESSAGE": message, "_SYSTEMD_INVOCATION_ID": from, "INVOCATION_ID": about})
		assert.NilError(t, err)
		return string(text) + "\n"
	}
	long := strings.Repeat("x", 10_000)
	before := entry("Starting", "", "old") + entry("of the one before", "", "") + entry("Stopped", "", "old")
	mine := entry("Starting", "manager", "0a0a") + entry("Address already in use", "", "") + entry("said", "0a0a", "") + entry(long, "", "")
	for name, c := range map[string]struct {
		words string
		want  []string
	}{
		"what journald does not know the invocation of": {before + mine, []string{"Starting", "Address already in use", "said", plaintext.Cut(long, plaintext.LineLimit)}},
		"a later one":              {entry("mine", "0a0a", "") + entry("Starting", "", "new") + entry("of the new", "", ""), []string{"mine"}},
		"nothing but unknown ones": {entry("Address already in use", "", ""), []string{"Address already in use"}},
		"a cause above many lines": {
			entry("java.net.BindException: Address already in use", "0a0a", "") + strings.Repeat(entry("at x", "0a0a", ""), 30),
			append([]string{"java.net.BindException: Address already in use", "… (20 lines cut)"}, slices.Repeat([]string{"at x"}, journalLines)...),
		},
		"what would move a terminal": {entry("a\x1b[2Jb\u202e", "0a0a", ""), []string{"ab"}},
	} {
		t.Run(name, func(t *testing.T) {
			v, err := Look(t.Context(), &machine{samples: []any{printed(110, web("failed"))}, words: c.words}, Options{Limit: time.Minute}, &report.Log{})
			assert.NilError(t, err)
			assert.DeepEqual(t, v.Findings[0].Journal, c.want)
		})
	}
}

func TestAUnitThatNeverRanHasItsReason(t *testing.T) {
	findings := []Finding{{Unit: Unit{Name: "web.service"}, Fault: NotStarted, Class: New}}
	m := &machine{words: `{"MESSAGE":"Dependency failed for web.service"}` + "\n"}
	assert.NilError(t, explain(t.Context(), m, findings))
	assert.DeepEqual(t, findings[0].Journal, []string{"Dependency failed for web.service"})
}

func TestAJournalThatCannotBeReadTakesNothingAway(t *testing.T) {
	none := errors.New("no journal files were found")
	m := &machine{samples: []any{printed(110, web("failed"))}, words: none, restarts: none}
	v, err := Look(t.Context(), m, Options{Limit: time.Minute}, &report.Log{})
	assert.NilError(t, err)
	assert.Assert(t, cmp.Len(v.Findings, 1))
	assert.DeepEqual(t, v.Findings[0].Journal, []string{"its journal can't be read: no journal files were found"})
}

func TestProbesAreWaitedFor(t *testing.T) {
	site := []groups.Probe{{Name: "site", Ask: groups.TCP{Address: "127.0.0.1:80"}, Deadline: 8 * time.Second}}
	well, failed := []any{printed(100), printed(110, web("active"))}, []any{printed(100), printed(110, web("failed"))}
	t.Run("until their deadline", func(t *testing.T) {
		s := judged(t, &machine{samples: well}, Options{Probes: site})
		assert.Equal(t, s.Code(), report.Unhealthy)
		assert.Assert(t, s.took >= 7500*time.Millisecond && s.took <= 8*time.Second, "took %s", s.took)
		assert.ErrorContains(t, s.Err(), "probe site (tcp 127.0.0.1:80): connect to 127.0.0.1:80: connection refused")
		assert.Assert(t, strings.Contains(s.said, "watching the probes"), s.said)
	})
	t.Run("not where a unit has failed", func(t *testing.T) {
		s := judged(t, &machine{samples: failed}, Options{Probes: site})
		assert.Equal(t, s.Code(), report.Unhealthy)
		assert.Equal(t, s.took, time.Duration(0))
	})
	t.Run("where a unit has failed that does not count", func(t *testing.T) {
		s := judged(t, &machine{samples: failed}, Options{Probes: site, Tolerate: []string{"web"}})
		assert.Assert(t, s.took >= 7500*time.Millisecond && s.took <= 8*time.Second, "took %s", s.took)
	})
	t.Run("not beyond the limit", func(t *testing.T) {
		s := judged(t, &machine{samples: well}, Options{Probes: site, Limit: 3 * time.Second})
		assert.Equal(t, s.Code(), report.Unhealthy)
		assert.Equal(t, s.took, 3*time.Second)
	})
}

// A job that failed while the switch was under way, and whose unit is well at
// the end, is what the switch reported: it is named, and the machine is healthy.
func TestAStartThatFailedAndWasTriedAgain(t *testing.T) {
	job := func(id, result string, at int) string {
		return fmt.Sprintf(`{"MESSAGE_ID":%q,"UNIT":"web.service","__MONOTONIC_TIMESTAMP":"%d000000","JOB_TYPE":"start","JOB_RESULT":%q}`+"\n", id, at, result)
	}
	for _, c := range []struct {
		name    string
		after   string
		journal string
		want    string
		code    report.Code
	}{
		{"well at the end", web("active"), job(unitFailed, "dependency", 105) + job(unitStarted, "done", 106), "web.service: remark did not start at first, and is well", report.Healthy},
		{"not started again", web("inactive"), job(unitFailed, "dependency", 105), "web.service: new did not start", report.Unhealthy},
		{"no unit to blame", web("active"), "", "", report.Unhealthy},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := judged(t, &machine{samples: []any{printed(100, web("active")), printed(120, c.after)}, journal: c.journal}, Options{Switch: Switch{Code: 4, Units: []string{"web.service"}}})
			assert.NilError(t, s.err)
			assert.Equal(t, faultsOf(s.Verdict), c.want)
			assert.Equal(t, s.Code(), c.code)
		})
	}
}
