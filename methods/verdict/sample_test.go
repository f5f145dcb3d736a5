package verdict

import (
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"
)

func TestParseSample(t *testing.T) {
	whole := func(units string) string {
		return "Boot=0a\nUptime=12.5\nClock=1700000000\n\n" + units + "\n\nEnd=yes\n"
	}
	for _, c := range []struct {
		name string
		text string
		want []Unit
		err  string
	}{
		{
			"a service",
			whole("Id=web.service\nLoadState=loaded\nActiveState=failed\nSubState=failed\nResult=exit-code\nExecMainStatus=203\nNRestarts=5\nInvocationID=0a0b\nRestartUSec=100ms\nExecMainStartTimestampMonotonic=1500000\n"),
			[]Unit{{
				Name: "web.service", Load: "loaded", Active: "failed", Sub: "failed", Result: "exit-code", ExitStatus: 203, Restarts: 5, Invocation: "0a0b",
				Delay: 100 * time.Millisecond, Started: 1500 * time.Millisecond,
			}},
			"",
		},
		{
			"a type without results, and one with a job",
			whole("Id=a.target\nLoadState=loaded\nActiveState=active\nSubState=active\n\nId=b.mount\nActiveState=inactive\nJob=42\n"),
			[]Unit{{Name: "a.target", Load: "loaded", Active: "active", Sub: "active"}, {Name: "b.mount", Active: "inactive", Job: true}},
			"",
		},
		{"no job is number 0", whole("Id=a.target\nActiveState=active\nJob=0\n"), []Unit{{Name: "a.target", Active: "active"}}, ""},
		{"lines in another order", whole("ActiveState=active\nId=a.target\n"), []Unit{{Name: "a.target", Active: "active"}}, ""},
		{"line ends of terminals", whole("Id=a.target\r\nActiveState=active\r\n"), []Unit{{Name: "a.target", Active: "active"}}, ""},
		{"a name with the sign in it", whole("Id=a=b.service\nActiveState=active\n"), []Unit{{Name: "a=b.service", Active: "active"}}, ""},
		{"a block of something else", whole("Version=255\n\nId=a.target\nActiveState=active\n"), []Unit{{Name: "a.target", Active: "active"}}, ""},
		{"a unit of ours", whole("Id=slipway-switch-1.service\nActiveState=failed\nTransient=yes\n\nId=a.target\nActiveState=active\n"), []Unit{{Name: "a.target", Active: "active"}}, ""},
		{"a unit of a user", whole("Id=a.target\nActiveState=active\n\n\nUser=1000\n\nId=a.target\nActiveState=failed"), []Unit{{Name: "a.target", Active: "active"}, {Name: "a.target", User: "1000", Active: "failed"}}, ""},
		{
			"a unit of a container, after one of a user", whole("Id=a.target\nActiveState=active\n\n\nUser=1000\n\nId=a.target\nActiveState=failed\n\n\nContainer=web\nUnit=container@web.service\nLeader=7\n\nId=a.target\nActiveState=inactive\n\n\nContainer=mute\nRefused=no way in"),
			[]Unit{{Name: "a.target", Active: "active"}, {Name: "a.target", User: "1000", Active: "failed"}, {Name: "a.target", Container: "web", Active: "inactive"}},
			"",
		},
		{
			"a machine that a container tells of", whole("Id=a.target\nActiveState=active\n\n\nContainer=web\n\nBoot=0b\nUptime=1e99\nClock=x\n\nId=b.target\nActiveState=active"),
			[]Unit{{Name: "a.target", Active: "active"}, {Name: "b.target", Container: "web", Active: "active"}},
			"",
		},
		{
			"the error of a unit that can't be loaded", whole("Id=a.service\nActiveState=inactive\nLoadError=org.freedesktop.systemd1.BadUnitSetting \"Unit is bad.\"\n"),
			[]Unit{{Name: "a.service", Active: "inactive", LoadError: "Unit is bad."}},
			"",
		},
		{
			"a machine that a user tells of", whole("Id=a.target\nActiveState=active\n\n\nUser=1000\n\nBoot=0b\nUptime=1e99\nClock=x\n\nId=b.target\nActiveState=active"),
			[]Unit{{Name: "a.target", Active: "active"}, {Name: "b.target", User: "1000", Active: "active"}},
			"",
		},
		{"an end that a user tells of", "Boot=0a\nUptime=12.5\nClock=1700000000\n\nId=a.target\nActiveState=active\n\nUser=1000\n\nEnd=yes\n\nId=b.target\nActiveState=active", nil, "cut off"},
		{"nothing", "", nil, "systemctl named no unit"},
		{"empty lines", "\n\n\n\n", nil, "systemctl named no unit"},
		{"an error instead", "Failed to connect to bus: No such file or directory\n", nil, "systemctl named no unit"},
		{"no units but those of a container", whole("Container=web\n\nId=a.target\nActiveState=active"), nil, "systemctl named no unit"},
		{"no units but those of a user", whole("User=1000\n\nId=a.target\nActiveState=active"), nil, "systemctl named no unit"},
		{"a block without a unit", whole("ActiveState=active\n"), nil, "systemctl named no unit"},
		{"a unit without a state", whole("Id=a.target\nLoadState=loaded\n"), nil, "unit a.target: no ActiveState"},
		{"cut off after a unit", "Boot=0a\nUptime=12.5\nClock=1700000000\n\nId=a.target\nActiveState=active\n\n", nil, "cut off"},
		{"cut off in a name", whole("Id=a.target\nActiveState=active\n\nId=b.ser"), nil, "unit b.ser: no ActiveState"},
		{"a state that nobody knows", whole("Id=a.target\nActiveState=splendid\n"), nil, "unit a.target"},
		{"an exit status that is none", whole("Id=a.service\nActiveState=active\nExecMainStatus=[not set]\n"), nil, "unit a.service: ExecMainStatus"},
		{"a number of restarts that is none", whole("Id=a.service\nActiveState=active\nNRestarts=many\n"), nil, "unit a.service: NRestarts"},
		{"a time span that is none", whole("Id=a.service\nActiveState=active\nRestartUSec=soon\n"), nil, "unit a.service: RestartUSec"},
		{"no boot", "Id=a.target\nActiveState=active\n\nEnd=yes\n", nil, "did not name its boot"},
		{"no uptime", "Boot=0a\nClock=1\n\nId=a.target\nActiveState=active\n\nEnd=yes\n", nil, "uptime"},
		{"no clock", "Boot=0a\nUptime=3\n\nId=a.target\nActiveState=active\n\nEnd=yes\n", nil, "clock"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := parseSample(c.text)
			if c.err != "" {
				assert.ErrorContains(t, err, c.err)
				assert.Assert(t, cmp.Len(got.Units, 0))
				return
			}
			assert.NilError(t, err)
			assert.DeepEqual(t, got.Units, c.want)
		})
	}
}

