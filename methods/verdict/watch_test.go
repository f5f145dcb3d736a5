package verdict

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"fediversity.eu/slipway/targets/report"
)

// machine is a host that answers with samples, one a look, the last for ever.
// Any other script is refused.
type machine struct {
	samples []any // string: what systemctl printed; error: the look failed
	journal any   // string or error, for every invocation
	looks   int
	asked   []string // invocations whose journal was read
}

func (m *machine) Output(ctx context.Context, script string, args ...string) ([]byte, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	answer := m.journal
	switch script {
	case sampleScript:
		answer = m.samples[min(m.looks, len(m.samples)-1)]
		m.looks++
	case journalScript:
		m.asked = append(m.asked, args[0])
	default:
		return nil, fmt.Errorf("nobody expected %q", script)
	}
	switch answer := answer.(type) {
	case string:
		return []byte(answer), nil
	case error:
		return nil, answer
	}
	return nil, nil
}

// watch watches in a bubble, and says how long it took.
func watch(t *testing.T, m *machine, w Window) (v Verdict, took time.Duration, said string, err error) {
	t.Helper()
	var log strings.Builder
	synctest.Test(t, func(t *testing.T) {
		started := time.Now()
		v, err = Watch(t.Context(), m, w, report.NewLog(report.Plain(&log)))
		took = time.Since(started)
	})
	return v, took, log.String(), err
}

const (
	web  = "Id=web.service\nLoadState=loaded\nSubState=x\nInvocationID=0a0a\n"
	base = "Id=base.target\nLoadState=loaded\nActiveState=active\nSubState=active\n\n"
)

func webIs(active string, restarts int) string {
	return fmt.Sprintf("%s%sActiveState=%s\nNRestarts=%d\n", base, web, active, restarts)
}

func TestAMachineThatIsWell(t *testing.T) {
	m := &machine{samples: []any{recorded(t, "well.txt")}}
	v, took, _, err := watch(t, m, Window{Limit: time.Minute})
	assert.NilError(t, err)
	assert.Assert(t, v.Healthy())
	assert.Equal(t, v.Units, strings.Count(recorded(t, "well.txt"), "Id="))
	assert.Equal(t, m.looks, 1, "nothing changed: one look")
	assert.Equal(t, took, time.Duration(0))
}

func TestAMachineWithAFailedUnit(t *testing.T) {
	m := &machine{
		samples: []any{recorded(t, "failed.txt")},
		journal: `{"__CURSOR":"1","MESSAGE":"cannot bind"}` + "\n" + `{"__CURSOR":"2","MESSAGE":"Main process exited"}` + "\n",
	}
	v, took, _, err := watch(t, m, Window{Limit: time.Minute})
	assert.NilError(t, err)
	assert.Assert(t, cmp.Len(v.Findings, 1))
	assert.Equal(t, v.Findings[0].String(), "web.service: failed (exit-code, exit status 1, 5 restarts)")
	assert.DeepEqual(t, v.Findings[0].Journal, []string{"cannot bind", "Main process exited"})
	assert.DeepEqual(t, m.asked, []string{v.Findings[0].Unit.Invocation})
	assert.Equal(t, took, time.Duration(0), "what failed is not waited for")
}

func TestAMachineThatStarts(t *testing.T) {
	m := &machine{samples: []any{recorded(t, "starting.txt"), recorded(t, "starting.txt"), recorded(t, "well.txt")}}
	v, took, said, err := watch(t, m, Window{Limit: time.Minute})
	assert.NilError(t, err)
	assert.Assert(t, v.Healthy())
	assert.Equal(t, took, time.Second)
	assert.Equal(t, said, "waiting for web.service\n", "said once, and by name")
}

func TestAMachineThatStartsAndFails(t *testing.T) {
	m := &machine{samples: []any{webIs("activating", 0), webIs("activating", 1), webIs("failed", 1)}}
	v, _, _, err := watch(t, m, Window{Limit: time.Minute})
	assert.NilError(t, err)
	assert.Assert(t, cmp.Len(v.Findings, 1))
	assert.Equal(t, v.Findings[0].Fault, FailedUnit)
}

func TestAUnitThatStartsAgainAndAgain(t *testing.T) {
	m := &machine{samples: []any{webIs("activating", 0), webIs("activating", 1), webIs("activating", 2)}}
	v, took, _, err := watch(t, m, Window{Limit: time.Minute})
	assert.NilError(t, err)
	assert.Assert(t, cmp.Len(v.Findings, 1))
	assert.Equal(t, v.Findings[0].Fault, RestartLoop)
	assert.Equal(t, took, time.Second, "the second restart is enough")
}

func TestAUnitThatRunsForAMomentBetweenRestarts(t *testing.T) {
	// It is active at every look, and restarted between them.
	m := &machine{samples: []any{
		webIs("active", 0), webIs("active", 1), webIs("active", 2), webIs("active", 3), webIs("active", 4), webIs("active", 5), webIs("active", 6),
	}}
	v, _, _, err := watch(t, m, Window{Calm: CalmAfterSwitch, Limit: time.Minute})
	assert.NilError(t, err)
	assert.Assert(t, !v.Healthy(), "restarts that grow are a loop, whatever the state is at the moment")
}

