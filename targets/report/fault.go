package report

import (
	"errors"
	"strings"
)

// Fault is an error that a person is to read: what was being done, where, why
// it went wrong, and what to do about it. Code is the exit code it leads to.
type Fault struct { //nolint:errname // it reads as what it is
	Code  Code
	What  string // verb and object: "copy the closure"
	Where string // machine, unit, file and line, when What does not say it
	Why   error
	Hint  string // what to do; a sentence without a full stop
	Words string // the outcome, where the words of the code say something else
}

// Error is one line: what, where and why. The hint is not part of it.
func (f *Fault) Error() string {
	parts := []string{f.What}
	if f.Where != "" {
		parts[0] += " (" + f.Where + ")"
	}
	if f.Why != nil {
		parts = append(parts, f.Why.Error())
	}
	return strings.Join(parts, ": ")
}

// Unwrap gives the cause.
func (f *Fault) Unwrap() error { return f.Why }

// Fail is a fault that leads to exit code 1.
func Fail(what string, why error, hint string) *Fault {
	return &Fault{Code: Failed, What: what, Why: why, Hint: hint}
}

// Refuse is a fault that leads to exit code 4: nothing was changed.
func Refuse(what string, why error, hint string) *Fault {
	return &Fault{Code: Refused, What: what, Why: why, Hint: hint}
}

// Words is an outcome in a word or two: that of the exit code, unless the fault
// knows it better.
func Words(err error) string {
	if fault, ok := errors.AsType[*Fault](err); ok && fault.Words != "" && fault.Code == CodeOf(err) {
		return fault.Words
	}
	return CodeOf(err).String()
}