func TestTheMachineOfASample(t *testing.T) {
	s, err := parseSample("Boot=0a\nNow=12500000000\nUptime=9000.00\nClock=1700000000\nSystem=/nix/store/x\nCursor=-- cursor: s=1;i=2\n\nId=a.target\nActiveState=active\n\nUser=1000\nRefused=no way in\n\nEnd=yes\n")
	assert.NilError(t, err)
	assert.Equal(t, s.Boot, "0a")
	assert.Equal(t, s.Now, 12500*time.Millisecond, "the kernel's clock, which does not count sleep")
	assert.Equal(t, s.Cursor, "s=1;i=2")
	assert.Equal(t, s.System, "/nix/store/x")
	assert.DeepEqual(t, s.Refused, map[string]string{"1000": "no way in"})
	assert.Equal(t, s.at(2500*time.Millisecond).Unix(), int64(1700000000-10))
	assert.Assert(t, s.at(0).IsZero())
}

func TestAUserWhoseUnitsCannotBeRead(t *testing.T) {
	s, err := parseSample("Boot=0a\nUptime=12.5\nClock=1700000000\n\nId=a.target\nActiveState=active\n\nUser=1000\n\nId=b.target\nActiveState=splendid\n\nUser=1001\n\nId=c.target\nActiveState=active\n\nEnd=yes\n")
	assert.NilError(t, err)
	assert.DeepEqual(t, s.Units, []Unit{{Name: "a.target", Active: "active"}, {Name: "c.target", User: "1001", Active: "active"}})
	assert.DeepEqual(t, s.Refused, map[string]string{"1000": `unit b.target: ActiveState "splendid" is none that is known`})
}

