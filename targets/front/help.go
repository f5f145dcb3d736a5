package front

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"fediversity.eu/slipway/targets/contract"
	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/program"
	"fediversity.eu/slipway/targets/report"
	"fediversity.eu/slipway/targets/task"
)

const exitCodes = `Exit codes: 0 healthy or done, 1 failed, 2 unknown program or bad coordinates,
3 deployed but unhealthy, 4 refused and nothing changed, 5 unknown, 6 reboot
needed, or changes that a plan found, 75 busy, 130 and 143 interrupted.
`

// overview says what the binary takes.
func (f Front) overview() string {
	var b strings.Builder
	b.WriteString("slipway puts NixOS machines into service and ends in a verdict.\n\n")
	line := func(usage, description string) {
		if len(usage) > overviewColumn {
			usage += "\n  " + strings.Repeat(" ", overviewColumn)
		}
		fmt.Fprintf(&b, "  %-*s %s\n", overviewColumn, usage, description)
	}
	for _, c := range commands() {
		if c.description == "" {
			continue
		}
		line("slipway "+strings.TrimSpace(c.name+" "+c.usage), c.description)
	}
	line("slipway NAME…", "as run; the arguments of a verb follow the name")
	b.WriteString("\nA link to this binary that has the name of a program is that program; apps makes them all.\n\n" + exitCodes)
	if len(f.Tasks) > 0 {
		b.WriteString("\nBeside the programs:\n")
	}
	for _, t := range f.Tasks {
		fmt.Fprintf(&b, "  %-24s %s\n", t.Name, t.Description)
	}
	return b.String()
}

// overviewColumn is how wide the first column is.
const overviewColumn = 24

// help explains programs, tasks, commands and keys, or what there is.
func (f Front) help(to io.Writer, names []string) report.Code {
	if len(names) == 0 {
		return answer(to, []byte(f.overview()))
	}
	registry, err := f.Registry()
	if err == nil {
		var calls []program.Call
		for _, name := range names {
			if _, ok := commandOf(name); !ok && !f.isTask(name) && !isKey(name) {
				calls = append(calls, program.Call{Name: name})
			}
		}
		err = registry.Resolve(calls...)
	}
	if err != nil {
		explain(plainly(), err)
		return report.CodeOf(err)
	}
	ctx, environment := context.Background(), env.Process()
	var text bytes.Buffer
	for i, name := range names {
		if i > 0 {
			_, _ = fmt.Fprintln(&text)
		}
		t, isTask := f.task(name)
		p, isProgram := registry.Find(name)
		c, isCommand := commandOf(name)
		switch {
		case isTask:
			err = helpTask(ctx, &text, environment, t)
		case isProgram:
			err = helpProgram(ctx, &text, environment, registry, p)
		case isCommand:
			err = c.write(&text, "slipway")
		default:
			err = f.helpKey(&text, name)
		}
		if err != nil {
			explain(plainly(), err)
			return report.CodeOf(err)
		}
	}
	return answer(to, text.Bytes())
}

// isKey tells whether a word can only be the name of a key.
func isKey(word string) bool {
	return word == strings.ToUpper(word) && !strings.ContainsAny(word, ":-")
}

// helpKey explains a key by itself, and says who reads it.
func (f Front) helpKey(to io.Writer, name string) error {
	keys, err := f.variables()
	if err != nil {
		return err
	}
	i := slices.IndexFunc(keys, func(k contract.Key) bool { return slices.Contains(k.Variables(), name) })
	if i < 0 {
		return &report.Fault{
			Code: report.Usage, What: "look up the variable", Why: fmt.Errorf("nothing reads %s", name),
			Hint: "slipway man shows every variable; before one may stand the name of a machine or of a group",
		}
	}
	key := keys[i]
	var b strings.Builder
	writeKeys(&b, []env.Shown{{Key: key.Key, Variable: key.Name}}, false)
	_, _ = fmt.Fprintf(to, "%s\nread by %s\n", strings.TrimPrefix(b.String(), "\n"), strings.Join(key.Readers, ", "))
	return nil
}

func helpTask(ctx context.Context, to io.Writer, environment env.Environment, t Task) error {
	keys, err := environment.Show(ctx, env.For{}, t.Keys...)
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintf(to, "%s (mage %s)\n%s\n", t.Name, t.Target(), t.Description)
	writeKeys(to, keys, false)
	return nil
}

// helpProgram explains a program as the environment is.
func helpProgram(ctx context.Context, to io.Writer, environment env.Environment, r *program.Registry, p program.Program) error {
	keys, err := r.Show(ctx, environment, p)
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintf(to, "%s (mage %s)\n%s\n", r.Usage(p), p.Target, p.Description)
	if verbs := verbsOf(r, p); len(verbs) > 0 {
		_, _ = fmt.Fprintf(to, "verbs: %s\n", strings.Join(verbs, ", "))
	}
	if owners := groupsOf(r, p); len(owners) > 1 {
		_, _ = fmt.Fprintf(to, "\nBefore a variable may stand the name of the machine or of the group that it is for%s.\n"+
			"The machine's wins over the group's, and this over the plain one; those of the run itself have that alone.\n", example(keys, owners))
	}
	writeKeys(to, keys, p.Aggregate())
	if missing := lacking(keys); len(missing) > 0 {
		_, _ = fmt.Fprintf(to, "\nmissing or malformed: %s\n", strings.Join(missing, ", "))
	}
	return nil
}

// groupsOf lists the groups of what a program runs.
func groupsOf(r *program.Registry, p program.Program) []string {
	var names []string
	for _, m := range r.Members(p) {
		if !slices.Contains(names, m.Group) {
			names = append(names, m.Group)
		}
	}
	return names
}

// example writes the groups' forms of a key that is required, where there is one.
func example(keys []env.Shown, owners []string) string {
	i := slices.IndexFunc(keys, func(s env.Shown) bool { return s.Key.Scope == env.ScopeAll && s.Key.Required })
	if i < 0 {
		return ""
	}
	list := make([]string, 0, len(owners))
	for _, owner := range owners {
		list = append(list, keys[i].Key.Scoped(owner))
	}
	return ",\nas " + strings.Join(list, ", ")
}

// verbsOf lists what can be done in a program's place, with the arguments.
func verbsOf(r *program.Registry, p program.Program) []string {
	var verbs []string
	for _, sibling := range r.Siblings(p) {
		verbs = append(verbs, task.Verb{Name: sibling.Verb, Arguments: r.Arguments(sibling)}.Usage())
	}
	return verbs
}

// List prints every program.
func List(f Front) error {
	if code := f.list(os.Stdout, nil); code != report.Healthy {
		return &report.Exit{Code: code, Err: errors.New("no list")}
	}
	return nil
}

// list prints the programs whose names hold every one of words.
func (f Front) list(to io.Writer, words []string) report.Code {
	registry, err := f.Registry()
	if err != nil {
		explain(plainly(), err)
		return report.Failed
	}
	var b strings.Builder
programs:
	for _, p := range registry.Programs() {
		for _, word := range words {
			if !strings.Contains(p.Name, word) {
				continue programs
			}
		}
		fmt.Fprintf(&b, "%-40s %s\n", registry.Usage(p), p.Description)
	}
	if b.Len() == 0 && len(words) > 0 {
		explain(plainly(), &report.Fault{
			Code: report.Usage, What: "list programs", Why: fmt.Errorf("no program's name holds %s", strings.Join(words, " and ")),
			Hint: "slipway list shows every program",
		})
		return report.Usage
	}
	return answer(to, []byte(b.String()))
}
