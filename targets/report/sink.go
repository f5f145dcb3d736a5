package report

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"
)

// Plain prints one prefixed line an event: "[operator-ssh-web] copy: 3 paths".
// Progress is printed now and then, not at every byte.
func Plain(w io.Writer) Sink { return &plain{w: w, last: map[string]time.Time{}} }

type plain struct {
	mu   sync.Mutex
	w    io.Writer
	last map[string]time.Time
}

// quiet is how long a step may work before a plain log says how far it is.
const quiet = 5 * time.Second

func (p *plain) Take(e Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if e.progress() {
		key := e.Program + "\x00" + e.Step
		last, seen := p.last[key]
		if !seen {
			p.last[key] = e.Time
			return
		}
		if e.Time.Sub(last) < quiet {
			return
		}
		p.last[key] = e.Time
		e.Text = amount(e)
	}
	_, _ = fmt.Fprintln(p.w, prefixed(e))
}

func prefixed(e Event) string {
	var b strings.Builder
	if e.Program != "" {
		b.WriteString("[" + e.Program + "] ")
	}
	if e.Step != "" {
		b.WriteString(e.Step + ": ")
	}
	if e.More {
		b.WriteString("  " + e.Text)
		return strings.TrimRight(b.String(), " ")
	}
	switch e.Level {
	case Warning:
		b.WriteString("warning: ")
	case Trouble:
		b.WriteString("error: ")
	case Output:
		b.WriteString("| ")
	case Info:
	}
	b.WriteString(strings.TrimRight(e.Text, " "))
	return b.String()
}

func amount(e Event) string {
	if e.Total > 0 {
		return fmt.Sprintf("%s of %s (%d %%)", Bytes(e.Done), Bytes(e.Total), 100*e.Done/e.Total)
	}
	return Bytes(e.Done)
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

// JSON prints one event a line.
func JSON(w io.Writer) Sink { return &jsonSink{encoder: json.NewEncoder(w)} }

type jsonSink struct {
	mu      sync.Mutex
	encoder *json.Encoder
}

func (j *jsonSink) Take(e Event) {
	j.mu.Lock()
	defer j.mu.Unlock()
	_ = j.encoder.Encode(e)
}

// Terminal prints like Plain, and keeps a last line that moves: what each
// program is doing just now, cut to the width.
func Terminal(w io.Writer, width func() int) Sink {
	return &terminal{w: w, width: width, doing: map[string]string{}}
}

type terminal struct {
	mu    sync.Mutex
	w     io.Writer
	width func() int
	doing map[string]string
	drawn time.Time
}

// redraw is the least time between two drawings of the moving line.
const redraw = 80 * time.Millisecond

// clearLine moves to the first column and clears to the end (ECMA-48 EL).
const clearLine = "\r\x1b[K"

func (t *terminal) Take(e Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e.progress() {
		if e.Total > 0 && e.Done >= e.Total {
			delete(t.doing, e.Program)
		} else {
			t.doing[e.Program] = e.Program + " " + e.Step + " " + amount(e)
		}
		if time.Since(t.drawn) >= redraw || len(t.doing) == 0 {
			t.draw("")
		}
		return
	}
	delete(t.doing, e.Program)
	t.draw(prefixed(e) + "\n")
}

func (t *terminal) draw(line string) {
	now := make([]string, 0, len(t.doing))
	for _, text := range t.doing {
		now = append(now, text)
	}
	slices.Sort(now)
	status := []rune(strings.Join(now, " · "))
	if limit := t.width() - 1; len(status) > limit && limit > 0 {
		status = append(status[:limit-1], '…')
	}
	t.drawn = time.Now()
	_, _ = io.WriteString(t.w, clearLine+line+string(status))
}
