package report

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// Log takes the events of one program and hands them to the sink that all
// programs of a process share. The zero Log discards.
type Log struct {
	program string
	step    string
	sink    Sink
}

// Sink takes events from any goroutine.
type Sink interface{ Take(Event) }

// Redacted takes out of the text of events what redact does, before sink gets
// them: no sink can cut a secret in two.
func Redacted(sink Sink, redact func(string) string) Sink { return redacted{sink, redact} }

type redacted struct {
	sink   Sink
	redact func(string) string
}

func (r redacted) Take(e Event) {
	e.Text, e.Step = r.redact(e.Text), r.redact(e.Step)
	r.sink.Take(e)
}

// NewLog gives the log of a process; For names the program it speaks of.
func NewLog(sink Sink) *Log { return &Log{sink: sink} }

// For gives the log of one program.
func (l *Log) For(program string) *Log { return &Log{program: program, sink: l.sink} }

// In gives the log of one step: "evaluate", "copy", "switch".
func (l *Log) In(step string) *Log { return &Log{program: l.program, step: step, sink: l.sink} }

// Infof says what is going on.
func (l *Log) Infof(format string, args ...any) { l.say(Info, fmt.Sprintf(format, args...)) }

// Warnf says what the reader ought to know although the run goes on.
func (l *Log) Warnf(format string, args ...any) { l.say(Warning, fmt.Sprintf(format, args...)) }

// Troublef says what went wrong.
func (l *Log) Troublef(format string, args ...any) { l.say(Trouble, fmt.Sprintf(format, args...)) }

// Progress says how many bytes of how many are done; total 0 means unknown.
func (l *Log) Progress(done, total int64) {
	l.take(Event{Kind: KindProgress, Level: Info, Done: done, Total: total})
}

// Start says that the program started; members are those that an aggregate runs.
func (l *Log) Start(members ...string) {
	l.take(Event{Kind: KindStart, Level: Info, Members: members})
}

// End says how the program ended, and after how long.
func (l *Log) End(o Outcome) {
	text := o.Words
	if text != NotStarted {
		text += fmt.Sprintf(" after %.1f s", o.Took.Seconds())
	}
	l.take(o.event(Event{Kind: KindEnd, Text: text}))
}

// Row says in one line of an aggregate's table how a member ended.
func (l *Log) Row(member string, o Outcome, text string) {
	l.take(o.event(Event{Kind: KindRow, Member: member, Text: cleaned(text)}))
}

// Outcome is how a program ended.
type Outcome struct {
	Code  Code
	Words string // Code in words, or NotStarted
	Took  time.Duration
}

func (o Outcome) event(e Event) Event {
	seconds := o.Took.Seconds()
	e.Code, e.Outcome, e.Seconds, e.Level = &o.Code, o.Words, &seconds, Info
	if o.Code != Healthy {
		e.Level = Trouble
	}
	return e
}

// measure says that a step of the program began, and the function that it returns
// that it ended.
func (l *Log) measure(name string) func() {
	in, began := l.In(name), time.Now()
	in.take(Event{Kind: KindStep, Level: Info})
	return func() {
		seconds := time.Since(began).Seconds()
		in.take(Event{Kind: KindStep, Level: Info, Seconds: &seconds})
	}
}

func (l *Log) say(level Level, text string) {
	more := false
	for line := range strings.Lines(strings.TrimRight(text, "\n")) {
		l.take(Event{Kind: KindLine, Level: level, Text: cleaned(strings.TrimRight(line, "\n")), More: more})
		more = true
	}
}

func (l *Log) take(e Event) {
	if l == nil || l.sink == nil {
		return
	}
	e.Time, e.Program, e.Step = time.Now(), l.program, l.step
	l.sink.Take(e)
}

// Lines gives a writer whose lines become events of level output: whole lines
// only, however they are written. Close hands on a last line without an end.
func (l *Log) Lines() io.WriteCloser { return &lines{log: l} }

type lines struct {
	mu  sync.Mutex
	log *Log
	buf []byte
}

// longestLine bounds what a line without an end may hold.
const longestLine = 64 << 10

func (w *lines) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.buf = append(w.buf, p...)
	for {
		end := bytes.IndexByte(w.buf, '\n')
		if end < 0 && len(w.buf) < longestLine {
			return len(p), nil
		}
		if end < 0 {
			end = len(w.buf)
		}
		w.emit(w.buf[:end])
		w.buf = w.buf[min(end+1, len(w.buf)):]
	}
}

func (w *lines) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.buf) > 0 {
		w.emit(w.buf)
		w.buf = nil
	}
	return nil
}

// emit drops what a progress bar overwrote and makes the rest printable.
func (w *lines) emit(line []byte) {
	line = bytes.TrimRight(line, "\r")
	if i := bytes.LastIndexByte(line, '\r'); i >= 0 {
		line = line[i+1:]
	}
	w.log.take(Event{Kind: KindLine, Level: Output, Text: cleaned(string(line))})
}

// cleaned is a line that harms no terminal. An empty one stays an event with a
// text.
func cleaned(line string) string {
	text := strings.Map(printable, strings.ToValidUTF8(line, "\uFFFD"))
	if text == "" {
		return " "
	}
	return text
}

// printable drops what could move the cursor of whoever reads the log.
func printable(r rune) rune {
	if r == '\t' {
		return r
	}
	if r < ' ' || r == 0x7f || (r >= 0x80 && r < 0xa0) {
		return -1
	}
	return r
}
