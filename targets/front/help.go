package front

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/program"
	"fediversity.eu/slipway/targets/report"
)

const helpText = `slipway puts NixOS machines into service and ends in a verdict.

  slipway list [WORD…]     the programs whose names hold every WORD
  slipway run NAME…        run programs, by name or by Mage target
  slipway NAME…            the same; the arguments of a verb follow the name
  slipway help NAME        what a program does and which variables it reads
  slipway module [GROUP…]  the module.json of a module source with these groups
  slipway schema WHICH     the JSON Schema of a record or of an event
  slipway version          the version of this binary

A link to this binary that has the name of a program is that program.

Exit codes: 0 healthy or done, 1 failed, 2 unknown program or bad coordinates,
3 deployed but unhealthy, 4 refused and nothing changed, 5 unknown, 6 reboot
needed, 75 busy, 130 and 143 interrupted.
`

// help explains one program or task, or what there is.
func (f Front) help(to io.Writer, names []string) report.Code {
	if len(names) == 0 {
		_, _ = io.WriteString(to, helpText)
		if len(f.Tasks) > 0 {
			_, _ = fmt.Fprintln(to, "\nBeside the programs:")
		}
		for _, t := range f.Tasks {
			_, _ = fmt.Fprintf(to, "  %-24s %s\n", t.Name, t.Description)
		}
		return report.Healthy
	}
	registry, err := f.Registry()
	if err == nil {
		var calls []program.Call
		for _, name := range names {
			if !f.isTask(name) {
				calls = append(calls, program.Call{Name: name})
			}
		}
		err = registry.Resolve(calls...)
	}
	if err != nil {
		explain(plainly(), err)
		return report.CodeOf(err)
	}
	for _, name := range names {
		if t, ok := f.task(name); ok {
			keys, err := env.Declared(t.Keys...)
			if err != nil {
				explain(plainly(), err)
				return report.Failed
			}
			_, _ = fmt.Fprintf(to, "%s (mage %s)\n%s\n", t.Name, t.Target(), t.Description)
			writeKeys(to, keys)
			continue
		}
		p, _ := registry.Find(name)
		keys, err := registry.Keys(p)
		if err != nil {
			explain(plainly(), err)
			return report.Failed
		}
		_, _ = fmt.Fprintf(to, "%s (mage %s)\n%s\n", registry.Usage(p), p.Target, p.Description)
		writeKeys(to, keys)
	}
	return report.Healthy
}

func writeKeys(to io.Writer, keys []env.Key) {
	for _, key := range keys {
		marks := []string{key.Type}
		if key.Required {
			marks = append(marks, "required")
		}
		if key.Secret {
			marks = append(marks, "secret, or a file by "+key.Name+"_FILE")
		}
		if key.Default != "" {
			marks = append(marks, "default "+key.Default)
		}
		_, _ = fmt.Fprintf(to, "\n  %s\n      %s\n      (%s)\n", key.Name, key.Description, strings.Join(marks, "; "))
	}
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
	_, _ = io.WriteString(to, b.String())
	return report.Healthy
}
