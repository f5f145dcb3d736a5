package program

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"fediversity.eu/slipway/effects"
	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/report"
	"fediversity.eu/slipway/targets/task"
)

// Call is one program as a command line asks for it: its name, and the values
// of the arguments that its verb has.
type Call struct {
	Name      string
	Arguments []string
}

// String writes the call as it was made.
func (c Call) String() string { return strings.Join(append([]string{c.Name}, c.Arguments...), " ") }

// Calls reads the words of a command line. A word that names a program begins a
// call, and so does one that other knows; what follows a program whose verb has
// arguments is one of them; any other word is the name of an unknown program.
func (r *Registry) Calls(words []string, other func(word string) bool) []Call {
	var calls []Call
	takes := 0 // how many arguments may follow
	for _, word := range words {
		p, known := r.Find(word)
		switch {
		case other(word):
			calls, takes = append(calls, Call{Name: word}), 0
		case known:
			calls, takes = append(calls, Call{Name: word}), len(r.Arguments(p))
		case takes > 0 && (len(calls[len(calls)-1].Arguments) < takes || len(r.Close(word)) == 0):
			last := &calls[len(calls)-1]
			last.Arguments = append(last.Arguments, word)
		default:
			calls = append(calls, Call{Name: word})
		}
	}
	return calls
}

// Arguments lists the arguments of a program. An aggregate has none: what they
// mean differs from machine to machine.
func (r *Registry) Arguments(p Program) []task.Argument {
	if p.Kind == Standalone {
		return argumentsOf(r.effectVerbs(p), p.Verb)
	}
	if p.Kind != Deployment {
		return nil
	}
	machine, _ := machineOf(r.groupOf(p.Group), p.Machine)
	return argumentsOf(r.methods[p.Method].Verbs(machine.Placement), p.Verb)
}

func (r *Registry) effectVerbs(p Program) []task.Verb {
	i := slices.IndexFunc(r.effects, func(e effects.Effect) bool { return e.Name() == p.Effect })
	return r.effects[i].Verbs(r.groupOf(p.Group))
}

func argumentsOf(verbs []task.Verb, name string) []task.Argument {
	i := slices.IndexFunc(verbs, func(v task.Verb) bool { return v.Name == name })
	if i < 0 {
		return nil
	}
	return verbs[i].Arguments
}

// Usage writes a program's name with its arguments.
func (r *Registry) Usage(p Program) string {
	return task.Verb{Name: p.Name, Arguments: r.Arguments(p)}.Usage()
}

// called is a program with the values of its arguments.
type called struct {
	program   Program
	arguments []string
}

// Resolve says of every unknown name which are close, and of every program what
// is wrong with its arguments; nil when there is nothing to say.
func (r *Registry) Resolve(calls ...Call) error {
	_, err := r.resolve(calls)
	return err
}

func (r *Registry) resolve(calls []Call) ([]called, error) {
	found := make([]called, 0, len(calls))
	var unknown, misused []error
	var words []string // of unknown names
	for _, call := range calls {
		p, ok := r.Find(call.Name)
		if !ok {
			unknown, words = append(unknown, r.unknown(call.Name)), append(words, call.Name)
			continue
		}
		if err := r.checkArguments(p, call); err != nil {
			misused = append(misused, err)
		}
		found = append(found, called{p, call.Arguments})
	}
	if err := errors.Join(append(unknown, misused...)...); err != nil {
		fault := &report.Fault{
			Code: report.Usage, What: "look up the programs", Why: err, Hint: "slipway list shows every program",
		}
		if near := r.holding(strings.Split(strings.Join(words, "-"), "-")); len(words) > 1 && len(near) > 0 {
			fault.Hint = "a program's name is one word, such as " + strings.Join(near, ", ")
		}
		if len(unknown) == 0 {
			fault.What, fault.Hint = "read the command line", "slipway help NAME shows what a program reads"
		}
		return nil, fault
	}
	return found, nil
}

func (r *Registry) checkArguments(p Program, call Call) error {
	takes := r.Arguments(p)
	var what string
	switch {
	case len(call.Arguments) == 0:
		return nil
	case len(takes) == 0:
		return fmt.Errorf("%s takes no arguments; its coordinates are environment variables", call.Name)
	case len(call.Arguments) > len(takes):
		what = fmt.Sprintf("%q is one argument too many", call.Arguments[len(takes)])
	default:
		i := slices.IndexFunc(call.Arguments, func(word string) bool { return word == "" || strings.HasPrefix(word, "-") })
		if i < 0 {
			return nil
		}
		what = fmt.Sprintf("%q is no value of %s", call.Arguments[i], takes[i].Key)
	}
	return fmt.Errorf("%s; usage: slipway %s", what, r.Usage(p))
}

// give sets the keys that the arguments of a program mean.
func (n *node) give(environment env.Environment, scope env.For) (env.Environment, error) {
	if len(n.arguments) == 0 {
		return environment, nil
	}
	keys, err := env.Declared(n.task.Coordinates()...)
	if err != nil {
		return environment, err
	}
	var problems []error
	for i, argument := range n.session.registry.Arguments(n.program)[:len(n.arguments)] {
		at := slices.IndexFunc(keys, func(k env.Key) bool { return k.Name == argument.Key })
		if at < 0 {
			return environment, fmt.Errorf("argument %s: no such key is declared", argument.Key)
		}
		if environment, err = environment.Give(scope, keys[at], n.arguments[i]); err != nil {
			problems = append(problems, err)
		}
	}
	return environment, env.Join(problems...)
}

// checkVerbArguments finds arguments that no command line could give.
func (r *Registry) checkVerbArguments(p Program, declared []env.Key) error {
	var faults []error
	optional := false
	for _, a := range r.Arguments(p) {
		i := slices.IndexFunc(declared, func(k env.Key) bool { return k.Name == a.Key })
		switch {
		case i < 0:
			faults = append(faults, fmt.Errorf("%s: argument %s is no key that it reads", p.Name, a.Key))
		case declared[i].Secret:
			faults = append(faults, fmt.Errorf("%s: argument %s is secret, and command lines are public", p.Name, a.Key))
		case declared[i].Required == a.Optional:
			faults = append(faults, fmt.Errorf("%s: argument %s is optional, or else its key is required", p.Name, a.Key))
		case optional && !a.Optional:
			faults = append(faults, fmt.Errorf("%s: argument %s must come before those that may be left out", p.Name, a.Key))
		}
		optional = optional || a.Optional
	}
	return errors.Join(faults...)
}
