package front

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/program"
	"fediversity.eu/slipway/targets/report"
	"fediversity.eu/slipway/targets/task"
)

// In a shell, tofu is this: commands of OpenTofu that only tell are the verbs that
// do the same, behind the same guards. Any other would go round them, and is
// refused with what to do instead. OpenTofu itself never sees the state backend.

// tofuCommand is a command of OpenTofu that has a verb.
type tofuCommand struct {
	words string // "state list"
	verb  string
	tells bool // changes nothing
	quiet []string
}

// tofuCommands lists them. The options in quiet ask for what the verb does anyway.
func tofuCommands() []tofuCommand {
	return []tofuCommand{
		{"plan", "plan", true, nil},
		{"validate", "validate", true, nil},
		{"output", "output", true, []string{"-json"}},
		{"show", "show", true, []string{"-json"}},
		{"state list", "state-list", true, nil},
		{"state show", "state-show", true, nil},
		{"apply", "apply", false, nil},
		{"destroy", "destroy", false, nil},
		{"refresh", "refresh", false, nil},
		{"import", "import", false, nil},
		{"force-unlock", "force-unlock", false, nil},
	}
}

// tofuReads lists the commands that are let through.
func tofuReads() []string {
	var words []string
	for _, c := range tofuCommands() {
		if c.tells {
			words = append(words, c.words)
		}
	}
	return words
}

// byTofu tells whether programs are those of a method that keeps a state by
// OpenTofu.
func byTofu(siblings []program.Program) bool {
	return slices.ContainsFunc(siblings, func(p program.Program) bool { return p.Verb == "state-list" && !p.Aggregate() })
}

// tofu does what a command of OpenTofu means for a deployment.
func (f Front) tofu(words []string) report.Code {
	if len(words) == 0 {
		return usage(errors.New("tofu: of which deployment? name one program, as operator-tf-web"))
	}
	call, err := f.tofuCall(os.Stderr, words[0], words[1:])
	if err != nil {
		explain(plainly(), err)
		return report.CodeOf(err)
	}
	if call.Name == "" {
		return report.Healthy
	}
	return f.call(context.Background(), env.Process(), func(*program.Registry) []program.Call { return []program.Call{call} })
}

// tofuCall is the call that a command means; none where there is nothing to do.
func (f Front) tofuCall(to io.Writer, name string, words []string) (program.Call, error) {
	registry, err := f.Registry()
	if err != nil {
		return program.Call{}, err
	}
	if err := registry.Resolve(program.Call{Name: name}); err != nil {
		return program.Call{}, err
	}
	p, _ := registry.Find(name)
	siblings := registry.Siblings(p)
	if !byTofu(siblings) {
		return program.Call{}, &report.Fault{Code: report.Usage, What: "use OpenTofu", Why: fmt.Errorf("%s keeps no state by it", name), Hint: "name a deployment of a machine by tf, as operator-tf-web"}
	}
	verbs := "here are " + strings.Join(verbsOf(registry, p), ", ")
	refuse := func(format string, args ...any) (program.Call, error) {
		return program.Call{}, report.Refuse("use OpenTofu", fmt.Errorf(format, args...), verbs)
	}
	if len(words) == 0 || wantsHelp(words) || words[0] == "-help" {
		_, _ = fmt.Fprintf(to, "tofu in the place of %s: %s\nEverything else is done by its verbs: %s\n",
			name, strings.Join(tofuReads(), ", "), strings.Join(verbsOf(registry, p), ", "))
		return program.Call{}, nil
	}
	if words[0] == "init" {
		_, _ = fmt.Fprintln(to, "nothing to do: every verb prepares a folder of its own")
		return program.Call{}, nil
	}
	said := strings.Join(words, " ")
	for _, c := range tofuCommands() {
		ok := strings.HasPrefix(said+" ", c.words+" ")
		at := slices.IndexFunc(siblings, func(s program.Program) bool { return s.Verb == c.verb })
		if !ok || at < 0 {
			continue
		}
		sibling := siblings[at]
		if !c.tells {
			return refuse("tofu %s would go round the lock and the look at the state; without the word tofu before it, this does it: %s",
				c.words, task.Verb{Name: c.verb, Arguments: registry.Arguments(sibling)}.Usage())
		}
		given := words[len(strings.Fields(c.words)):]
		given = slices.DeleteFunc(slices.Clone(given), func(word string) bool { return word == "-no-color" || slices.Contains(c.quiet, word) })
		if i := slices.IndexFunc(given, func(word string) bool { return strings.HasPrefix(word, "-") }); i >= 0 {
			return refuse("tofu %s takes no %s here: what it reads are variables", c.words, given[i])
		}
		if len(given) > len(registry.Arguments(sibling)) {
			return refuse("tofu %s takes no %s here", c.words, strings.Join(given[len(registry.Arguments(sibling)):], " "))
		}
		return program.Call{Name: sibling.Name, Arguments: given}, nil
	}
	return refuse("tofu %s is none of the commands that only tell: %s", strings.Join(words[:min(2, len(words))], " "), strings.Join(tofuReads(), ", "))
}
