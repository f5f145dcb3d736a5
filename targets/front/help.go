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

const exitCodes = `Exit codes: 0 healthy or done, 1 failed, 2 unknown program or bad coordinates,
3 deployed but unhealthy, 4 refused and nothing changed, 5 unknown, 6 reboot
needed, 75 busy, 130 and 143 interrupted.
`

// overview says what the binary takes.
func (f Front) overview(to io.Writer) {
	var b strings.Builder
	b.WriteString("slipway puts NixOS machines into service and ends in a verdict.\n\n")
	line := func(usage, description string) {
		if len(usage) > overviewColumn {
			usage += "\n  " + strings.Repeat(" ", overviewColumn)
		}
		fmt.Fprintf(&b, "  %-*s %s\n", overviewColumn, usage, description)
	}
	for _, c := range commands() {
		line("slipway "+strings.TrimSpace(c.name+" "+c.usage), c.description)
	}
	line("slipway NAME…", "as run; the arguments of a verb follow the name")
	b.WriteString("\nA link to this binary that has the name of a program is that program.\n\n" + exitCodes)
	if len(f.Tasks) > 0 {
		b.WriteString("\nBeside the programs:\n")
	}
	for _, t := range f.Tasks {
		fmt.Fprintf(&b, "  %-24s %s\n", t.Name, t.Description)
	}
	_, _ = io.WriteString(to, b.String())
}

// overviewColumn is how wide the first column is.
const overviewColumn = 24

// help explains one program or task, or what there is.
func (f Front) help(to io.Writer, names []string) report.Code {
	if len(names) == 0 {
		f.overview(to)
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
