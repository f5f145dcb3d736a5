package report

import (
	"fmt"
	"strings"
	"time"

	"fediversity.eu/slipway/internal/plaintext"
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
	for _, text := range []*string{&e.Text, &e.Step} {
		// Twice: a secret with colours in it is one when they are gone.
		*text = r.redact(plaintext.Line(r.redact(*text)))
	}
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
	l.take(o.event(Event{Kind: KindRow, Member: member, Text: text}))
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
		l.take(Event{Kind: KindLine, Level: level, Text: strings.TrimRight(line, "\r\n"), More: more})
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
