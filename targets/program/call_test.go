package program

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"fediversity.eu/slipway/groups"
	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/report"
	"fediversity.eu/slipway/targets/task"
)

// argumentKeys are keys that are arguments too.
type argumentKeys struct {
	Generation env.Count `env:"GENERATION,default=1" desc:"generation to go back to"`
}

type importKeys struct {
	Address string     `env:"ADDRESS,required" desc:"address of the resource" scope:"machine"`
	ID      string     `env:"ID,required" desc:"what the resource is called where it is" scope:"machine"`
	Token   env.Secret `env:"IMPORT_TOKEN" desc:"what opens it"`
}

// withArguments is a world whose verbs have arguments, and whose tasks write
// what they were given.
func withArguments(t *testing.T) *world {
	w := newWorld(t, machine("web"), machine("mail"))
	w.ssh.verbs = func(groups.Placement) []task.Verb {
		return []task.Verb{
			{Name: task.Apply, Description: "applies"},
			{Name: "rollback", Description: "rolls back", Arguments: []task.Argument{{Key: "GENERATION", Optional: true}}},
			{Name: "import", Description: "imports", Arguments: []task.Argument{{Key: "ADDRESS"}, {Key: "ID"}}},
		}
	}
	w.ssh.forVerb = func(verb string) []any {
		switch verb {
		case "rollback":
			return []any{&argumentKeys{}}
		case "import":
			return []any{&importKeys{}}
		}
		return nil
	}
	w.ssh.do = func(_ context.Context, task *work, run *task.Run) error {
		text := task.verb
		switch task.verb {
		case "rollback":
			text = fmt.Sprintf("rollback to %d", task.keys[0].(*argumentKeys).Generation)
		case "import":
			keys := task.keys[0].(*importKeys)
			text = fmt.Sprintf("import %s as %s", keys.ID, keys.Address)
		}
		_, err := fmt.Fprintf(run.Out, "%s: %s\n", task.machine, text)
		return err
	}
	return w
}

func TestCallsOfACommandLine(t *testing.T) {
	w := withArguments(t)
	name := func(words string) string { return strings.ReplaceAll(words, "G-", w.group+"-") }
	for _, c := range []struct{ name, words, want string }{
		{"no words", "", ""},
		{"programs", "G-ssh-web G-ssh-mail-apply", "G-ssh-web|G-ssh-mail-apply"},
		{"an argument", "G-ssh-web-rollback 12", "G-ssh-web-rollback 12"},
		{"a program instead of an argument", "G-ssh-web-rollback G-ssh-mail", "G-ssh-web-rollback|G-ssh-mail"},
		{"a task instead of an argument", "G-ssh-web-rollback setup", "G-ssh-web-rollback|setup"},
		{"a program after an argument", "G-ssh-web-rollback 12 G-ssh-mail", "G-ssh-web-rollback 12|G-ssh-mail"},
		{"two arguments", "G-ssh-web-import a.b[0] 7 G-ssh-mail", "G-ssh-web-import a.b[0] 7|G-ssh-mail"},
		{"one argument too many", "G-ssh-web-rollback 12 13", "G-ssh-web-rollback 12 13"},
		{"a program that is misspelt after the arguments", "G-ssh-web-rollback 12 G-ssh-mial", "G-ssh-web-rollback 12|G-ssh-mial"},
		{"no argument of a verb without", "G-ssh-web 12", "G-ssh-web|12"},
		{"no argument of an aggregate", "G-all-rollback 12", "G-all-rollback|12"},
		{"no argument of a task", "setup 12", "setup|12"},
		{"an unknown word", "12 G-ssh-web", "12|G-ssh-web"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, call := range w.registry.Calls(strings.Fields(name(c.words)), func(word string) bool { return word == "setup" }) {
				got = append(got, call.String())
			}
			assert.Equal(t, strings.Join(got, "|"), name(c.want))
		})
	}
}

