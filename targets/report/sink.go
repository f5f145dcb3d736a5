package report

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// pace lets progress through now and then, not at every byte.
type pace struct {
	every time.Duration
	last  map[string]time.Time
}

func newPace(every time.Duration) pace { return pace{every: every, last: map[string]time.Time{}} }

// due tells whether a step's progress is to be shown again. first says what
// holds for the first progress of a step.
func (p pace) due(e Event, first bool) bool {
	key := e.Program + "\x00" + e.Step
	last, seen := p.last[key]
	switch {
	case !seen:
		p.last[key] = e.Time
		return first
	case e.Time.Sub(last) < p.every:
		return false
	}
	p.last[key] = e.Time
	return true
}

// Plain prints one prefixed line an event: "[operator-ssh-web] copy: 3 paths".
// How far a step is, it says when the step takes its time.
func Plain(w io.Writer) Sink { return &plain{w: w, pace: newPace(quiet)} }

// quiet is how long a step may work before a plain log says how far it is.
const quiet = 5 * time.Second

type plain struct {
	mu   sync.Mutex
	w    io.Writer
	pace pace
}

func (p *plain) Take(e Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	e = e.shown()
	if e.unseen() || (e.Kind == KindProgress && !p.pace.due(e, false)) {
		return
	}
	_, _ = fmt.Fprintln(p.w, lineOf(e, nil))
}

// JSON prints one event a line.
func JSON(w io.Writer) Sink { return &jsonSink{encoder: json.NewEncoder(w), pace: newPace(often)} }

// often is how often a program that reads events is told how far a step is.
const often = 200 * time.Millisecond

type jsonSink struct {
	mu      sync.Mutex
	encoder *json.Encoder
	pace    pace
}

func (j *jsonSink) Take(e Event) {
	j.mu.Lock()
	defer j.mu.Unlock()
	e = e.shown()
	complete := e.Total > 0 && e.Done >= e.Total
	if e.Kind == KindProgress && !j.pace.due(e, true) && !complete {
		return
	}
	_ = j.encoder.Encode(e)
}

// lineOf is the line that a person reads of an event.
func lineOf(e Event, paint paint) string {
	var b strings.Builder
	if e.Program != "" {
		b.WriteString("[" + e.Program + "] ")
	}
	if e.Step != "" {
		b.WriteString(e.Step + ": ")
	}
	text := strings.TrimRight(e.Text, " ")
	switch {
	case e.Kind == KindProgress:
		text = amount(e.Done, e.Total)
	case e.Code != nil:
		text = strings.Replace(text, e.Outcome, paint.outcome(*e.Code, e.Outcome), 1)
	case e.More:
		text = "  " + text
	case e.Level == Warning:
		text = paint.in(yellow, "warning:") + " " + text
	case e.Level == Trouble:
		text = paint.in(red, "error:") + " " + text
	case e.Level == Output:
		text = "| " + text
	}
	return strings.TrimRight(b.String()+text, " ")
}

func amount(done, total int64) string {
	if total > 0 {
		return fmt.Sprintf("%s of %s (%d %%)", Bytes(done), Bytes(total), 100*done/total)
	}
	return Bytes(done)
}

// Bytes writes an amount of bytes for a person: "3.4 MiB".
func Bytes(n int64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	f, i := float64(n), 0
	for f >= 1024 && i < len(units)-1 {
		f, i = f/1024, i+1
	}
	if i == 0 {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.1f %s", f, units[i])
}
