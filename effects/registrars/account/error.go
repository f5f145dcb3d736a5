package account

import (
	"fmt"
	"strings"
)

// Class is what a failure means for whoever called.
type Class int

// The classes of failures.
const (
	Unavailable Class = iota // no answer, or one that says to try later: what came of the call is not known
	Malformed                // an answer that can't be understood
	Denied                   // the credentials do not open the account, or not this call
	Missing                  // the account does not have the domain
	Invalid                  // the registrar does not take what it was given
)

// String says the class in words.
func (c Class) String() string {
	return [...]string{"not available", "not understood", "denied", "not there", "not taken"}[c]
}

// Error is a call that failed.
type Error struct {
	Registrar string
	Call      string // "PUT /v5/domain/domains/example.org/nameservers"
	Class     Class
	Status    int    // of HTTP; 0 where there was no answer
	Message   string // the registrar's own words
	Err       error

	idle bool // the registrar says that it did nothing: a change may be tried again
}

// Error says who, what call, the class and the registrar's words.
func (e *Error) Error() string {
	parts := []string{fmt.Sprintf("%s: %s: %s", e.Registrar, e.Call, e.Class)}
	if e.Status != 0 {
		parts[0] += fmt.Sprintf(" (HTTP %d)", e.Status)
	}
	if e.Message != "" {
		parts = append(parts, shorten(e.Message))
	}
	if e.Err != nil {
		parts = append(parts, e.Err.Error())
	}
	return strings.Join(parts, ": ")
}

// Unwrap gives the cause, where there is one beside the answer.
func (e *Error) Unwrap() error { return e.Err }

// longest is how much of a registrar's words is repeated, in bytes.
const longest = 300

// shorten makes one short line of what somebody else wrote.
func shorten(text string) string {
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "?")), " ")
	if len(text) > longest {
		text = strings.ToValidUTF8(text[:longest], "") + "…"
	}
	return text
}
