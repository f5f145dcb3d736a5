package report

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"
	"gotest.tools/v3/golden"
)

// session is what happens in the golden files of all sinks: two machines, every
// level, progress with and without a total.
func session() []Event {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	const web, db = "operator-ssh-web-apply", "operator-ssh-db-apply"
	healthy, unhealthy, took := Healthy, Unhealthy, 8.25
	list := []struct {
		after time.Duration
		event Event
	}{
		{0, Event{Kind: KindStart, Program: web, Level: Info}},
		{0, Event{Kind: KindStart, Program: db, Level: Info}},
		{0, Event{Program: web, Level: Info, Text: "operator web is root@192.0.2.1:22"}},
		{time.Second, Event{Program: web, Step: "evaluate", Level: Info, Text: "modules from operator (baked in)"}},
		{0, Event{Program: db, Step: "copy", Level: Info, Done: 100, Total: 4096}},
		{0, Event{Program: web, Step: "copy", Level: Info, Done: 1 << 20, Total: 4 << 20}},
		{time.Second, Event{Program: web, Step: "copy", Level: Info, Done: 2 << 20, Total: 4 << 20}},
		{5 * time.Second, Event{Program: web, Step: "copy", Level: Info, Done: 3 << 20, Total: 4 << 20}},
		{time.Second, Event{Program: db, Step: "copy", Level: Info, Done: 4096, Total: 4096}},
		{time.Second, Event{Program: web, Step: "switch", Level: Output, Text: "activating the configuration..."}},
		{0, Event{Program: web, Step: "switch", Level: Output, Text: " "}},
		{time.Second, Event{Program: db, Step: "build", Level: Info, Done: 12345}},
		{0, Event{Program: db, Step: "switch", Level: Warning, Text: "connection lost; the switch goes on without it"}},
		{time.Second, Event{Program: db, Level: Trouble, Text: "1 unit unhealthy"}},
		{0, Event{Kind: KindStep, Program: web, Step: "verdict", Level: Info}},
		{0, Event{Kind: KindStep, Program: web, Step: "verdict", Level: Info, Seconds: &took}},
		{0, Event{Kind: KindEnd, Program: db, Level: Trouble, Text: "unhealthy after 8.2 s", Code: &unhealthy, Outcome: "unhealthy", Seconds: &took}},
		{0, Event{Kind: KindEnd, Program: web, Level: Info, Text: "healthy after 8.2 s", Code: &healthy, Outcome: "healthy", Seconds: &took}},
		{0, Event{Kind: KindRow, Program: "operator-all-apply", Member: db, Level: Trouble, Text: db + "  unhealthy  8.2 s", Code: &unhealthy, Outcome: "unhealthy", Seconds: &took}},
		{0, Event{Level: Info, Text: "grüße <of> nobody in particular & all"}},
	}
	var events []Event
	for _, l := range list {
		at = at.Add(l.after)
		l.event.Time = at
		switch {
		case l.event.Kind != "":
		case l.event.Text != "":
			l.event.Kind = KindLine
		default:
			l.event.Kind = KindProgress
		}
		events = append(events, l.event)
	}
	return events
}

func TestPlainIsPrefixedLines(t *testing.T) {
	var out bytes.Buffer
	sink := Plain(&out)
	for _, e := range session() {
		sink.Take(e)
	}
	golden.Assert(t, out.String(), "plain.golden")
	assert.Assert(t, !strings.ContainsAny(out.String(), "\r\x1b"))
	assert.Equal(t, strings.Count(out.String(), "\n"), 12, "8 texts, two ends, a row, and progress that took five seconds")
}

func TestPlainSaysNowAndThenHowFarItIs(t *testing.T) {
	var out bytes.Buffer
	sink := Plain(&out)
	start := time.Now()
	for i := range 21 { // one a second
		sink.Take(Event{Time: start.Add(time.Duration(i) * time.Second), Program: "p", Step: "copy", Kind: KindProgress, Level: Info, Done: int64(i), Total: 20})
		sink.Take(Event{Time: start, Program: "q", Step: "copy", Kind: KindProgress, Level: Info, Done: int64(i), Total: 20})
	}
	assert.Equal(t, out.String(), "[p] copy: 5 B of 20 B (25 %)\n[p] copy: 10 B of 20 B (50 %)\n"+
		"[p] copy: 15 B of 20 B (75 %)\n[p] copy: 20 B of 20 B (100 %)\n")
}

