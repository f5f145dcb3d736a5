package report

import "time"

// Level says how much an event matters.
type Level string

// The levels of events.
const (
	Info    Level = "info"
	Warning Level = "warning"
	Trouble Level = "error"
	Output  Level = "output" // a line that another program wrote
)

// Event is one thing that happened in a run. With PROGRESS=json each is one
// line of JSON.
type Event struct {
	Time    time.Time `json:"time"`
	Program string    `json:"program,omitempty"`
	Step    string    `json:"step,omitempty"`
	Level   Level     `json:"level"`
	Text    string    `json:"text,omitempty"`
	More    bool      `json:"more,omitempty"`  // goes on with the text of the event before
	Done    int64     `json:"done,omitempty"`  // progress, in bytes
	Total   int64     `json:"total,omitempty"` // of how many bytes; 0 when unknown
}

// progress tells whether the event only moves a bar.
func (e Event) progress() bool { return e.Text == "" }
