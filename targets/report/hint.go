package report

import (
	"fmt"
	"slices"
	"strings"
)

// Hint is what an error advises.
type Hint struct {
	Text     string
	Programs []string // whose errors advise it, where the error is of several
}

// mostNamed is how many programs a hint names.
const mostNamed = 5

// String is one line.
func (h Hint) String() string {
	names := h.Programs
	if len(names) == 0 {
		return h.Text
	}
	more := ""
	if n := len(names) - mostNamed; n > 0 {
		names, more = names[:mostNamed], fmt.Sprintf(" and %d more", n)
	}
	return fmt.Sprintf("%s (%s%s)", h.Text, strings.Join(names, ", "), more)
}

// Owned is an error of one program among those of several.
type Owned struct { //nolint:errname // it reads as what it is
	Program string
	Err     error
}

// Error is that of the program.
func (o *Owned) Error() string { return o.Err.Error() }

// Unwrap gives the cause.
func (o *Owned) Unwrap() error { return o.Err }

// Advice collects what an error advises, outermost first, each once, and who
// advises it. It walks joined errors too.
func Advice(err error) []Hint {
	var hints []Hint
	var walk func(error, string)
	walk = func(err error, owner string) {
		switch one := err.(type) { //nolint:errorlint // each link of the chain is looked at by itself
		case *Owned:
			owner = one.Program
		case *Fault:
			hints = advised(hints, one.Hint, owner)
		}
		switch inner := err.(type) { //nolint:errorlint // as above
		case interface{ Unwrap() error }:
			if next := inner.Unwrap(); next != nil {
				walk(next, owner)
			}
		case interface{ Unwrap() []error }:
			for _, next := range inner.Unwrap() {
				if next != nil {
					walk(next, owner)
				}
			}
		}
	}
	if err != nil {
		walk(err, "")
	}
	return hints
}

func advised(hints []Hint, text, owner string) []Hint {
	if text == "" {
		return hints
	}
	i := slices.IndexFunc(hints, func(h Hint) bool { return h.Text == text })
	if i < 0 {
		hints, i = append(hints, Hint{Text: text}), len(hints)
	}
	if owner != "" && !slices.Contains(hints[i].Programs, owner) {
		hints[i].Programs = append(hints[i].Programs, owner)
	}
	return hints
}

// Hints is the text alone of what an error advises.
func Hints(err error) []string {
	var texts []string
	for _, h := range Advice(err) {
		texts = append(texts, h.Text)
	}
	return texts
}
