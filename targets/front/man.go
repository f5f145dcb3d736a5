package front

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"fediversity.eu/slipway/targets/program"
	"fediversity.eu/slipway/targets/report"
)

// man prints the manual page of this binary, in roff (man(7)): its commands, what
// there is to run, and every variable. Programs are told by their parts, since
// there may be thousands.
func (f Front) man(to io.Writer, words []string) report.Code {
	if len(words) > 0 {
		return usage(errors.New("man takes nothing"))
	}
	registry, err := f.Registry()
	if err == nil {
		err = f.writeManual(to, registry, filepath.Base(os.Args[0]))
	}
	if err != nil {
		explain(plainly(), err)
		return report.Failed
	}
	return report.Healthy
}

func (f Front) writeManual(to io.Writer, r *program.Registry, name string) error {
	variables, err := f.variables()
	if err != nil {
		return err
	}
	var m manual
	m.raw(fmt.Sprintf(`.TH %s 1 "%s" "Slipway" "User Commands"`, strings.ToUpper(roff(name)), built()))
	m.section("NAME")
	m.text(name + " - put NixOS machines into service, with a verdict")
	m.section("SYNOPSIS")
	m.raw(".nf")
	m.text(name + " PROGRAM [ARGUMENT...] ...")
	m.text(name + " COMMAND ...")
	m.raw(".fi")
	m.section("DESCRIPTION")
	m.text("Each thing that can be done is one program. Its coordinates are environment variables, and its exit status is the verdict.")
	m.section("COMMANDS")
	for _, command := range commands() {
		if command.description != "" {
			m.item(strings.TrimSpace(command.name+" "+command.usage), command.description)
		}
	}
	for _, t := range f.Tasks {
		m.item(t.Name, t.Description)
	}
	m.programs(r)
	m.section("ENVIRONMENT")
	m.text("In a run of several machines, a variable that is one machine's own is written with the machine's name before it, as DB_1_SSH_HOST for db-1. Before any other may stand the machine's name, or the group's, as HOSTING_PROVIDER_SSH_JUMP: the machine's wins over the group's, and this over the plain one.")
	for _, key := range variables {
		marks := key.Type
		if key.Required {
			marks += "; required"
		}
		if key.Default != "" {
			marks += "; default " + key.Default
		}
		m.item(strings.Join(key.Variables(), ", "), key.Description+" ("+marks+").", "Read by: "+strings.Join(key.Readers, ", ")+".")
	}
	m.section("EXIT STATUS")
	for _, code := range []struct{ code, means string }{
		{"0", "healthy, or done"},
		{"1", "failed"},
		{"2", "unknown program or bad coordinates: nothing was started"},
		{"3", "deployed, but unhealthy"},
		{"4", "refused: nothing was changed"},
		{"5", "unknown: contact was lost"},
		{"6", "reboot needed, or changes that a plan found"},
		{"75", "busy: try later"},
		{"130, 143", "interrupted"},
	} {
		m.item(code.code, code.means)
	}
	return deliver(to, []byte(m.b.String()))
}

// built is the day of this binary: that of its revision or, without one, of its
// file.
func built() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, setting := range info.Settings {
			if day, _, ok := strings.Cut(setting.Value, "T"); ok && setting.Key == "vcs.time" {
				return day
			}
		}
	}
	path, err := os.Executable()
	if err != nil {
		return ""
	}
	info, err := os.Stat(path)
	if err != nil {
		return ""
	}
	return info.ModTime().UTC().Format(time.DateOnly)
}

// programs tells what there is to run, by its parts.
func (m *manual) programs(r *program.Registry) {
	m.section("PROGRAMS")
	m.raw(".nf")
	for _, form := range []string{
		"GROUP-METHOD-MACHINE[-VERB]", "GROUP-METHOD-all[-VERB]", "GROUP-METHOD-combined[-VERB]",
		"GROUP-all[-VERB], GROUP-combined[-VERB]", "GROUP-EFFECT[-VERB]", "GROUP-MACHINE",
	} {
		m.text(form)
	}
	m.raw(".fi", ".PP")
	m.text("No verb means apply. The last form builds the system of a machine and prints its store path.")
	verbs := map[string][]string{}
	for _, p := range r.Programs() {
		if way := p.Method + p.Effect; way != "" && !p.Aggregate() && len(verbs[p.Group+" "+way]) == 0 {
			verbs[p.Group+" "+way] = verbsOf(r, p)
		}
	}
	for _, group := range r.Groups() {
		m.raw(".SS " + roff(group.Name))
		m.text(group.Description + ".")
		for _, machine := range group.Machines {
			whose := ""
			if machine.Internal {
				whose = " (internal)"
			}
			m.item(machine.Name+whose, machine.Description)
		}
		for _, part := range group.Parts {
			m.item(part.Group, "by "+part.Method+", after those before it")
		}
		for _, way := range append(append([]string{}, group.Methods...), group.Effects...) {
			if list := verbs[group.Name+" "+way]; len(list) > 0 {
				m.item("by "+way, strings.Join(list, ", "))
			}
		}
	}
}

// manual collects roff.
type manual struct{ b strings.Builder }

func (m *manual) raw(lines ...string) { m.b.WriteString(strings.Join(lines, "\n") + "\n") }

func (m *manual) section(title string) { m.raw(".SH " + title) }

func (m *manual) text(text string) { m.raw(roff(text)) }

// item is a word with what it means.
func (m *manual) item(word string, lines ...string) {
	m.raw(".TP", ".B "+roff(word))
	for _, line := range lines {
		m.text(line)
	}
}

// roff writes text so that none of it is taken for a request or an escape.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, "…", "...").Replace(text)
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		text = `\&` + text
	}
	return text
}
