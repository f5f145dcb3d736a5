package report

import (
	_ "embed" // the schema
	"slices"
	"time"

	"fediversity.eu/slipway/internal/plaintext"
)

// EventSchema is the JSON Schema (draft 2020-12) of an Event, one line of what
// PROGRESS=json prints.
//
//go:embed event.schema.json
var EventSchema []byte

// Kind says what an event is about.
type Kind string

// The kinds of events.
const (
	KindStart    Kind = "start"    // a program started
	KindEnd      Kind = "end"      // a program ended, or was not started
	KindStep     Kind = "step"     // a step of a program began or, where it has seconds, ended
	KindLine     Kind = "line"     // something was said
	KindProgress Kind = "progress" // so much of a step is done
	KindRow      Kind = "row"      // how one member of an aggregate ended, in its table
)

// Level says how much an event matters.
type Level string

// The levels of events.
const (
	Info    Level = "info"
	Warning Level = "warning"
	Trouble Level = "error"
	Output  Level = "output" // a line that another program wrote
)

// Outcomes that no exit code says.
const (
	Done       = "done"        // it ended well, and nothing was to be judged
	NotStarted = "not started" // it was not reached
)

// Event is one thing that happened in a run. With PROGRESS=json each is one
// line of JSON.
type Event struct {
	Time    time.Time `json:"time"`
	Kind    Kind      `json:"kind"`
	Program string    `json:"program,omitempty"`
	Step    string    `json:"step,omitempty"`
	Level   Level     `json:"level"`
	Text    string    `json:"text,omitempty"`
	More    bool      `json:"more,omitempty"`      // goes on with the text of the event before
	Done    int64     `json:"done,omitempty"`      // progress, in bytes
	Total   int64     `json:"total,omitempty"`     // of how many bytes; 0 when unknown
	Members []string  `json:"members,omitempty"`   // of the aggregate that started
	Member  string    `json:"member,omitempty"`    // that the row is about
	Code    *Code     `json:"exit_code,omitempty"` // of what ended
	Outcome string    `json:"outcome,omitempty"`   // the exit code in words
	Seconds *float64  `json:"seconds,omitempty"`   // that it took
}

// unseen tells whether lines of text say nothing of the event: the lines around
// it, or the table at the end, do.
func (e Event) unseen() bool {
	switch e.Kind {
	case KindStart, KindStep:
		return true
	case KindEnd:
		return e.Outcome == NotStarted
	case KindLine, KindProgress, KindRow:
	}
	return false
}

// shown is an event as a reader may have it. Every sink takes it first: what it
// tells may come from outside, and one event is one line.
func (e Event) shown() Event {
	for _, text := range []*string{&e.Program, &e.Step, &e.Text, &e.Member, &e.Outcome} {
		*text = plaintext.Shown(*text)
	}
	e.Members = slices.Clone(e.Members)
	for i, member := range e.Members {
		e.Members[i] = plaintext.Shown(member)
	}
	if e.Kind == KindLine && e.Text == "" {
		e.Text = " " // an empty line stays an event with a text
	}
	return e
}
