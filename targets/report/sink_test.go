package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"
	"gotest.tools/v3/golden"
)

// session is what happens in the golden files of all sinks: two machines, every
// level, progress with and without a total.
func session() []Event {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	const web, db = "operator-ssh-web-apply", "operator-ssh-db-apply"
	list := []struct {
		after time.Duration
		event Event
	}{
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
		{0, Event{Level: Info, Text: "grüße <of> nobody in particular & all"}},
	}
	var events []Event
	for _, l := range list {
		at = at.Add(l.after)
		l.event.Time = at
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
	assert.Equal(t, strings.Count(out.String(), "\n"), 9, "8 texts, and progress that took five seconds")
}

func TestPlainSaysNowAndThenHowFarItIs(t *testing.T) {
	var out bytes.Buffer
	sink := Plain(&out)
	start := time.Now()
	for i := range 21 { // one a second
		sink.Take(Event{Time: start.Add(time.Duration(i) * time.Second), Program: "p", Step: "copy", Level: Info, Done: int64(i), Total: 20})
		sink.Take(Event{Time: start, Program: "q", Step: "copy", Level: Info, Done: int64(i), Total: 20})
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

func TestTerminalKeepsALineThatMoves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		sink := Terminal(&out, func() int { return 60 })
		at := session()[0].Time
		for _, e := range session() {
			time.Sleep(e.Time.Sub(at)) // moves the clock of the bubble
			at = e.Time
			sink.Take(e)
		}
		// One drawing a line, as a person sees it one after the other.
		drawn := strings.ReplaceAll(strings.ReplaceAll(out.String(), clearLine, "<clear>"), "<clear>", "\n<clear>")
		golden.Assert(t, strings.TrimPrefix(drawn, "\n"), "terminal.golden")
		screen := screenOf(t, out.String())
		for _, e := range session() {
			if !e.progress() {
				assert.Assert(t, cmp.Contains(screen, strings.TrimSpace(e.Text)))
			}
		}
		assert.Assert(t, !strings.Contains(screen, "MiB"), "what moved is gone at the end:\n%s", screen)
	})
}

// screenOf shows what a terminal has at the end.
func screenOf(t *testing.T, text string) string {
	t.Helper()
	var done []string
	line := ""
	for len(text) > 0 {
		switch {
		case strings.HasPrefix(text, clearLine):
			line, text = "", text[len(clearLine):]
		case text[0] == '\n':
			done, line, text = append(done, line), "", text[1:]
		default:
			line, text = line+text[:1], text[1:]
		}
	}
	assert.Assert(t, !strings.Contains(line, "\r"))
	return strings.Join(append(done, line), "\n")
}

func TestTerminalIsNotDrawnAtEveryByte(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		sink := Terminal(&out, func() int { return 80 })
		time.Sleep(time.Second)
		for i := range 1000 { // within one second
			sink.Take(Event{Program: "p", Step: "copy", Level: Info, Done: int64(i), Total: 1000})
			time.Sleep(time.Millisecond)
		}
		drawings := strings.Count(out.String(), clearLine)
		assert.Assert(t, drawings >= 10 && drawings <= 13, "%d drawings", drawings)
	})
}

func TestTerminalCutsTheMovingLine(t *testing.T) {
	for _, width := range []int{2, 20, 40} {
		t.Run(fmt.Sprint(width), func(t *testing.T) {
			var out bytes.Buffer
			sink := Terminal(&out, func() int { return width })
			sink.Take(Event{Program: "operator-ssh-grüße-apply-and-more", Step: "copy", Level: Info, Done: 1, Total: 1000})
			moving := []rune(strings.TrimPrefix(out.String(), clearLine))
			assert.Assert(t, len(moving) < width, "%q", string(moving))
			assert.Equal(t, moving[len(moving)-1], '…')
		})
	}
}

func TestTerminalOfNoKnownWidthDoesNotPanic(t *testing.T) {
	for _, width := range []int{0, 1} {
		var out bytes.Buffer
		Terminal(&out, func() int { return width }).Take(Event{Program: "p", Step: "copy", Done: 1, Total: 2})
		assert.Assert(t, out.Len() > 0)
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