func TestJSONIsOneObjectALine(t *testing.T) {
	var out bytes.Buffer
	sink := JSON(&out)
	for _, e := range session() {
		sink.Take(e)
	}
	golden.Assert(t, out.String(), "json.golden")
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	assert.Assert(t, cmp.Len(lines, len(session())))
	for i, line := range lines {
		var e Event
		assert.NilError(t, json.Unmarshal([]byte(line), &e))
		assert.DeepEqual(t, e, session()[i])
	}
}

func TestJSONSaysNowAndThenHowFarItIs(t *testing.T) {
	var out bytes.Buffer
	sink := JSON(&out)
	start := time.Now()
	for i := range 101 { // ten a second
		sink.Take(Event{Kind: KindProgress, Time: start.Add(time.Duration(i) * 100 * time.Millisecond / 10), Program: "p", Step: "copy", Level: Info, Done: int64(i), Total: 100})
	}
	assert.Equal(t, strings.Count(out.String(), "\n"), 6, "at its begin, five times a second, and at its end: %s", out.String())
	assert.Assert(t, cmp.Contains(out.String(), `"done":100,`))
}

func TestEventsAreOfThePublishedForm(t *testing.T) {
	compiled := schemaOf(t, EventSchema)
	var out bytes.Buffer
	log := NewLog(JSON(&out)).For("operator-ssh-web-apply")
	log.Start("a", "b")
	record := &Record{}
	record.Tell(log)
	ended := record.Time("copy")
	log.In("copy").Progress(0, 10)
	log.In("copy").Progress(10, 10)
	ended()
	log.Infof("one\ntwo")
	log.Warnf("no")
	log.Troublef("alas")
	lines := log.In("switch").Lines()
	_, _ = lines.Write([]byte("\n\x1b[2Jhello\n"))
	log.Row("a", Outcome{Code: Unhealthy, Words: "unhealthy", Took: time.Second}, "a  unhealthy")
	for code := range meanings {
		log.End(Outcome{Code: code, Words: code.String()})
	}
	log.End(Outcome{Code: Failed, Words: NotStarted})
	n := 0
	for line := range strings.Lines(out.String()) {
		n++
		document, err := jsonschema.UnmarshalJSON(strings.NewReader(line))
		assert.NilError(t, err)
		assert.NilError(t, compiled.Validate(document), line)
	}
	assert.Equal(t, n, 13+len(meanings))
	for _, wrong := range []string{
		`{"time":"2026-01-02T03:04:05Z","kind":"end","level":"info","program":"p"}`,
		`{"time":"2026-01-02T03:04:05Z","kind":"line","level":"info"}`,
		`{"time":"2026-01-02T03:04:05Z","kind":"line","level":"info","text":"x","done":3}`,
		`{"time":"yesterday","kind":"line","level":"info","text":"x"}`,
		`{"time":"2026-01-02T03:04:05Z","kind":"song","level":"info","text":"x"}`,
		`{"time":"2026-01-02T03:04:05Z","kind":"start","level":"info"}`,
		`{"time":"2026-01-02T03:04:05Z","kind":"row","level":"info","program":"p","text":"x","exit_code":0,"outcome":"healthy","seconds":1}`,
		`{"time":"2026-01-02T03:04:05Z","kind":"end","level":"info","program":"p","text":"x","exit_code":7,"outcome":"odd","seconds":1}`,
	} {
		document, err := jsonschema.UnmarshalJSON(strings.NewReader(wrong))
		assert.NilError(t, err)
		assert.ErrorType(t, compiled.Validate(document), &jsonschema.ValidationError{}, wrong)
	}
}

func TestBytes(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 B", 1023: "1023 B", 1024: "1.0 KiB", 1536: "1.5 KiB", 1 << 20: "1.0 MiB",
		3565158: "3.4 MiB", 1 << 30: "1.0 GiB", 5 << 40: "5.0 TiB", 5 << 50: "5120.0 TiB",
	} {
		assert.Equal(t, Bytes(n), want)
	}
}
