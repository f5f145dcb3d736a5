package program

import (
	"fmt"
	"regexp"
	"strings"

	"fediversity.eu/slipway/targets/task"
)

// word is the grammar of the name of a group, a method, a machine or a verb.
var word = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)

// wordInWords says the grammar to a person.
const wordInWords = "lower-case letters and digits in words joined by single hyphens, a letter first"

// reserved are the words that stand for sets of machines.
var reserved = []string{string(All), string(Combined)}

// ownSpaces are the namespaces of a magefile that are not groups.
var ownSpaces = []string{"checks", "contract", "module", "pipeline", "programs"}

func checkWord(what, name string) error {
	if word.MatchString(name) {
		return nil
	}
	return fmt.Errorf("%s: not a name; valid are %s", what, wordInWords)
}

func join(parts []string) string { return strings.Join(parts, "-") }

// Target gives the Mage target of a program of a group: the group is the
// namespace, the rest is camel case.
func Target(group, name string) string {
	rest := strings.TrimPrefix(name, group+"-")
	return lowerFirst(Camel(group)) + ":" + lowerFirst(Camel(rest))
}

// Camel writes a name of words joined by hyphens as an exported Go name:
// "state-list" is "StateList".
func Camel(name string) string {
	var b strings.Builder
	for part := range strings.SplitSeq(name, "-") {
		if part != "" {
			b.WriteString(strings.ToUpper(part[:1]) + part[1:])
		}
	}
	return b.String()
}

func lowerFirst(s string) string {
	if s == "" {
		return s
	}
	return strings.ToLower(s[:1]) + s[1:]
}

// described writes the line that listings show.
func described(verb task.Verb, where string) string {
	return verb.Description + " " + where
}
