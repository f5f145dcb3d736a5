// Package ledger reads what OpenTofu said that it made, and finds what is in no
// state: OpenTofu writes its state at most every twenty seconds, so what it made
// since is known from its events alone when it was killed or the power went.
package ledger

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"fediversity.eu/slipway/methods/tofu/state"
)

// Begun is the first line of a run's events.
type Begun struct {
	Type string    `json:"type"` // "slipway_run"
	Run  string    `json:"run"`
	At   time.Time `json:"at"`
}

// The types of the lines that are ours; all others are OpenTofu's.
const (
	begun     = "slipway_run"
	ended     = "slipway_end"
	forgotten = "slipway_forgotten"
	doubted   = "slipway_doubted"
)

// End is the last line of a run's events: its OpenTofu ended by itself, and wrote
// down all that it knew.
func End() []byte { return []byte(`{"type":"` + ended + `"}` + "\n") }

// Start makes the events of a run: a file with its first line.
func Start(path, run string) error {
	text, err := json.Marshal(Begun{Type: begun, Run: run, At: time.Now().UTC()})
	if err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("start the record of events: %w", err)
	}
	_, err = file.Write(append(text, '\n')) // synced with the first event
	return errors.Join(err, file.Close())
}

// Object is something that a run made, or was making.
type Object struct {
	Run     string
	Address string
	Type    string
	Key     string // the attribute that ID is
	ID      string // empty where it is not known, and where its fate is not
	Unknown bool   // it was begun, and no end of it was heard
	Doubted bool   // it has no id, and what the state holds at its address may be another
}

// String names it.
func (o Object) String() string {
	switch {
	case o.Unknown:
		return o.Address + " (begun, fate unknown)"
	case o.ID != "":
		return fmt.Sprintf("%s (id %s)", o.Address, o.ID)
	}
	return o.Address
}

// Event is a line of OpenTofu's own, as far as it is of use here (OpenTofu's
// documentation, "Machine-Readable UI").
type Event struct {
	Type string `json:"type"`
	Hook struct {
		Resource struct {
			Address string `json:"addr"`
			Type    string `json:"resource_type"`
		} `json:"resource"`
		Action string `json:"action"`
		Key    string `json:"id_key"`
		ID     string `json:"id_value"`
	} `json:"hook"`

	Run string    `json:"run"`
	At  time.Time `json:"at"`
	All bool      `json:"all"` // of what is forgotten
}

// Durable tells whether a line must be on the disk before anything goes on.
func Durable(line []byte) bool {
	return bytes.Contains(line, []byte(`"type":"apply_`)) && !bytes.Contains(line, []byte(`"type":"apply_progress"`))
}

// Ledger is what runs left behind.
type Ledger struct {
	made map[string]map[string]Object // by address and id
	open map[string]Object            // begun and not ended, by address
	Runs []string

	files map[string]string // by the names of the runs
}

// Read reads the events of all runs in a folder, in the order in which they began.
// A last line that was cut off counts as not written.
func Read(folder string) (*Ledger, error) {
	l := &Ledger{made: map[string]map[string]Object{}, open: map[string]Object{}, files: map[string]string{}}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	var files [][]Event
	for _, e := range entries {
		if fits, _ := filepath.Match("events-*.jsonl", e.Name()); !fits { // the form is sound
			continue
		}
		path := filepath.Join(folder, e.Name())
		events, err := read(path)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", path, err)
		}
		if len(events) > 0 {
			files = append(files, events)
			l.files[events[0].Run] = path
		}
	}
	slices.SortFunc(files, func(a, b []Event) int { return cmp.Compare(a[0].At.UnixNano(), b[0].At.UnixNano()) })
	for _, events := range files {
		for _, e := range events {
			l.take(events[0].Run, e)
		}
		l.Runs = append(l.Runs, events[0].Run)
	}
	return l, nil
}

func read(path string) ([]Event, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	var events []Event
	reader := bufio.NewReader(file)
	for {
		line, err := reader.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return events, nil
		}
		if err != nil {
			return nil, err
		}
		var e Event
		if json.Unmarshal(line, &e) != nil {
			continue // not one of ours: a page fault of a disk, a provider that printed
		}
		events = append(events, e)
	}
}

