package front

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"

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
	name := filepath.Base(args[0])
	words := args[1:]
	if registry, err := f.Registry(); err == nil {
		if _, ok := registry.Find(name); ok {
			if wantsHelp(words) {
				return f.help(os.Stdout, []string{name})
			}
			return f.call(context.Background(), env.Process(), func(*program.Registry) []program.Call {
				return []program.Call{{Name: name, Arguments: words}}
			})
		}
	}
	if len(words) == 0 {
		return f.help(os.Stdout, nil)
	}
	switch words[0] {
	case "list":
		return f.list(os.Stdout, words[1:])
	case "run":
		if len(words) == 1 {
			return usage(errors.New("run: no program named"))
		}
		return f.call(context.Background(), env.Process(), f.asked(words[1:]))
	case "help", "-h", "--help":
		return f.help(os.Stdout, words[1:])
	case "module":
		return f.module(os.Stdout, words[1:])
	case "schema":
		return schema(os.Stdout, words[1:])
	case "version", "--version":
		return version(os.Stdout)
	}
	if strings.HasPrefix(words[0], "-") {
		return usage(fmt.Errorf("unknown flag %s", words[0]))
	}
	if wantsHelp(words[1:]) {
		return f.help(os.Stdout, words[:1])
	}
	return f.call(context.Background(), env.Process(), f.asked(words))
}

func wantsHelp(words []string) bool {
	return len(words) == 1 && (words[0] == "--help" || words[0] == "-h")
}

func usage(err error) report.Code {
	explain(plainly(), &report.Fault{
		Code: report.Usage, What: "read the command line", Why: err, Hint: "slipway help says what it takes",
	})
	return report.Usage
}

// schema prints the JSON Schema of what a run leaves behind or says.
func schema(to io.Writer, words []string) report.Code {
	schemas := map[string][]byte{"record": report.RecordSchema, "event": report.EventSchema}
	if len(words) != 1 || schemas[words[0]] == nil {
		return usage(errors.New("schema: which? there are record, of REPORT, and event, of a line of PROGRESS=json"))
	}
	_, _ = to.Write(schemas[words[0]])
	return report.Healthy
}

func version(to io.Writer) report.Code {
	text := "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		text = info.Main.Version + " " + info.GoVersion
	}
	_, _ = fmt.Fprintln(to, "slipway", text)
	return report.Healthy
}
