package env

import (
	"regexp"
	"strings"
)

// Key is one declared variable. Keys are comparable; two keys that are equal
// mean the same.
type Key struct {
	// Name is the plain form: words of A-Z0-9 that start with a letter, joined
	// by single underscores.
	Name string `json:"name"`
	// Description says in one line what the key is for.
	Description string `json:"description"`
	// Default stands in for a variable that is unset; empty means none.
	Default string `json:"default"`
	// Required keys must be set to something.
	Required bool `json:"required"`
	// Secret keys are redacted everywhere, and may be given as a file.
	Secret bool `json:"secret"`
	// Scope says whose key it is.
	Scope Scope `json:"scope"`
	// Type says in words what is valid, such as "port number from 1 to 65535".
	Type string `json:"type"`
}

// Scope says whose a key is.
type Scope string

const (
	// ScopeAll is the scope of a key that serves every machine of a run; a
	// machine's form of it wins for that machine, and else its group's.
	ScopeAll Scope = "all"
	// ScopeMachine is the scope of a key that is one machine's own. Its plain
	// form counts only in a run of that machine alone, and its group's form only
	// where the group has no other machine.
	ScopeMachine Scope = "machine"
	// ScopeRun is the scope of a key that belongs to the run, whoever is in it: no
	// machine and no group has a form of it.
	ScopeRun Scope = "run"
)

// fileSuffix ends the name of the variable that gives a secret as a file.
const fileSuffix = "_FILE"

var nameGrammar = regexp.MustCompile(`^[A-Z][A-Z0-9]*(_[A-Z0-9]+)*$`)

// Scoped returns the form of k's name of a machine or of a group: DB_1_SSH_HOST for
// db-1.
func (k Key) Scoped(owner string) string {
	return prefix(owner) + "_" + k.Name
}

// Variables returns the plain names under which k is read: its own and, for a
// secret, the one that names a file.
func (k Key) Variables() []string {
	if k.Secret {
		return []string{k.Name, k.Name + fileSuffix}
	}
	return []string{k.Name}
}

// prefix is what stands before the underscore in a machine's or a group's form of a
// key.
func prefix(owner string) string {
	return strings.ToUpper(strings.ReplaceAll(owner, "-", "_"))
}
