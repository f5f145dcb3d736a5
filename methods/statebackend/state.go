package statebackend

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// state is what a state says of itself.
type state struct {
	lineage string
	serial  uint64
	empty   bool // neither resources nor outputs
}

// parseState reads a state of format version 4, or an encrypted one, of which
// only lineage and serial can be seen.
func parseState(text []byte) (state, error) {
	var raw struct {
		Version   int             `json:"version"`
		Serial    *uint64         `json:"serial"`
		Lineage   string          `json:"lineage"`
		Encrypted string          `json:"encrypted_data"`
		Resources json.RawMessage `json:"resources"`
		Outputs   json.RawMessage `json:"outputs"`
	}
	if err := json.Unmarshal(text, &raw); err != nil {
		return state{}, fmt.Errorf("not a state: %w", err)
	}
	encrypted := raw.Encrypted != ""
	switch {
	case !encrypted && raw.Version != 4:
		return state{}, fmt.Errorf("not a state: format version %d, must be 4", raw.Version)
	case raw.Lineage == "":
		return state{}, errors.New("not a state: it has no lineage")
	case raw.Serial == nil:
		return state{}, errors.New("not a state: it has no serial")
	}
	return state{raw.Lineage, *raw.Serial, !encrypted && none(raw.Resources) && none(raw.Outputs)}, nil
}

// none tells whether a list or an object is missing or has nothing in it.
func none(text json.RawMessage) bool {
	text = bytes.TrimSpace(text)
	return len(text) == 0 || string(text) == "null" || len(text) >= 2 && len(bytes.TrimSpace(text[1:len(text)-1])) == 0
}

// follows judges whether a state may replace another one. The rules are those
// that OpenTofu has for "state push": within a lineage serials grow, and another
// lineage is another deployment, unless there is nothing to lose.
func (s state) follows(current state) error {
	switch {
	case s.lineage == current.lineage && s.serial > current.serial:
		return nil
	case s.lineage == current.lineage && s.serial == current.serial:
		return &conflictError{fmt.Sprintf("there is another state of serial %d already", s.serial)}
	case s.lineage == current.lineage:
		return &conflictError{fmt.Sprintf("its serial %d is older than %d, that of the state there is", s.serial, current.serial)}
	case current.empty:
		return nil
	}
	return &conflictError{fmt.Sprintf("its lineage %.40q is not %.40q, that of the state there is", s.lineage, current.lineage)}
}
