// Package env is the only reader of the environment: keys declared as fields of
// structs go in, typed values come out.
//
// A coordinates struct names its keys in tags:
//
//	type SSH struct {
//		Host    env.Host     `env:"SSH_HOST,required" desc:"name or address of the machine" scope:"machine"`
//		Port    env.Port     `env:"SSH_PORT,default=22" desc:"port of its ssh server" scope:"machine"`
//		Key     env.Secret   `env:"SSH_KEY" desc:"private key that opens the machine"`
//		Reboot  string       `env:"SSH_REBOOT,default=never" desc:"when to reboot" oneof:"never,if-needed,always"`
//		Timeout env.Duration `env:"SSH_CONNECT_TIMEOUT,default=30s" desc:"how long a connection may take"`
//	}
//
// [Declared] turns such structs into a list of [Key] and refuses declarations
// that can only be mistakes. [Environment.Load] fills them and reports every
// missing or malformed key at once.
//
// # Which variable counts
//
// A machine's form of a key is its name in upper case, hyphens as underscores,
// before the key: DB_1_SSH_HOST for db-1. A group's form is made alike:
// HOSTING_PROVIDER_SSH_JUMP. The machine's form wins over that of its group, and this
// over the plain one. A key of scope machine is one machine's own: where several
// machines run together, its plain form serves none of them, and a group's form
// serves the machine of a group that has no other. A key of scope run has its plain
// form alone. See [For].
//
// An empty variable is an unset one, everywhere: `WEB_SSH_PORT=` hides neither
// OPERATOR_SSH_PORT nor SSH_PORT, and does not satisfy a required key.
//
// # Secrets
//
// A field of type [Secret] is also read from a file: SSH_KEY_FILE names one that
// holds SSH_KEY, and only one of the two may be set. One line end at the end of
// the file is not part of the secret. Every secret that was read is known to the
// environment's [Redactor] from then on.
package env

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
)

// Environment is a snapshot of variables. Its values leave it only through
// declared keys: it has no method that looks one up, and prints as a count. The
// zero Environment is empty. It may be used by several goroutines.
type Environment struct {
	// A function, because fmt follows a pointer where the verb does not fit it.
	behind func() *snapshot
}

type snapshot struct {
	values   map[string]string
	group    Group // whose forms count
	files    *secretFiles
	redactor *Redactor
}

// Process returns the environment of this process.
func Process() Environment {
	values := make(map[string]string)
	for _, entry := range os.Environ() {
		if name, value, ok := strings.Cut(entry, "="); ok && name != "" {
			values[name] = value
		}
	}
	return Map(values)
}

// Map returns an environment that holds a copy of values.
func Map(values map[string]string) Environment {
	s := &snapshot{values: maps.Clone(values), files: &secretFiles{}, redactor: NewRedactor()}
	return Environment{func() *snapshot { return s }}
}

// Within returns e as the machines of a group see it: the group's forms of keys count
// wherever a [For] names no group. It shares e's redactor.
func (e Environment) Within(group Group) Environment {
	s := *e.snapshot()
	s.group = group
	return Environment{func() *snapshot { return &s }}
}

// within completes a scope by the group that e is seen by.
func (e Environment) within(scope For) For {
	if scope.Group.Name == "" {
		scope.Group = e.snapshot().group
	}
	return scope
}

// snapshot returns what e holds, an empty one for the zero Environment.
func (e Environment) snapshot() *snapshot {
	if e.behind == nil {
		return &snapshot{files: &secretFiles{}, redactor: NewRedactor()}
	}
	return e.behind()
}

// Redactor returns the redactor that knows every secret loaded from e, now and
// later.
func (e Environment) Redactor() *Redactor { return e.snapshot().redactor }

// Format prints how many variables e holds, whatever the verb.
func (e Environment) Format(state fmt.State, _ rune) {
	_, _ = fmt.Fprintf(state, "environment of %d variables", len(e.snapshot().values))
}

// value returns the variable name, or "" where it is unset or empty.
func (e Environment) value(name string) string { return e.snapshot().values[name] }

// has says whether the variable name is set, be it to nothing.
func (e Environment) has(name string) bool {
	_, ok := e.snapshot().values[name]
	return ok
}

// Names returns the sorted names of the variables that begin with prefix, so that
// a reader can be told which of them count for nothing. No value leaves e by it.
func (e Environment) Names(prefix string) []string {
	var names []string
	for name, value := range e.snapshot().values {
		if value != "" && strings.HasPrefix(name, prefix) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
