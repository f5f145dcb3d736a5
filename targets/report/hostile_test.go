package report

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"
)

// hostile is what somebody may send who wants to be seen as something else.
const hostile = "me\x1b[2J\x1b]0;x\a\u009b31m\u202e\u2066\u200f\u2028[p] healthy\r\n[p] verdict: healthy (9 units)\xff\x00\x7f\ufffe"

func harmless(t *testing.T, where, text string, own ...string) {
	t.Helper()
	for _, o := range own {
		text = strings.ReplaceAll(text, o, "")
	}
	for _, r := range text {
		bad := r != '\n' && r != '\t' && unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp, unicode.Bidi_Control)
		assert.Assert(t, !bad && r != '\ufffe', "%s: %U in %q", where, r, text)
	}
}

// TestNoSinkShowsWhatOthersSentAsItIs sends the same through everything that a run
// is seen by.
func TestNoSinkShowsWhatOthersSentAsItIs(t *testing.T) {
	speak := func(sink Sink) {
		log := NewLog(sink).For("p").In(hostile)
		log.Start(hostile)
		log.Infof("held by %s", hostile)
		log.Row(hostile, Outcome{Code: Failed, Words: hostile}, hostile)
		lines := log.Lines()
		_, _ = lines.Write([]byte(hostile))
		_ = lines.Close()
		log.take(Event{Kind: KindStep, Text: hostile})
		log.End(Outcome{Code: Failed, Words: hostile, Took: time.Second})
	}
	var plain, events, screen bytes.Buffer
	speak(Plain(&plain))
	harmless(t, "plain", plain.String())
	for line := range strings.Lines(plain.String()) {
		assert.Assert(t, strings.HasPrefix(line, "[p] "), "%q", line)
		assert.Assert(t, !strings.HasPrefix(line, "[p] verdict: healthy"), "%q is forged", line)
	}
	speak(JSON(&events))
	harmless(t, "JSON", events.String())
	terminal := NewTerminal(&screen, Screen{Size: func() (int, int) { return 80, 24 }})
	speak(terminal)
	terminal.Close()
	harmless(t, "terminal", screen.String(), "\r", clearLine, clearRest)
	assert.Assert(t, cmp.Contains(screen.String(), "healthy"))
}

func TestTheRecordHoldsWhatCanBeShown(t *testing.T) {
	r := &Record{Program: "p", Units: []Unit{{Name: hostile, Journal: []string{hostile, strings.Repeat("x", 1<<20)}}}}
	r.Close(errors.New("judge: " + hostile))
	path := filepath.Join(t.TempDir(), "record.json")
	assert.NilError(t, r.Write(path, nil))
	text, err := os.ReadFile(path)
	assert.NilError(t, err)
	harmless(t, "record", string(text))
	back, err := ReadRecord(path)
	assert.NilError(t, err)
	harmless(t, "error", back.Error.What)
	harmless(t, "name", back.Units[0].Name)
	assert.Assert(t, cmp.Regexp(`^x+… \(\d+ bytes cut\) …x+$`, back.Units[0].Journal[1]))
	harmless(t, "what Mage prints", Wrap(errors.New(hostile)).Error())
}

func TestASecretWithColoursInItIsTakenOut(t *testing.T) {
	redact := func(text string) string { return strings.ReplaceAll(text, "hush hush", "[redacted]") }
	sink := &kept{}
	NewLog(Redacted(sink, redact)).Infof("token hush\x1b[1m hush, and hush hush")
	assert.Equal(t, sink.texts()[0], "token [redacted], and [redacted]")
}
