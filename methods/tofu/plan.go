package tofu

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"fediversity.eu/slipway/targets/report"
)

// Plan is what would be done, or was.
type Plan struct {
	Add, Change, Remove, Import int
	Forget                      int // taken out of the state, and left where they are
	Changes                     []Change
	Text                        string // for people; only the plan verb has it
	Changed                     bool   // something would be done, be it to outputs alone
}

// Change is one object that would change. Reason is why it would be made anew, in
// OpenTofu's words: "cannot_update", "tainted", "requested". Imported is one that is
// there and that no state had.
type Change struct {
	Address, Type, Action, Reason string
	Imported                      bool
}

// String is the counts.
func (p Plan) String() string {
	if !p.Changed {
		return "no changes"
	}
	text := fmt.Sprintf("%d to add, %d to change, %d to remove", p.Add, p.Change, p.Remove)
	if p.Import > 0 {
		text += fmt.Sprintf(", %d to import", p.Import)
	}
	if p.Forget > 0 {
		text += fmt.Sprintf(", %d to forget", p.Forget)
	}
	return text
}

// add takes in what another plan is to do after it.
func (p *Plan) add(next Plan) {
	p.Add, p.Change, p.Remove, p.Import = p.Add+next.Add, p.Change+next.Change, p.Remove+next.Remove, p.Import+next.Import
	p.Changes, p.Changed = append(p.Changes, next.Changes...), p.Changed || next.Changed
}

// forgets adds what is taken out of the state before the plan is made.
func (p *Plan) forgets(u undeclared) {
	p.Forget, p.Changed = len(u.forget), p.Changed || len(u.forget) > 0
	var lines strings.Builder
	for _, address := range u.forget {
		fmt.Fprintf(&lines, "%s will be forgotten, and stays where it is\n", address)
	}
	p.Text = lines.String() + p.Text
}

// spares refuses a plan that would make anew what is to stay. What a run left half
// made is no such thing.
func (p Plan) spares(stays func(kind string) bool) error {
	var lost []error
	var hints []string
	for _, c := range p.Changes {
		if c.Reason == "cannot_update" && stays != nil && stays(c.Type) {
			hint, why := c.loses()
			lost = append(lost, why)
			if !slices.Contains(hints, hint) {
				hints = append(hints, hint)
			}
		}
	}
	if len(lost) == 0 {
		return nil
	}
	return report.Refuse("apply the plan", errors.Join(lost...), strings.Join(hints, "; "))
}

// loses says what would become of an object that can't be changed into what is declared,
// and what to do. Where OpenTofu would forget it, and make another, it has no word for
// that (1.12, ParseChangeAction), and says "noop", "import" or "move".
func (c Change) loses() (hint string, why error) {
	switch {
	case c.Action == "replace":
		why = fmt.Errorf("%s would be removed and made anew, without what it holds", c.Address)
	case c.Imported:
		why = fmt.Errorf("%s would be left as it is there, and made anew, without what it holds", c.Address)
	default:
		why = fmt.Errorf("%s would be forgotten and made anew, without what it holds", c.Address)
	}
	if c.Imported {
		return "what is there by that name is not what is declared, and can't be changed into it: declare it as it is there, or remove it yourself", why
	}
	return "what it is declared to be, or a variable that says where it is, has changed: set that back; or destroy it, and begin with STATE_PHASE=cold", why
}

// message is a line of OpenTofu's JSON (its documentation, "Machine-Readable UI").
type message struct {
	Level      string      `json:"@level"`
	Message    string      `json:"@message"`
	Type       string      `json:"type"`
	Diagnostic *diagnostic `json:"diagnostic"`
	Change     struct {
		Resource struct {
			Address string `json:"addr"`
			Type    string `json:"resource_type"`
		} `json:"resource"`
		Action    string    `json:"action"`
		Reason    string    `json:"reason"`
		Importing *struct{} `json:"importing"`
	} `json:"change"`
	Changes struct {
		Add    int `json:"add"`
		Change int `json:"change"`
		Remove int `json:"remove"`
		Import int `json:"import"`
	} `json:"changes"`
}

