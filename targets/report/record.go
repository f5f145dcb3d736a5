package report

import (
	_ "embed" // the schema
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"fediversity.eu/slipway/internal/durable"
	"fediversity.eu/slipway/internal/plaintext"
)

// RecordSchema is the JSON Schema (draft 2020-12) of a Record.
//
//go:embed record.schema.json
var RecordSchema []byte

// Record is what remains of a run: one JSON document at the path that REPORT
// names.
type Record struct {
	Version  int       `json:"version"` // of this form, 1
	Program  string    `json:"program"`
	Group    string    `json:"group,omitempty"`
	Method   string    `json:"method,omitempty"`
	Effect   string    `json:"effect,omitempty"`
	Machine  string    `json:"machine,omitempty"`
	Verb     string    `json:"verb,omitempty"`
	Started  time.Time `json:"started"`
	Ended    time.Time `json:"ended"`
	ExitCode Code      `json:"exit_code"`
	Outcome  string    `json:"outcome"` // the exit code in words

	Layers     []Layer   `json:"layers,omitempty"`
	Source     *Source   `json:"source,omitempty"`
	Toplevel   string    `json:"toplevel,omitempty"`
	Generation int       `json:"generation,omitempty"`
	Addresses  []string  `json:"addresses,omitempty"` // of the machine, as its deployment tells
	Changed    bool      `json:"changed"`
	Running    string    `json:"running,omitempty"` // toplevel that the machine ran when the run began
	Plan       *Plan     `json:"plan,omitempty"`
	State      *State    `json:"state,omitempty"`
	Reverted   *Reverted `json:"reverted,omitempty"`
	Copied     *Copied   `json:"copied,omitempty"`
	Switch     *int      `json:"switch_exit_code,omitempty"`
	Units      []Unit    `json:"units,omitempty"`
	Zones      []Zone    `json:"zones,omitempty"`
	Inventory  *Objects  `json:"inventory,omitempty"`
	Probes     []Probe   `json:"probes,omitempty"`
	Timings    []Timing  `json:"timings,omitempty"`
	Error      *Problem  `json:"error,omitempty"`
	Members    []*Record `json:"members,omitempty"`
	Needs      []string  `json:"needs,omitempty"` // members of the same aggregate that had to end well before

	// Awaited tells, within a run, that the machine is not there yet and has no address
	// before it is made.
	Awaited bool `json:"-"`

	mu  sync.Mutex
	log *Log
}

// VerdictStep is the step that judges a machine. A run without it that ends well
// is Done, not healthy.
const VerdictStep = "verdict"

// Tell makes the record say in a log which steps it measures.
func (r *Record) Tell(log *Log) { r.log = log }

// Source says what was deployed from where.
type Source struct {
	Modules string `json:"modules"` // where the machine's modules came from
	Hash    string `json:"hash"`    // SHA-256 of everything that was evaluated
	Nixpkgs string `json:"nixpkgs"`
	Cached  bool   `json:"evaluation_cached"`
}

// Layer says which module source a layer of what was declared came from.
type Layer struct {
	Layer    string   `json:"layer"`              // machines, resources or effects
	Side     string   `json:"side"`               // provider or operator
	Source   string   `json:"source"`             // where it lies
	Revision string   `json:"revision,omitempty"` // commit id, or sha256-… of a tarball
	Hash     string   `json:"hash"`               // SHA-256 of the source's tree
	Effects  []string `json:"effects,omitempty"`  // where only some come from there
}

// Layers says in lines where layers come from, one for each source.
func Layers(layers []Layer) []string {
	var lines []string
	at := map[string]int{}
	for _, l := range layers {
		name, version := l.Layer, "tree "+l.Hash
		if len(l.Effects) > 0 {
			name += " (" + strings.Join(l.Effects, ", ") + ")"
		}
		if l.Revision != "" && !strings.Contains(l.Source, l.Revision) {
			version = l.Revision + ", " + version
		}
		from := fmt.Sprintf(" from the %s: %s, %s", l.Side, l.Source, version)
		if i, ok := at[from]; ok {
			lines[i] = strings.TrimSuffix(lines[i], from) + ", " + name + from
			continue
		}
		at[from] = len(lines)
		lines = append(lines, name+from)
	}
	return lines
}

