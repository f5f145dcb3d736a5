package state

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// Kind is what a backend holds.
type Kind string

// The kinds. Anything that is neither of the others is garbage, and never absent.
const (
	Absent  Kind = "absent"  // 404, 204, or 200 with nothing in it
	Garbage Kind = "garbage" // something that is no state
	Begun   Kind = "begun"   // a bootstrap that has not ended
	Empty   Kind = "empty"   // a state without any object
	Sound   Kind = "sound"   // a state that holds objects
)

// Judge says what body is; present is whether the backend said that it has one.
// The error, with Garbage alone, says why. An encrypted state counts as sound:
// whoever has its key looks closer.
func Judge(present bool, body []byte) (Kind, *State, error) {
	// Only nothing at all is none. A blank or a "null" is what something broke.
	if !present || len(body) == 0 {
		return Absent, nil, nil
	}
	s, err := Parse(body)
	if err != nil {
		return Garbage, nil, err
	}
	return s.Kind(), s, nil
}

// Digest is the SHA-256 of a state, however it is written: what is Equal has the same.
func Digest(raw []byte) string {
	var compact bytes.Buffer
	if json.Compact(&compact, raw) == nil {
		raw = compact.Bytes()
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}

// Equal tells whether two states are the same, however they are written.
func Equal(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	var one, other bytes.Buffer
	return json.Compact(&one, a) == nil && json.Compact(&other, b) == nil && bytes.Equal(one.Bytes(), other.Bytes())
}
