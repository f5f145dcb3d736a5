package verdict

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/targets/report"
)

// inside are units of a container, whose first process is the given one.
func inside(leader string, units ...string) string {
	return "Id=container@box.service\nLoadState=loaded\nActiveState=active\nSubState=running\nType=notify\n\n" +
		"Container=box\nUnit=container@box.service\nLeader=" + leader + "\n\nId=base.target\nLoadState=loaded\nActiveState=active\n\n" + strings.Join(units, "\n\n")
}

func TestRecordedContainers(t *testing.T) {
	well, ill := recorded(t, "../containers/well.txt"), recorded(t, "../containers/ill.txt")
	for _, c := range []struct {
		name          string
		before, after string
		options       Options
		want          string
		code          report.Code
	}{
		{name: "is well", before: well, after: well},
		{name: "has a failed unit", before: well, after: ill, want: "broken.service of container inner: new failed", code: report.Unhealthy},
		{name: "had a failed unit before", before: ill, after: ill, want: "broken.service of container inner: old failed"},
		{name: "had a failed unit, which is not loaded now", before: ill, after: well, want: "broken.service of container inner: old had failed before, and was not started again"},
		{name: "has a failed unit that is tolerated", before: well, after: ill, options: Options{Tolerate: []string{"broken"}}, want: "broken.service of container inner: tolerated failed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := &machine{samples: []any{c.before, c.after}, words: `{"MESSAGE":"alas"}` + "\n"}
			s := judged(t, m, c.options)
			assert.NilError(t, s.err)
			assert.Equal(t, faultsOf(s.Verdict), c.want)
			assert.Equal(t, s.Code(), c.code)
		})
	}
	synctest.Test(t, func(t *testing.T) {
		m := &machine{samples: []any{ill}, words: `{"MESSAGE":"alas"}` + "\n"}
		v, err := Look(t.Context(), m, Options{Limit: time.Minute}, &report.Log{})
		assert.NilError(t, err)
		assert.Equal(t, v.Code(), report.Unhealthy)
		assert.ErrorContains(t, v.Err(), "broken.service of container inner: failed (exit-code, exit status 3")
		assert.ErrorContains(t, v.Err(), "| alas")
		record := v.Findings[0].Record()
		assert.Equal(t, record.Container, "inner")
	})
}

func TestContainers(t *testing.T) {
	well, looping := web("active"), web("active", "Restart=always", "NRestarts=3", "ExecMainStartTimestampMonotonic=50000000")
	for _, c := range []struct {
		name          string
		before, after string
		want          string
		waits         bool
	}{
		{name: "a service inside is as it was", before: inside("7", looping), after: inside("7", looping)},
		{
			name: "a service inside loops", before: inside("7", well), after: inside("7", strings.Replace(looping, "=50", "=109", 1)),
			want: "web.service of container box: new restarts again and again",
		},
		{
			name: "a service inside is down", before: inside("7", well), after: inside("7", web("inactive", "ExecMainStartTimestampMonotonic=1", "ExecMainExitTimestampMonotonic=5", "ActiveEnterTimestampMonotonic=2", "ActiveExitTimestampMonotonic=4", "StateChangeTimestampMonotonic=5", "ConditionTimestampMonotonic=1")),
			want: "web.service of container box: new is no longer up",
		},
		{
			name: "its default target is down", before: inside("7"), after: inside("7", "Id=multi-user.target\nNames=multi-user.target default.target\nLoadState=loaded\nActiveState=inactive"),
			want: "multi-user.target of container box: new did not start",
		},
		{
			name: "of its default target, what was down is old", before: inside("7", "Id=multi-user.target\nNames=multi-user.target default.target\nLoadState=loaded\nActiveState=inactive"),
			after: inside("7", "Id=multi-user.target\nNames=multi-user.target default.target\nLoadState=loaded\nActiveState=inactive"),
			want:  "multi-user.target of container box: old did not start",
		},
		{
			name: "a unit of the machine is not one of the container", before: inside("7", well), after: web("failed") + "\n\n" + inside("7", well),
			want: "web.service: new failed",
		},
		{
			name: "its manager does not answer", before: inside("7"), after: "Id=container@box.service\nLoadState=loaded\nActiveState=active\nSubState=running\n\nContainer=box\nUnit=container@box.service\nLeader=7\nRefused=no bus",
			want: "container@box.service: remark can't be looked at",
		},
		{name: "it has just ended", before: inside("7"), after: "Id=container@box.service\nLoadState=loaded\nActiveState=inactive\nSubState=dead\n\nContainer=box\nUnit=container@box.service\nLeader=7\nRefused=no bus"},
		{name: "it has no systemd", before: inside("7"), after: "Id=container@box.service\nLoadState=loaded\nActiveState=active\nSubState=running\n\nContainer=box\nUnit=container@box.service\nLeader=7"},
		{
			name: "nobody knows it", before: inside("7"), after: "Id=container@box.service\nLoadState=loaded\nActiveState=active\nSubState=running",
			want: "container@box.service: remark is not looked into",
		},
		{
			name: "a service inside was started by this run", before: inside("7"), after: inside("7", web("active", "ExecMainStartTimestampMonotonic=109500000")), waits: true,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := judged(t, &machine{samples: []any{printed(100, c.before), printed(110, c.after), printed(115, c.after)}}, Options{})
			assert.NilError(t, s.err)
			assert.Equal(t, faultsOf(s.Verdict), c.want)
			assert.Check(t, !c.waits || strings.Contains(s.said, "watching web.service of container box"), s.said)
		})
	}
}

func TestAContainerThatWasStartedAgainCountsAnew(t *testing.T) {
	sample := func(now time.Duration, leader string) Sample {
		return Sample{
			Boot: "0a", Now: now, Containers: map[string]Container{"box": {Leader: leader}},
			Units: []Unit{{Name: "web.service", Container: "box", Active: "active", Restarts: 3, Started: now - second}},
		}
	}
	base := sample(100*second, "7")
	for leader, want := range map[string]int{"7": 0, "8": 3} {
		v := newView(&base, sample(200*second, leader), nil, base.Now)
		assert.Equal(t, v.course(v.now.Units[0]).restarts, want, leader)
	}
}
