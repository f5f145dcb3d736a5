package state

import (
	"encoding/json"
	"fmt"
	"time"
)

// markerName is the output that says that a bootstrap has not ended. OpenTofu
// drops it with its first write, since no configuration declares it.
const markerName = "slipway_bootstrap"

// Marker says which run began a bootstrap, and where that run keeps its journal.
type Marker struct {
	Run  string    `json:"run"`
	Host string    `json:"host"`
	Dir  string    `json:"dir"`
	At   time.Time `json:"at"`
	// Settled says that the run ended in good order and left no object, so that
	// any other may go on from here.
	Settled bool `json:"settled,omitempty"`
}

// String says it for a person.
func (m *Marker) String() string {
	return fmt.Sprintf("run %s, begun %s on %s in %s", m.Run, m.At.UTC().Format("2006-01-02 15:04 UTC"), m.Host, m.Dir)
}

func readMarker(o Output) (*Marker, error) {
	// The text of an output of type string, so that tofu reads the state too.
	var text string
	m := &Marker{}
	err := json.Unmarshal(o.Value, &text)
	if err == nil {
		err = json.Unmarshal([]byte(text), m)
	}
	if err != nil || m.Run == "" {
		return nil, fmt.Errorf("its output %s is no marker of ours", markerName)
	}
	return m, nil
}

func (m *Marker) output() (json.RawMessage, error) {
	text, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	value, err := json.Marshal(string(text))
	if err != nil {
		return nil, err
	}
	return json.Marshal(Output{Value: value, Type: json.RawMessage(`"string"`)})
}

// Seed is the state that goes to the backend before the first object is made. Its
// serial is 1, because some backends take each serial once and none below it.
func Seed(lineage, version string, m *Marker) ([]byte, error) {
	mark, err := m.output()
	if err != nil {
		return nil, err
	}
	return json.Marshal(map[string]any{
		"version": 4, "terraform_version": version, "serial": 1, "lineage": lineage,
		"outputs": map[string]json.RawMessage{markerName: mark}, "resources": []any{}, "check_results": nil,
	})
}

// Marked is a state with the marker put back that OpenTofu dropped.
func Marked(raw []byte, m *Marker) ([]byte, error) {
	return edit(raw, func(form map[string]json.RawMessage) error {
		outputs := map[string]json.RawMessage{}
		if text := form["outputs"]; len(text) > 0 {
			if err := json.Unmarshal(text, &outputs); err != nil {
				return err
			}
		}
		mark, err := m.output()
		if err != nil {
			return err
		}
		if outputs == nil {
			outputs = map[string]json.RawMessage{}
		}
		outputs[markerName] = mark
		form["outputs"], err = json.Marshal(outputs)
		return err
	})
}

// WithMarker is the state with the marker put back.
func (s *State) WithMarker(m *Marker) (*State, error) {
	raw, err := Marked(s.Raw, m)
	other := *s // all else is as it was read: reading it anew takes long where it is large
	other.Raw, other.Marker = raw, m
	return &other, err
}

// Unmarked is a state without the marker.
func Unmarked(raw []byte) ([]byte, error) {
	return edit(raw, func(form map[string]json.RawMessage) error {
		outputs := map[string]json.RawMessage{}
		if err := json.Unmarshal(form["outputs"], &outputs); err != nil {
			return err
		}
		delete(outputs, markerName)
		var err error
		form["outputs"], err = json.Marshal(outputs)
		return err
	})
}

// Numbered is a state with another serial.
func Numbered(raw []byte, serial uint64) ([]byte, error) {
	return edit(raw, func(form map[string]json.RawMessage) error {
		var err error
		form["serial"], err = json.Marshal(serial)
		return err
	})
}

// WithSerial is the state with another serial.
func (s *State) WithSerial(serial uint64) (*State, error) {
	raw, err := Numbered(s.Raw, serial)
	other := *s
	other.Raw, other.Serial = raw, serial
	return &other, err
}

// edit changes the top of a state and leaves all below as it was, to the digit.
func edit(raw []byte, change func(map[string]json.RawMessage) error) ([]byte, error) {
	form := map[string]json.RawMessage{}
	if err := json.Unmarshal(raw, &form); err != nil {
		return nil, err
	}
	if err := change(form); err != nil {
		return nil, err
	}
	return json.Marshal(form)
}
