package front

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/pipeline"
	"fediversity.eu/slipway/targets/report"
)

// command is a word that the binary knows beside the names of programs and tasks.
type command struct {
	name        string
	usage       string   // what may follow
	description string   // one line; empty for one that is not for people
	mage        bool     // a magefile's command line may begin with it too
	parts       []string // words that may follow; Mage's targets have them behind a colon
	keys        []any    // structs of the keys that it reads itself, for its help
	run         func(f Front, words []string) report.Code
}

// commands lists them in the order in which help has them.
func commands() []command {
	return []command{
		{
			name: "list", usage: "[WORD…]", description: "the programs whose names hold every WORD",
			run: func(f Front, words []string) report.Code { return f.list(os.Stdout, words) },
		},
		{name: "run", usage: "NAME…", description: "run programs, by name or by Mage target", run: Front.runNamed},
		{
			name: "check", usage: "NAME…", description: "whether they would be accepted as the environment is; changes nothing",
			mage: true, run: Front.check,
		},
		{
			name: "help", usage: "[NAME…]", description: "what a program or command does, which variables it reads, and how they are set; what a variable means",
			run: func(f Front, words []string) report.Code { return f.help(os.Stdout, words) },
		},
		{
			name: "apps", usage: "DIR", description: "make DIR hold a link for each program: an executable of exactly its name",
			mage: true, run: Front.apps,
		},
		{
			name: "shell", usage: "NAME", description: "your shell, with the verbs of a deployment on the PATH",
			mage: true, keys: []any{&shellKeys{}}, run: Front.shell,
		},
		{
			name: "tofu", usage: "NAME WORD…", description: "what a command of OpenTofu means for a deployment; tofu, in its shell",
			run: Front.tofu,
		},
		{
			name: "module", usage: "[GROUP…]", description: "the module.json of a module source with these groups",
			mage: true,
			run:  func(f Front, words []string) report.Code { return f.module(os.Stdout, words) },
		},
		{
			name: "pipeline", usage: "SYSTEM GROUP", description: "the graph of a group as a pipeline of gitlab, github or forgejo",
			mage: true, parts: pipelineSystems(), keys: []any{&pipeline.Keys{}}, run: Front.pipeline,
		},
		{
			name: "contract", usage: "[programs|keys|schema]", description: "what there is to run and what it reads, as JSON",
			mage: true, parts: []string{"programs", "keys", "schema"}, run: Front.contract,
		},
		{
			name: "graph", usage: "[GROUP|PROGRAM|RECORD]",
			description: "the order in which a group is taken up, or a run by its REPORT, as a picture",
			mage:        true, keys: []any{&graphKeys{}}, run: Front.graph,
		},
		{
			name: "schema", usage: "WHICH", description: "the JSON Schema of a record, an event or the contract",
			run: func(_ Front, words []string) report.Code { return schema(os.Stdout, words) },
		},
		{
			name: "completion", usage: "SHELL", description: "the script that makes bash, fish or zsh complete all this",
			run: func(_ Front, words []string) report.Code { return completion(os.Stdout, words) },
		},
		{
			name: "complete", usage: "SHELL WORD…", // asked by the scripts, and by nobody else
			run: func(f Front, words []string) report.Code { return f.complete(os.Stdout, words) },
		},
		{
			name: "man", description: "the manual page",
			run: func(f Front, words []string) report.Code { return f.man(os.Stdout, words) },
		},
		{
			name: "version", description: "the version of this binary",
			run: func(Front, []string) report.Code { return version(os.Stdout) },
		},
	}
}

// commandOf finds the command of a word. Flags mean the commands that everybody
// expects behind them.
func commandOf(word string) (command, bool) {
	switch word {
	case "-h", "--help":
		word = "help"
	case "--version":
		word = "version"
	}
	all := commands()
	i := slices.IndexFunc(all, func(c command) bool { return c.name == word })
	if i < 0 {
		return command{}, false
	}
	return all[i], true
}

// asCommand reads a magefile's command line that is one of our commands, such as
// "contract:programs" or "check NAME". What has a colon after any other command is a
// target that Mage knows, as module:json.
func asCommand(words []string) (command, []string, bool) {
	if len(words) == 0 {
		return command{}, nil, false
	}
	name, sub, more := strings.Cut(strings.ToLower(words[0]), ":")
	c, ok := commandOf(name)
	if !ok || !c.mage || more && len(c.parts) == 0 {
		return command{}, nil, false
	}
	rest := words[1:]
	if more {
		rest = append([]string{sub}, rest...)
	}
	return c, rest, true
}

// Command runs one of the commands of the binary, for a target that Mage's own
// main runs. The error says its own exit code.
func Command(f Front, words ...string) error {
	c, ok := commandOf(words[0])
	if !ok {
		return report.Wrap(fmt.Errorf("no command is called %s", words[0]))
	}
	if code := c.run(f, words[1:]); code != report.Healthy {
		return &report.Exit{Code: code, Err: errors.New(code.String()), Told: true}
	}
	return nil
}

// explain says what the command is, called by a program of that name.
func (c command) explain(to io.Writer, by string) report.Code {
	var text bytes.Buffer
	if err := c.write(&text, by); err != nil {
		explain(plainly(), err)
		return report.CodeOf(err)
	}
	return answer(to, text.Bytes())
}

func (c command) write(to io.Writer, by string) error {
	keys, err := env.Process().Show(context.Background(), env.For{}, c.keys...)
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintf(to, "%s\n%s\n", strings.TrimSpace(by+" "+c.name+" "+c.usage), c.description)
	writeKeys(to, keys, false)
	return nil
}

// answer writes what a command was asked for. What was not written whole, as on a
// full disk, is no answer; a reader that went away has had enough.
func answer(to io.Writer, text []byte) report.Code {
	if err := deliver(to, text); err != nil {
		explain(plainly(), fmt.Errorf("write the answer: %w", err))
		return report.Failed
	}
	return report.Healthy
}

func deliver(to io.Writer, text []byte) error {
	d := report.NewDelivery(to)
	_, _ = d.Write(text) // it never fails
	return d.Lost()
}

func usage(err error) report.Code {
	explain(plainly(), &report.Fault{
		Code: report.Usage, What: "read the command line", Why: err, Hint: "slipway help says what it takes",
	})
	return report.Usage
}

func version(to io.Writer) report.Code {
	text := "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		text = info.Main.Version + " " + info.GoVersion
	}
	return answer(to, []byte("slipway "+text+"\n"))
}