func TestArguments(t *testing.T) {
	for _, c := range []struct {
		name  string
		set   map[string]string
		words string
		out   string
		err   []string
	}{
		{"left out", nil, "ssh-web-rollback", "web: rollback to 1\n", nil},
		{"given", nil, "ssh-web-rollback 12", "web: rollback to 12\n", nil},
		{"by the short form of a target", nil, "ssh-web-import a 7", "web: import 7 as a\n", nil},
		{"given and set alike", map[string]string{"GENERATION": "12"}, "ssh-web-rollback 12", "web: rollback to 12\n", nil},
		{"set", map[string]string{"GENERATION": "12"}, "ssh-web-rollback", "web: rollback to 12\n", nil},
		{"one given, one set", map[string]string{"ID": "7"}, "ssh-web-import a", "web: import 7 as a\n", nil},
		{"for that program alone", map[string]string{"MAIL_GENERATION": "7"}, "ssh-web-rollback 12 ssh-mail-rollback", "web: rollback to 12\nmail: rollback to 7\n", nil},
		{"each its own", nil, "ssh-web-rollback 12 ssh-mail-rollback 13", "web: rollback to 12\nmail: rollback to 13\n", nil},
		{"given and set differently", map[string]string{"GENERATION": "7"}, "ssh-web-rollback 12", "", []string{`GENERATION: "7", and "12" as an argument`}},
		{"given and set differently for the machine", map[string]string{"WEB_GENERATION": "7"}, "ssh-web-rollback 12", "", []string{`WEB_GENERATION: "7", and "12" as an argument`}},
		{"malformed", nil, "ssh-web-rollback zero", "", []string{`GENERATION: "zero"`, "valid: whole number from 1"}},
		{"too many", nil, "ssh-web-rollback 12 13", "", []string{`"13" is one argument too many; usage: slipway G-ssh-web-rollback [GENERATION]`}},
		{"too few", nil, "ssh-web-import a", "", []string{"ID: missing", "usage: slipway G-ssh-web-import ADDRESS ID"}},
		{"none of two", nil, "ssh-web-import", "", []string{"ADDRESS: missing", "ID: missing"}},
		{"a flag", nil, "ssh-web-rollback --fast", "", []string{`"--fast" is no value of GENERATION; usage`}},
		{"to a verb without", nil, "ssh-web 12", "", []string{`unknown program "12"`}},
		{"one program with two", nil, "ssh-web-rollback 12 ssh-web-rollback 13", "", []string{"two sets of arguments"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := withArguments(t)
			words := strings.Fields(c.words)
			for i, word := range words {
				if strings.HasPrefix(word, "ssh-") {
					words[i] = w.name(word)
				}
			}
			got := w.runCalls(t.Context(), c.set, w.registry.Calls(words, func(string) bool { return false })...)
			assert.Equal(t, got.out, c.out)
			if c.err == nil {
				assert.NilError(t, got.err)
				return
			}
			assert.Equal(t, report.CodeOf(got.err), report.Usage)
			text := got.err.Error() + strings.Join(report.Hints(got.err), "\n")
			for _, want := range c.err {
				assert.Assert(t, cmp.Contains(text, strings.ReplaceAll(want, "G-", w.group+"-")))
			}
			assert.Assert(t, cmp.Len(w.ssh.seen(), 0), "nothing was started")
		})
	}
}

func TestALinkOfAProgramWithoutArguments(t *testing.T) {
	w := withArguments(t)
	err := w.registry.Resolve(Call{Name: w.name("ssh-web"), Arguments: []string{"12"}})
	assert.ErrorContains(t, err, w.name("ssh-web takes no arguments; its coordinates are environment variables"))
	assert.Equal(t, report.CodeOf(err), report.Usage)
}

func TestUsage(t *testing.T) {
	w := withArguments(t)
	for rest, want := range map[string]string{
		"ssh-web-rollback": "ssh-web-rollback [GENERATION]", "ssh-web-import": "ssh-web-import ADDRESS ID",
		"ssh-web-apply": "ssh-web-apply", "all-rollback": "all-rollback", "web": "web",
	} {
		p, ok := w.registry.Find(w.name(rest))
		assert.Assert(t, ok)
		assert.Equal(t, w.registry.Usage(p), w.name(want))
	}
}

func TestArgumentsThatNobodyCouldGive(t *testing.T) {
	for _, c := range []struct {
		name      string
		arguments []task.Argument
		want      string
	}{
		{"good ones", []task.Argument{{Key: "ADDRESS"}, {Key: "ID"}}, ""},
		{"no key", []task.Argument{{Key: "PLACE"}}, "argument PLACE is no key that it reads"},
		{"a secret", []task.Argument{{Key: "IMPORT_TOKEN", Optional: true}}, "argument IMPORT_TOKEN is secret"},
		{"optional and required", []task.Argument{{Key: "ADDRESS", Optional: true}}, "argument ADDRESS is optional, or else its key is required"},
		{"neither", []task.Argument{{Key: "GENERATION"}}, "argument GENERATION is optional, or else its key is required"},
		{"an optional one first", []task.Argument{{Key: "GENERATION", Optional: true}, {Key: "ID"}}, "argument ID must come before those that may be left out"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, machine("web"))
			w.ssh.verbs = func(groups.Placement) []task.Verb {
				return []task.Verb{{Name: task.Apply, Description: "applies", Arguments: slices.Clone(c.arguments)}}
			}
			w.ssh.keys = func() []any { return []any{&argumentKeys{}, &importKeys{}} }
			err := w.registry.Check()
			if c.want == "" {
				assert.NilError(t, err)
				return
			}
			assert.ErrorContains(t, err, w.name("ssh-web-apply: ")+c.want)
		})
	}
}