// Plan says what a change would do to a machine.
type Plan struct {
	Changes bool     `json:"changes"`
	Added   int      `json:"paths_added"`
	Removed int      `json:"paths_removed"`
	Bytes   int64    `json:"bytes"` // by which the closure grows
	Stop    []string `json:"stop,omitempty"`
	Start   []string `json:"start,omitempty"`
	Restart []string `json:"restart,omitempty"`
	Reload  []string `json:"reload,omitempty"`
	Skip    []string `json:"skip,omitempty"`   // changed, but left alone
	Reboot  []string `json:"reboot,omitempty"` // what only a reboot would bring in
}

// State says where the state of a deployment is after a run, for the next one's
// STATE_LINEAGE and STATE_SERIAL, and what OpenTofu planned over it.
type State struct {
	Lineage string  `json:"lineage,omitempty"` // empty while there is no state
	Serial  uint64  `json:"serial,omitempty"`
	Plan    *Counts `json:"plan,omitempty"` // of verbs that make one
}

// Counts is how many objects a plan would touch.
type Counts struct {
	Changes bool `json:"changes"` // something would be done, be it to outputs alone
	Add     int  `json:"add"`
	Change  int  `json:"change"`
	Remove  int  `json:"remove"`
	Import  int  `json:"import"`
}

// Reverted says that a machine went back to the system that it came from.
type Reverted struct {
	From string `json:"from"` // toplevel that was given up
	To   string `json:"to"`
	Why  string `json:"why"`
	At   string `json:"at"` // UTC, RFC 3339
	// Failed says that it was to go back, and another system runs.
	Failed bool `json:"failed,omitempty"`
}

// Copied says what went to the machine.
type Copied struct {
	Paths int   `json:"paths"`
	Bytes int64 `json:"bytes"` // as exported, before compression
}

// Unit is one unit that the verdict speaks of.
type Unit struct {
	Name       string     `json:"name"`
	User       string     `json:"user,omitempty"`      // ID of the user whose manager it belongs to
	Container  string     `json:"container,omitempty"` // whose manager it belongs to
	Class      string     `json:"class"`               // new, present, old, tolerated or remark: only new and present ones turn a verdict
	Fault      string     `json:"fault"`
	Why        string     `json:"why,omitempty"`
	Since      *time.Time `json:"since,omitempty"`
	Result     string     `json:"result,omitempty"` // as systemd names it
	ExitStatus int        `json:"exit_status"`      // of the main process, or the number of its signal
	Exit       string     `json:"exit,omitempty"`   // how it ended, in words
	Restarts   int        `json:"restarts"`
	Journal    []string   `json:"journal,omitempty"`
}

// Probe is what came of one of the machine's probes.
type Probe struct {
	Name    string  `json:"name"`
	Asked   string  `json:"asked"`
	Outcome string  `json:"outcome"` // right, wrong or unknown
	Why     string  `json:"why,omitempty"`
	Seconds float64 `json:"seconds"`
}

// Objects says how many of an inventory a plan would change.
type Objects struct {
	Create int `json:"create"`
	Change int `json:"change"`
	Delete int `json:"delete"`
}

// Zone says what a plan would change in a DNS zone.
type Zone struct {
	Name    string `json:"name"`
	Records int    `json:"records"` // that it holds before
	Create  int    `json:"create"`
	Change  int    `json:"change"`
	Delete  int    `json:"delete"`
}

// Timing is when a step began and how long it took.
type Timing struct {
	Step    string    `json:"step"`
	Started time.Time `json:"started,omitzero"`
	Seconds float64   `json:"seconds"`
}

// Problem is an error in its four parts.
type Problem struct {
	What  string   `json:"what"`
	Hints []string `json:"hints,omitempty"`
}

