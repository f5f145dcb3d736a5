// Package task says what a program can be made of: a verb, the coordinates that
// it reads, and a run. Methods and effects make tasks; programs run them.
package task

import (
	"context"
	"io"
	"strings"

	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/report"
)

// Verb is one operation of a program.
type Verb struct {
	Name        string // lower-case words joined by hyphens: "state-list"
	Description string // what it does, as in "… of operator's web by ssh"
	// Arguments are keys that a command line may also give after the name of a
	// program, in this order; those that may be left out come last.
	Arguments []Argument
}

// Argument is a key that is also an argument of a verb.
type Argument struct {
	Key      string // as the verb's task declares it, and not secret
	Optional bool   // the key is not required
}

// Usage writes the verb with its arguments: "rollback [GENERATION]".
func (v Verb) Usage() string {
	words := []string{v.Name}
	for _, a := range v.Arguments {
		words = append(words, a.String())
	}
	return strings.Join(words, " ")
}

// String writes the argument as a usage line does.
func (a Argument) String() string {
	if a.Optional {
		return "[" + a.Key + "]"
	}
	return a.Key
}

// Apply is the verb that a program without one means.
const Apply = "apply"

// Task is one run of one program: first its coordinates are filled and checked,
// then it runs.
type Task interface {
	// Coordinates gives pointers to the structs whose fields are the keys that
	// the task reads, the same ones whenever it is asked. They are filled before
	// Run.
	Coordinates() []any
	// Run does it. What it returns decides the exit code (report.CodeOf).
	Run(ctx context.Context, run *Run) error
}

// Checker is a task that can tell, once its coordinates are filled, whether they
// can be used: what one key by itself does not show. It changes nothing and
// waits for nobody. A program runs only when all tasks of its run are content.
type Checker interface {
	Check(environment env.Environment) error
}

// Configured is a task that hands files to another program: what a person may
// want to read of it. It needs no coordinates for that.
type Configured interface {
	Configuration() (map[string][]byte, error)
}

// Run is what a task is given beside its coordinates.
type Run struct {
	Program     string
	Environment env.Environment // for the environment of child processes
	Log         *report.Log
	Out         io.Writer // results, and nothing else
	Record      *report.Record
}
