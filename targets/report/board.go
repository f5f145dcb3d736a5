package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/clipperhouse/displaywidth"
)

// board knows what runs just now, as its events tell, and writes a line about
// each program that does.
type board struct {
	running []*doing // in order of their start
}

// doing is a program that runs.
type doing struct {
	program string
	since   time.Time
	step    string
	detail  string    // what it said last, or how far it is
	at      time.Time // since when it has been doing just that

	members []string // of an aggregate
	begun   int
	ended   int
	failed  int
}

func (b *board) find(program string) *doing {
	i := slices.IndexFunc(b.running, func(d *doing) bool { return d.program == program })
	if i < 0 {
		return nil
	}
	return b.running[i]
}

// take notes an event.
func (b *board) take(e Event) {
	if e.Kind == KindStart {
		b.count(e)
		b.running = append(b.running, &doing{program: e.Program, since: e.Time, at: e.Time, members: e.Members})
		return
	}
	d := b.find(e.Program)
	switch {
	case e.Kind == KindEnd:
		b.running = slices.DeleteFunc(b.running, func(other *doing) bool { return other == d })
		b.count(e)
	case d == nil, e.Kind == KindRow:
	case e.Kind == KindStep && e.Seconds != nil:
		d.set("", "", e.Time)
	case e.Kind == KindProgress && e.Total > 0 && e.Done >= e.Total:
		d.set(e.Step, "", e.Time)
	case e.Kind == KindProgress:
		if d.step != e.Step {
			d.at = e.Time
		}
		d.step, d.detail = e.Step, amount(e.Done, e.Total)
	case e.Kind == KindStep, e.Text != d.detail:
		step := e.Step
		if step == "" {
			step = d.step
		}
		d.set(step, strings.TrimSpace(e.Text), e.Time)
	}
}

func (d *doing) set(step, detail string, at time.Time) { d.step, d.detail, d.at = step, detail, at }

// count notes in aggregates that a member of theirs began or ended.
func (b *board) count(e Event) {
	for _, d := range b.running {
		switch {
		case !slices.Contains(d.members, e.Program):
		case e.Kind == KindStart:
			d.begun++
		default:
			d.ended++
			if e.Outcome == NotStarted {
				d.begun++
			}
			if e.Code != nil && *e.Code != Healthy {
				d.failed++
			}
		}
	}
}

// lines writes the board for a screen of so many columns and rows: no line
// touches the last column, where terminals differ, and two rows are left to
// what was said.
func (b *board) lines(now time.Time, columns, rows int) []string {
	shown, limit := b.running, max(1, rows-2)
	more := 0
	if len(shown) > limit {
		more = len(shown) - max(0, limit-1)
		shown = shown[:len(shown)-more]
	}
	names := 0
	for _, d := range shown {
		names = max(names, displaywidth.String(d.program))
	}
	names = max(1, min(names, columns/2))
	lines := make([]string, 0, len(shown)+1)
	for _, d := range shown {
		name := cutFront(d.program, names)
		pad := strings.Repeat(" ", names-displaywidth.String(name))
		lines = append(lines, cut(fmt.Sprintf("%s%s  %6s  %s", name, pad, span(now.Sub(d.since)), d.what(now)), columns-1))
	}
	if more > 0 {
		lines = append(lines, cut(fmt.Sprintf("… and %d more", more), columns-1))
	}
	return lines
}

// what says what the program does, and for how long, when that is long.
func (d *doing) what(now time.Time) string {
	if len(d.members) > 0 {
		text := fmt.Sprintf("%d of %d ended", d.ended, len(d.members))
		if d.failed > 0 {
			text += fmt.Sprintf(", %d not healthy", d.failed)
		}
		if running := d.begun - d.ended; running > 0 {
			text += fmt.Sprintf(", %d running", running)
		}
		if waiting := len(d.members) - d.begun; waiting > 0 {
			text += fmt.Sprintf(", %d waiting", waiting)
		}
		return text
	}
	parts := d.step
	if long := now.Sub(d.at); parts != "" && long >= time.Second && span(long) != span(now.Sub(d.since)) {
		parts += " " + span(long)
	}
	if parts != "" && d.detail != "" {
		parts += ": "
	}
	return strings.TrimSpace(parts + strings.ReplaceAll(d.detail, "\t", " "))
}

// span writes how long something has been going on: "7s", "1m02s", "2h05m".
func span(d time.Duration) string {
	s := int(max(0, d).Seconds())
	switch {
	case s < 60:
		return fmt.Sprintf("%ds", s)
	case s < 3600:
		return fmt.Sprintf("%dm%02ds", s/60, s%60)
	}
	return fmt.Sprintf("%dh%02dm", s/3600, s/60%60)
}

// cut shortens text to so many columns, whole characters only.
func cut(text string, columns int) string {
	return strings.TrimRight(displaywidth.TruncateString(text, max(1, columns), "…"), " ")
}

// cutFront shortens a name from its front: its end tells it from the others.
func cutFront(name string, columns int) string {
	excess := displaywidth.String(name) - columns
	if excess <= 0 {
		return name
	}
	letters := displaywidth.StringGraphemes(name)
	for excess >= 0 && letters.Next() { // one column more, for the mark
		excess -= letters.Width()
		name = name[len(letters.Value()):]
	}
	return "…" + name
}