func TestAContainerWhoseUnitsCannotBeRead(t *testing.T) {
	s, err := parseSample("Boot=0a\nUptime=12.5\nClock=1700000000\n\nId=a.target\nActiveState=active\n\nContainer=odd\nUnit=container@odd.service\nLeader=7\n\nId=b.target\nActiveState=splendid\n\nContainer=web\nUnit=container@web.service\nLeader=8\n\nId=c.target\nActiveState=active\n\nEnd=yes\n")
	assert.NilError(t, err)
	assert.DeepEqual(t, s.Units, []Unit{{Name: "a.target", Active: "active"}, {Name: "c.target", Container: "web", Active: "active"}})
	assert.DeepEqual(t, s.Containers, map[string]Container{
		"odd": {Unit: "container@odd.service", Leader: "7", Refused: `unit b.target: ActiveState "splendid" is none that is known`},
		"web": {Unit: "container@web.service", Leader: "8"},
	})
}

func TestSpans(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"0": 0, "100ms": 100 * time.Millisecond, "1min 30s": 90 * time.Second, "2h 3min": 123 * time.Minute, "1.5s": 1500 * time.Millisecond,
		"infinity": forever, "1w 2d": 9 * 24 * time.Hour, "250us": 250 * time.Microsecond, "999999999y": forever, "1month": 2629800 * time.Second,
	} {
		var got time.Duration
		assert.NilError(t, span(&got)(text))
		assert.Equal(t, got, want, text)
	}
	for _, text := range []string{"soon", "5", "s", "-1s", "1 s", "1parsec"} {
		var got time.Duration
		assert.ErrorContains(t, span(&got)(text), "no time span", text)
	}
}

// happened makes events of the machine's units, and of one that is gone, of four
// octets each.
func happened(units []Unit, what []byte) []event {
	var events []event
	for ; len(what) >= 4; what = what[4:] {
		e := event{at: time.Duration(what[2]) * time.Second, unit: "gone.service", kind: kind(what[1]%3) + started, restarts: int(what[3])}
		if n := int(what[0]); n < len(units) && units[n].User == "" {
			e.unit = units[n].Name
		}
		e.result = []string{"done", "failed", "dependency", "timeout", "canceled", ""}[what[3]%6]
		events = append(events, e)
	}
	return events
}

func FuzzParseSample(f *testing.F) {
	some := []byte("\x00\x01\x02\x01\x05\x05\x02\x02\x07\x05\x00\x09")
	f.Add(recorded(f, "before.txt"), some)
	f.Add(recorded(f, "after.txt"), some)
	f.Add(recorded(f, "../containers/ill.txt"), some)
	f.Add(printed(10, web("activating")), []byte(nil))
	f.Add(printed(10, web("active", "Restart=always", "NRestarts=2")), some)
	f.Add("Boot=0a\nNow=-1\nUptime=NaN\nClock=x\n\nId=\nActiveState=active\n", some)
	f.Add("Boot=0a\nUptime=1e300\nClock=1\n\nId=a\nActiveState=\n\nEnd=yes", some)
	f.Fuzz(func(t *testing.T, text string, what []byte) {
		sample, err := parseSample(text)
		if err != nil {
			if len(sample.Units) > 0 {
				t.Errorf("an error and %d units", len(sample.Units))
			}
			return
		}
		if len(sample.Units) == 0 || sample.Now <= 0 {
			t.Error("a sample without a unit or a moment is none, and must not look healthy")
		}
		for _, base := range []*Sample{nil, &sample} {
			v := newView(base, sample, happened(sample.Units, what), 0)
			if w := v.waits(); !w.over() && len(w.units) == 0 {
				t.Error("something is waited for, and nobody can say what")
			}
			for _, u := range sample.Units {
				if u.Name == "" || u.Active == "" {
					t.Errorf("half a unit: %+v", u)
				}
			}
			for _, final := range []bool{false, true} {
				for _, finding := range v.findings(final) {
					if finding.String() == "" || finding.Name() == "" || finding.Fault == "" {
						t.Errorf("a finding without words: %+v", finding)
					}
				}
			}
		}
	})
}

func BenchmarkJudge(b *testing.B) {
	text := recorded(b, "after.txt")
	events := parseEvents(recorded(b, "journal.txt"))
	base, err := parseSample(recorded(b, "before.txt"))
	assert.NilError(b, err)
	sample, err := parseSample(text)
	assert.NilError(b, err)
	for n := 0; len(sample.Units) < 500; n++ {
		u := sample.Units[n]
		u.User = "1000"
		sample.Units = append(sample.Units, u)
	}
	b.Run("parse", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			if _, err := parseSample(text); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("judge 500 units", func(b *testing.B) {
		for b.Loop() {
			v := newView(&base, sample, events, base.Now)
			v.waits()
			if len(v.findings(true)) == 0 {
				b.Fatal("nothing was found")
			}
		}
	})
}