// Time measures a step: call what it returns when the step ends.
func (r *Record) Time(step string) func() {
	started := time.Now()
	ended := func() {}
	if r.log != nil {
		ended = r.log.measure(step)
	}
	return func() {
		ended()
		r.mu.Lock()
		defer r.mu.Unlock()
		r.Timings = append(r.Timings, Timing{Step: step, Started: started, Seconds: time.Since(started).Seconds()})
	}
}

// Add makes a record one member of this one.
func (r *Record) Add(member *Record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Members = append(r.Members, member)
}

// Close notes how the run ended.
func (r *Record) Close(err error) {
	r.Version, r.Ended, r.ExitCode = 1, time.Now(), CodeOf(err)
	r.Outcome = Words(err)
	if r.ExitCode == Healthy && !r.judged() {
		r.Outcome = Done
	}
	if err != nil {
		r.Error = &Problem{What: err.Error(), Hints: Hints(err)}
	}
}

// judged tells whether a verdict was a step of the run.
func (r *Record) judged() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.Timings, func(t Timing) bool { return t.Step == VerdictStep }) ||
		slices.ContainsFunc(r.Members, (*Record).judged)
}

// Write puts the record at path, whole or not at all, fit to be shown and with what
// redact takes out of its text; nil takes nothing out.
func (r *Record) Write(path string, redact func(string) string) error {
	text, err := r.document(redact)
	if err == nil {
		err = durable.Write(path, text)
	}
	if err != nil {
		return fmt.Errorf("write record: %w", err)
	}
	return nil
}

// Redacted gives what a reader of the written record would have.
func (r *Record) Redacted(redact func(string) string) (*Record, error) {
	text, err := r.document(redact)
	if err != nil {
		return nil, err
	}
	clean := &Record{}
	if err := json.Unmarshal(text, clean); err != nil {
		return nil, err
	}
	return clean, nil
}

func (r *Record) document(redact func(string) string) ([]byte, error) {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return nil, err
	}
	return append(redactStrings(text, shown(redact)), '\n'), nil
}

// shown is what a text of a record becomes: without secrets, and fit for whoever
// reads it, wherever it came from.
func shown(redact func(string) string) func(string) string {
	if redact == nil {
		return plaintext.ShownLines
	}
	return func(text string) string { return plaintext.ShownLines(redact(plaintext.Lines(redact(text)))) }
}

// ReadRecord reads a record that a run wrote.
func ReadRecord(path string) (*Record, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read record: %w", err)
	}
	r := &Record{}
	if err := json.Unmarshal(text, r); err != nil {
		return nil, fmt.Errorf("read record: %s: %w", path, err)
	}
	if r.Version != 1 || r.Program == "" {
		return nil, fmt.Errorf("read record: %s: not a record of version 1, as REPORT writes them", path)
	}
	if !r.whole(deepest) {
		return nil, fmt.Errorf("read record: %s: a member is no record, or they are nested more than %d deep", path, deepest)
	}
	return r, nil
}

// deepest is how far records may be members of one another: groups of groups are two.
const deepest = 16

func (r *Record) whole(levels int) bool {
	return r != nil && levels > 0 && !slices.ContainsFunc(r.Members, func(m *Record) bool { return !m.whole(levels - 1) })
}

// jsonString is a string of a JSON document, which is a name where a colon
// follows. Nothing else in a document has quotation marks.
var jsonString = regexp.MustCompile(`"(?:[^"\\]|\\.)*":?`)

// redactStrings takes what redact does out of the strings of a JSON document: a
// secret that reads like a name or a number must not spoil the document.
func redactStrings(document []byte, redact func(string) string) []byte {
	return jsonString.ReplaceAllFunc(document, func(quoted []byte) []byte {
		var text string
		if quoted[len(quoted)-1] == ':' || json.Unmarshal(quoted, &text) != nil {
			return quoted
		}
		clean := redact(text)
		if _, err := time.Parse(time.RFC3339Nano, text); err == nil || clean == text {
			return quoted
		}
		again, err := json.Marshal(clean)
		if err != nil {
			return []byte(`""`) // not shown rather than shown whole
		}
		return again
	})
}
