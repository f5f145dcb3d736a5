package front

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/program"
	"fediversity.eu/slipway/targets/report"
)

// Main is the main of a binary: it gives the exit code of a command line. args
// includes the name by which the binary was called: called by the name of a
// program, as through a link, it is that program.
func Main(f Front, args []string) report.Code {
	if code, ours := f.helped(args); ours {
		return code
	}
	outlive()
	f.Registry = sync.OnceValues(f.Registry)
	name := filepath.Base(args[0])
	words := args[1:]
	if registry, err := f.Registry(); err == nil {
		if _, ok := registry.Find(name); ok {
			if wantsHelp(words) {
				return f.help(os.Stdout, []string{name})
			}
			if len(words) == 1 && words[0] == "--shell" {
				return f.shell([]string{name})
			}
			return f.call(context.Background(), env.Process(), func(*program.Registry) []program.Call {
				return []program.Call{{Name: name, Arguments: words}}
			})
		}
	}
	if linked(name) && f.ours([]string{name}) {
		// A link of a program that is gone is no other command.
		return f.runNamed([]string{name})
	}
	if len(words) == 0 {
		return f.help(os.Stdout, nil)
	}
	if c, ok := commandOf(words[0]); ok {
		if wantsHelp(words[1:]) {
			return c.explain(os.Stdout, "slipway")
		}
		return c.run(f, words[1:])
	}
	if strings.HasPrefix(words[0], "-") {
		return usage(fmt.Errorf("unknown flag %s", words[0]))
	}
	if wantsHelp(words[1:]) {
		return f.help(os.Stdout, words[:1])
	}
	return f.runNamed(words)
}

// runNamed runs what a command line names.
func (f Front) runNamed(words []string) report.Code {
	if len(words) == 0 {
		return usage(errors.New("run: no program named"))
	}
	return f.call(context.Background(), env.Process(), f.asked(words))
}

// linked tells whether the binary was called by another name than its own.
func linked(name string) bool {
	path, err := os.Executable()
	return err == nil && filepath.Base(path) != name
}

func wantsHelp(words []string) bool {
	return len(words) == 1 && (words[0] == "--help" || words[0] == "-h")
}
