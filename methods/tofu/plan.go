package tofu

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"fediversity.eu/slipway/targets/report"
)

// Plan is what would be done, or was.
type Plan struct {
	Add, Change, Remove, Import int
	Changes                     []Change
	Text                        string // for people; only the plan verb has it
	Changed                     bool   // something would be done, be it to outputs alone
}

// Change is one object that would change. Reason is why it would be made anew, in
// OpenTofu's words: "cannot_update", "tainted", "requested".
type Change struct{ Address, Type, Action, Reason string }

// String is the counts.
func (p Plan) String() string {
	if !p.Changed {
		return "no changes"
	}
	text := fmt.Sprintf("%d to add, %d to change, %d to remove", p.Add, p.Change, p.Remove)
	if p.Import > 0 {
		text += fmt.Sprintf(", %d to import", p.Import)
	}
	return text
}

// spares refuses a plan that would make anew what is to stay. What a run left half
// made is no such thing.
func (p Plan) spares(stays func(kind string) bool) error {
	var lost []error
	for _, c := range p.Changes {
		if c.Action == "replace" && c.Reason == "cannot_update" && stays != nil && stays(c.Type) {
			lost = append(lost, fmt.Errorf("%s would be removed and made anew, without what it holds", c.Address))
		}
	}
	if len(lost) == 0 {
		return nil
	}
	return report.Refuse("apply the plan", errors.Join(lost...),
		"what it is declared to be, or a variable that says where it is, has changed: set that back; or destroy it, and begin with STATE_PHASE=cold")
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
		Action string `json:"action"`
		Reason string `json:"reason"`
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

// stream reads the JSON lines of one command, of any length. It never fails: a
// writer that does would hang terraform-exec.
type stream struct {
	log *report.Log

	mu     sync.Mutex
	part   []byte
	plan   Plan
	faults []error
}

func (s *stream) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.part = append(s.part, p...)
	for {
		end := bytes.IndexByte(s.part, '\n')
		if end < 0 {
			return len(p), nil
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
		s.plan.Changes = append(s.plan.Changes, Change{m.Change.Resource.Address, m.Change.Resource.Type, m.Change.Action, m.Change.Reason})
	case "change_summary":
		s.plan.Add, s.plan.Change, s.plan.Remove, s.plan.Import = m.Changes.Add, m.Changes.Change, m.Changes.Remove, m.Changes.Import
	case "diagnostic":
		s.diagnose(m.Diagnostic)
	case "apply_start", "apply_complete", "apply_errored", "apply_progress", "provision_progress", "resource_drift":
		s.log.Infof("%s", m.Message)
	}
}

func (s *stream) diagnose(d *diagnostic) {
	switch {
	case d == nil:
	case d.Severity == "error":
		s.faults = append(s.faults, errors.New(d.String()))
	case d.Summary == lockFile:
		// It is of this run, and goes with it.
	default:
		s.log.Warnf("%s", d)
	}
}

// lockFile is what OpenTofu says of providers that come from a mirror.
const lockFile = "Incomplete lock file information for providers"

// result is the plan that was read, and what OpenTofu called an error.
func (s *stream) result() (Plan, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.plan, errors.Join(s.faults...)
}