func (l *Ledger) take(run string, e Event) {
	address := e.Hook.Resource.Address
	o := Object{Run: run, Address: address, Type: e.Hook.Resource.Type, Key: e.Hook.Key, ID: e.Hook.ID}
	creates := e.Hook.Action == "create"
	switch e.Type {
	case "apply_start":
		switch {
		case creates:
			o.ID, o.Unknown = "", true
			l.open[address] = o
		case e.Hook.Action == "delete":
			// Named here, since its end names no id. Whether it is gone or not,
			// the state that is recovered knows it or never did.
			delete(l.made[address], e.Hook.ID)
		}
	case "apply_complete":
		if creates {
			delete(l.open, address)
			if l.made[address] == nil {
				l.made[address] = map[string]Object{}
			}
			l.made[address][o.ID] = o
		}
	case ended:
		// What failed is in the state that it wrote, or was not made.
		maps.DeleteFunc(l.open, func(_ string, o Object) bool { return o.Run == run })
	case forgotten:
		l.drop(run, e.All)
	case doubted:
		l.doubt(address)
	}
}

// doubt marks what has no id at an address.
func (l *Ledger) doubt(address string) {
	if o, ok := l.open[address]; ok {
		o.Doubted = true
		l.open[address] = o
	}
	if o, ok := l.made[address][""]; ok {
		o.Doubted = true
		l.made[address][""] = o
	}
}

// Doubt notes for good that somebody else wrote a state: what it holds at the address of
// an object without an id need not be that object.
func (l *Ledger) Doubt(s *state.State) error {
	holds := s.Held()
	var faults []error
	for _, o := range l.nameless() {
		if o.Doubted || !holds(o.Address, "") {
			continue
		}
		var e Event
		e.Type, e.Hook.Resource.Address = doubted, o.Address
		faults = append(faults, l.note(o.Run, e))
		l.doubt(o.Address)
	}
	return errors.Join(faults...)
}

// nameless are the objects without an id.
func (l *Ledger) nameless() []Object {
	all := slices.Collect(maps.Values(l.open))
	for _, objects := range l.made {
		if o, ok := objects[""]; ok {
			all = append(all, o)
		}
	}
	return all
}

// drop lets go of what a run made, or of that alone which has no id.
func (l *Ledger) drop(run string, all bool) {
	gone := func(_ string, o Object) bool { return o.Run == run && (all || o.ID == "") }
	maps.DeleteFunc(l.open, gone)
	for _, objects := range l.made {
		maps.DeleteFunc(objects, gone)
	}
}

// Forget notes for good that what a run made is gone, or that alone which has no id.
func (l *Ledger) Forget(run string, all bool) error {
	if err := l.note(run, Event{Type: forgotten, All: all}); err != nil {
		return err
	}
	l.drop(run, all)
	return nil
}

// note adds an event to those of a run. When it returns, it survives a loss of power.
func (l *Ledger) note(run string, e Event) error {
	text, err := json.Marshal(e)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(l.files[run], os.O_WRONLY|os.O_APPEND, 0)
	if err == nil {
		_, err = fmt.Fprintf(file, "\n%s\n", text) // a loss of power may have cut off the line before
		err = errors.Join(err, file.Sync(), file.Close())
	}
	if err != nil {
		return fmt.Errorf("add to the events of run %s: %w", run, err)
	}
	return nil
}

// Missing are the objects that are in no state, sorted by address.
func (l *Ledger) Missing(s *state.State) []Object {
	if s == nil {
		s = &state.State{}
	}
	holds := s.Held()
	var missing []Object
	for address, objects := range l.made {
		for id, o := range objects {
			if o.Doubted || !holds(address, id) {
				missing = append(missing, o)
			}
		}
	}
	for address, o := range l.open {
		if o.Doubted || !holds(address, "") {
			missing = append(missing, o)
		}
	}
	slices.SortFunc(missing, func(a, b Object) int {
		return cmp.Or(cmp.Compare(a.Address, b.Address), cmp.Compare(a.ID, b.ID))
	})
	return missing
}