func TestAChangedMachineMustStaySettled(t *testing.T) {
	t.Run("and does", func(t *testing.T) {
		m := &machine{samples: []any{webIs("active", 0)}}
		v, took, _, err := watch(t, m, Window{Calm: 2 * time.Second, Limit: time.Minute})
		assert.NilError(t, err)
		assert.Assert(t, v.Healthy())
		assert.Equal(t, took, 2*time.Second)
	})
	t.Run("and starts something again", func(t *testing.T) {
		m := &machine{samples: []any{webIs("active", 0), webIs("active", 0), webIs("activating", 1), webIs("active", 1)}}
		v, took, _, err := watch(t, m, Window{Calm: 2 * time.Second, Limit: time.Minute})
		assert.NilError(t, err)
		assert.Assert(t, v.Healthy())
		assert.Equal(t, took, 3500*time.Millisecond, "it counts anew from the fourth look")
	})
	t.Run("and fails at last", func(t *testing.T) {
		m := &machine{samples: []any{webIs("active", 0), webIs("active", 0), webIs("failed", 0)}}
		v, _, _, err := watch(t, m, Window{Calm: 2 * time.Second, Limit: time.Minute})
		assert.NilError(t, err)
		assert.Assert(t, !v.Healthy())
	})
}

func TestWhatIsStillStartingWhenTheTimeIsUp(t *testing.T) {
	for _, limit := range []time.Duration{5 * time.Second, time.Minute, 5 * time.Minute} {
		t.Run(limit.String(), func(t *testing.T) {
			m := &machine{samples: []any{webIs("activating", 1)}}
			v, took, _, err := watch(t, m, Window{Limit: limit})
			assert.NilError(t, err)
			assert.Assert(t, cmp.Len(v.Findings, 1))
			assert.Equal(t, v.Findings[0].Fault, StillStarts)
			assert.Assert(t, took <= limit && took > limit-time.Second, "took %s", took)
		})
	}
}

func TestALookThatFailsIsNotKnown(t *testing.T) {
	away := errors.New("contact lost")
	for _, c := range []struct {
		name    string
		samples []any
		text    string
	}{
		{"at the first look", []any{away}, "look at the units: contact lost"},
		{"after others", []any{webIs("activating", 0), away}, "look at the units: contact lost"},
		{"in the calm", []any{webIs("active", 0), away}, "look at the units: contact lost"},
		{"no units", []any{""}, "look at the units: systemctl named no unit"},
		{"half a unit", []any{base + "Id=web.service\n"}, "unit web.service: no ActiveState"},
	} {
		t.Run(c.name, func(t *testing.T) {
			v, _, _, err := watch(t, &machine{samples: c.samples}, Window{Calm: time.Second, Limit: time.Minute})
			assert.Equal(t, report.CodeOf(err), report.Unknown)
			assert.ErrorContains(t, err, c.text)
			assert.DeepEqual(t, v, Verdict{})
		})
	}
}

func TestAMachineThatDoesNotAnswerIsNotKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		started := time.Now()
		_, err := Watch(t.Context(), silent{}, Window{Limit: time.Hour}, &report.Log{})
		assert.Equal(t, report.CodeOf(err), report.Unknown)
		assert.Equal(t, time.Since(started), lookLimit)
	})
}

// silent never answers.
type silent struct{}

func (silent) Output(ctx context.Context, _ string, _ ...string) ([]byte, error) {
	<-ctx.Done()
	return nil, fmt.Errorf("run: %w", context.Cause(ctx))
}

func TestAnInterruptionIsNoVerdict(t *testing.T) {
	for _, c := range []struct {
		name string
		host Host
	}{
		{"between looks", &machine{samples: []any{webIs("activating", 0)}}},
		{"in a look", silent{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				time.AfterFunc(1700*time.Millisecond, func() { cancel(&report.Interruption{Signal: syscall.SIGTERM}) })
				v, err := Watch(ctx, c.host, Window{Limit: time.Minute}, &report.Log{})
				assert.Equal(t, report.CodeOf(err), report.Terminated)
				assert.DeepEqual(t, v, Verdict{})
			})
		})
	}
}

func TestAJournalThatCannotBeReadTakesNothingAway(t *testing.T) {
	m := &machine{samples: []any{recorded(t, "failed.txt")}, journal: errors.New("no journal files were found")}
	v, _, _, err := watch(t, m, Window{Limit: time.Minute})
	assert.NilError(t, err)
	assert.Assert(t, cmp.Len(v.Findings, 1))
	assert.DeepEqual(t, v.Findings[0].Journal, []string{"its journal can't be read: no journal files were found"})
}

func TestAUnitThatNeverRanHasNoJournal(t *testing.T) {
	m := &machine{samples: []any{base + "Id=web.service\nActiveState=failed\nInvocationID=\n"}, journal: errors.New("must not be asked")}
	v, _, _, err := watch(t, m, Window{Limit: time.Minute})
	assert.NilError(t, err)
	assert.Assert(t, cmp.Len(v.Findings, 1))
	assert.Assert(t, cmp.Len(v.Findings[0].Journal, 0))
	assert.Assert(t, cmp.Len(m.asked, 0))
}
