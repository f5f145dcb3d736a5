package verdict

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/targets/report"
)

// shown is what tail prints of the text of web.service.
func shown(text string) string { return "==> /etc/web <==\n" + text }

const (
	before = "[Unit]\nDescription=web\n[Service]\nExecStart=/nix/store/a/bin/web\nRestart=always\n"
	after  = "[Unit]\nDescription=web\n[Service]\nExecStart=/nix/store/b/bin/web\nRestart=always\n"
)

func TestAProcessOfAnotherText(t *testing.T) {
	// The system was made the present one 105 s after the boot.
	at := func(seconds int, started string, more ...string) string {
		s := printed(seconds, web("active", append([]string{"FragmentPath=/etc/web", "ExecMainStartTimestampMonotonic=" + started}, more...)...))
		return strings.Replace(s, "System=", "Activated=1700000105.0\nSystem=", 1)
	}
	for _, c := range []struct {
		name    string
		started string
		text    string
		marks   string // there already: of the invocation 0a0a
		want    string
		marked  bool
	}{
		{name: "older than the system", started: "104000000", text: after, want: "web.service: new runs on as it was before", marked: true},
		{name: "younger than the system", started: "106000000", text: after},
		{name: "of the same text", started: "50000000", text: before},
		{name: "of a text with another description", started: "50000000", text: strings.Replace(before, "=web\n", "=site\n", 1)},
		{name: "of a text that systemd follows at once", started: "50000000", text: strings.Replace(before, "always", "no", 1)},
		{name: "of another file that it reads", started: "50000000", text: strings.Replace(before, "[Service]", "X-Restart-Triggers=/nix/store/c\n[Service]", 1), want: "web.service: new runs on as it was before", marked: true},
		{name: "that is not to be restarted", started: "50000000", text: after + "[Unit]\nX-RestartIfChanged=false\n", want: "web.service: remark runs on as it was before", marked: true},
		{name: "that reads what has changed", started: "50000000", text: after + "[Unit]\nX-ReloadIfChanged=true\n"},
		{name: "of a mark, and of the text of now", started: "50000000", text: after, marks: "Ran=0a0a " + declare(after).sum},
		{name: "of a mark, and of no text since", started: "50000000", text: after, marks: "Ran=0a0a 00", want: "web.service: old runs on as it was before", marked: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			one, two := at(100, "50000000"), at(110, c.started)
			if c.marks != "" {
				one, two = strings.Replace(one, "Clock=", c.marks+"\nClock=", 1), strings.Replace(two, "Clock=", c.marks+"\nClock=", 1)
			}
			m := &machine{samples: []any{one, two}, texts: []any{shown(before), shown(c.text)}}
			if c.marks != "" { // the baseline looks at what is marked, too
				m.texts = []any{shown(before), shown(before), shown(c.text)}
			}
			s := judged(t, m, Options{})
			assert.NilError(t, s.err)
			assert.Equal(t, faultsOf(s.Verdict), c.want)
			assert.Equal(t, len(m.marks) > 0, c.marked)
		})
	}
}

func TestALookKnowsAnOutdatedProcessByItsMark(t *testing.T) {
	for mark, want := range map[string]string{
		"0a0a " + declare(before).sum: "web.service: present runs on as it was before",
		"0a0a " + declare(after).sum:  "",
		"0b0b " + declare(before).sum: "",
		"":                            "",
	} {
		synctest.Test(t, func(t *testing.T) {
			sample := strings.Replace(printed(110, web("active", "FragmentPath=/etc/web", "ExecMainStartTimestampMonotonic=50000000")), "Clock=", "Ran="+mark+"\nClock=", 1)
			m := &machine{samples: []any{sample}, texts: []any{shown(after)}}
			v, err := Look(t.Context(), m, Options{Limit: time.Minute}, &report.Log{})
			assert.NilError(t, err)
			assert.Equal(t, faultsOf(v), want)
			assert.Equal(t, len(m.marks), 0, "a look changes nothing")
		})
	}
}

func TestWhenASystemWasMadeThePresentOne(t *testing.T) {
	assert.Equal(t, activated(200*second, 1000.5, 990.25), 200*second-10250*time.Millisecond)
	assert.Equal(t, activated(200*second, 1000, 700), time.Duration(0), "before the boot")
	assert.Equal(t, activated(200*second, 1000, 0), time.Duration(0), "not known")
	assert.Equal(t, activated(200*second, 1000, 2000), time.Duration(0), "in the future, as with a clock that was set")
}
