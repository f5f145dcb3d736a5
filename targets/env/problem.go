package env

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Problem is one key that is missing or malformed. Problems are comparable.
type Problem struct {
	Name        string `json:"name"`         // the key as declared
	Variable    string `json:"variable"`     // the variable to set or to mend, such as WEB_SSH_HOST
	Or          string `json:"or,omitempty"` // others that would do, each for one group of the run
	What        string `json:"what"`         // what is wrong; never the text of a secret
	Valid       string `json:"valid"`        // what would be right
	Description string `json:"description"`  // what the key is for
}

// Problems is the error of a load: everything that the caller has to mend.
type Problems struct{ List []Problem } //nolint:errname // The list is the error; it reads as what it is.

// Error returns several lines for a person: how many problems, then for each one
// the variable, what is wrong, what is valid and what it means.
func (p *Problems) Error() string {
	var text strings.Builder
	noun := "environment keys are"
	if len(p.List) == 1 {
		noun = "environment key is"
	}
	fmt.Fprintf(&text, "%d %s missing or malformed:", len(p.List), noun)
	for _, one := range p.List {
		fmt.Fprintf(&text, "\n  %s: %s", one.Variable, one.What)
		if one.Or != "" {
			fmt.Fprintf(&text, "\n      or, for one group: %s", one.Or)
		}
		fmt.Fprintf(&text, "\n      valid: %s", one.Valid)
		fmt.Fprintf(&text, "\n      meaning: %s", one.Description)
	}
	return text.String()
}

// Join merges the errors of several loads, such as those of an aggregate's
// members: their problems become one *Problems in the order given, equal ones
// once. Other errors are joined behind it. It returns nil where there is none.
func Join(errs ...error) error {
	var found []*Problem
	var others []error
	for _, err := range errs {
		var p *Problems
		switch {
		case errors.As(err, &p):
			for i := range p.List {
				found = append(found, &p.List[i])
			}
		case err != nil:
			others = append(others, err)
		}
	}
	merged := problems(found)
	if len(others) == 0 {
		return merged
	}
	return errors.Join(append([]error{merged}, others...)...)
}

// problems makes an error of found, without the nils and with equal ones once: what
// would do for several groups is told together.
func problems(found []*Problem) error {
	seen := make(map[Problem]int)
	var list []Problem
	for _, one := range found {
		if one == nil {
			continue
		}
		alike := *one
		alike.Or = ""
		at, ok := seen[alike]
		if !ok {
			seen[alike] = len(list)
			list = append(list, *one)
			continue
		}
		for or := range strings.SplitSeq(one.Or, orComma) {
			if had := strings.Split(list[at].Or, orComma); or != "" && !slices.Contains(had, or) {
				list[at].Or = strings.TrimPrefix(list[at].Or+orComma+or, orComma)
			}
		}
	}
	if len(list) == 0 {
		return nil
	}
	return &Problems{List: list}
}

// orComma is what stands between the variables of Problem.Or.
const orComma = ", "

// problem is what is wrong with k in variable.
func (k Key) problem(variable, what string) *Problem {
	valid := k.Type
	if k.Secret {
		valid += ", or in " + strings.TrimSuffix(variable, fileSuffix) + fileSuffix + " the path of a file that holds it"
	}
	return &Problem{Name: k.Name, Variable: variable, What: what, Valid: valid, Description: k.Description}
}

// shown is how much of a value an error repeats, in characters.
const shown = 60

// credentials are what stands before the host in an address.
var credentials = regexp.MustCompile(`//[^/\s]*@`)

// quote repeats value in an error: one line, shortened, and without secrets.
func quote(value string, redactor *Redactor) string {
	value = credentials.ReplaceAllString(redactor.String(value), "//"+redacted+"@")
	count := utf8.RuneCountInString(value)
	if count <= shown {
		return strconv.Quote(value)
	}
	return fmt.Sprintf("%s… (%d characters)", strconv.Quote(string([]rune(value)[:shown])), count)
}