type diagnostic struct {
	Severity string `json:"severity"`
	Summary  string `json:"summary"`
	Detail   string `json:"detail"`
	Address  string `json:"address"`
	Range    *struct {
		File  string `json:"filename"`
		Start struct {
			Line int `json:"line"`
		} `json:"start"`
	} `json:"range"`
}

// String is what is wrong and where, in one line.
func (d *diagnostic) String() string {
	text := d.Summary
	if detail := strings.Join(strings.Fields(d.Detail), " "); detail != "" {
		text += ": " + detail
	}
	switch {
	case d.Address != "":
		text = d.Address + ": " + text
	case d.Range != nil:
		text = fmt.Sprintf("%s:%d: %s", d.Range.File, d.Range.Start.Line, text)
	}
	return text
}

// longestMessage bounds what is kept of a line without an end.
const longestMessage = 64 << 20

// stream reads the JSON lines of one command. It never fails: a
// writer that does would hang terraform-exec.
type stream struct {
	log *report.Log

	mu     sync.Mutex
	part   []byte
	skip   bool // the rest of a line that was too long
	plan   Plan
	drifts []drift
	faults []error
}

func (s *stream) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.skip && bytes.IndexByte(p, '\n') < 0 {
		return len(p), nil
	}
	s.part = append(s.part, p...)
	for {
		end := bytes.IndexByte(s.part, '\n')
		if end < 0 && len(s.part) > longestMessage {
			s.faults = append(s.faults, fmt.Errorf("OpenTofu wrote a line of more than %d MiB, which was left out", longestMessage>>20))
			s.part, s.skip = nil, true
		}
		if end < 0 {
			return len(p), nil
		}
		if s.skip {
			s.part, s.skip = s.part[end+1:], false
			continue
		}
		s.take(s.part[:end])
		s.part = s.part[end+1:]
	}
}

// reread are the lines that OpenTofu writes when it looks at an object that is there:
// two for each, and of no use here. No text within a line has bare quotes.
var reread = []byte(`"type":"refresh_`)

func (s *stream) take(line []byte) {
	if bytes.Contains(line, reread) {
		return
	}
	var m message
	if json.Unmarshal(line, &m) != nil {
		if text := bytes.TrimSpace(line); len(text) > 0 {
			s.log.Infof("| %s", text)
		}
		return
	}
	switch m.Type {
	case "planned_change":
		c := m.Change
		s.plan.Changes = append(s.plan.Changes, Change{c.Resource.Address, c.Resource.Type, c.Action, c.Reason, c.Importing != nil})
	case "change_summary":
		s.plan.Add, s.plan.Change, s.plan.Remove, s.plan.Import = m.Changes.Add, m.Changes.Change, m.Changes.Remove, m.Changes.Import
	case "diagnostic":
		s.diagnose(m.Diagnostic)
	case "resource_drift":
		s.drifts = append(s.drifts, drift{m.Change.Resource.Address, m.Change.Action, m.Message})
	case "apply_start", "apply_complete", "apply_errored", "apply_progress", "provision_progress":
		s.log.Infof("%s", m.Message)
	}
}

func (s *stream) diagnose(d *diagnostic) {
	switch {
	case d == nil:
	case d.Severity == "error":
		s.faults = append(s.faults, errors.New(d.String()))
	case d.Summary == lockFile, d.Summary == targeting, d.Summary == incomplete:
		// It is of this run, and goes with it; or the rest follows.
	default:
		s.log.Warnf("%s", d)
	}
}

// lockFile is what OpenTofu says of providers that come from a mirror.
const lockFile = "Incomplete lock file information for providers"

// What it says of a plan for some objects alone.
const (
	targeting  = "Resource targeting is in effect"
	incomplete = "Applied changes may be incomplete"
)

// result is the plan that was read, and what OpenTofu called an error.
func (s *stream) result() (Plan, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.plan, errors.Join(s.faults...)
}
