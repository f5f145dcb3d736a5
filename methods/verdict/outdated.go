package verdict

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"
)

// A process is outdated when it was started from a text of its unit that is no
// longer the unit's: between the moment when a switch stops a service and the
// moment when systemd reads the new texts, anybody may start it again, and the
// start that follows does nothing. systemd does not say which text a process was
// started from, so a watch compares the texts of before with those of now, and
// leaves a mark on the machine by which later looks know such a process.

// textsScript prints files, each under a line with its name.
const textsScript = `tail -v -n +1 -- "$@" 2>/dev/null | head -c 8388608`

// marksScript writes the marks: pairs of an invocation and what it was started
// from. They go with the boot, as the processes do.
const marksScript = `
rm -rf /run/slipway/ran && mkdir -p /run/slipway/ran || exit
while [ $# -gt 1 ]; do printf '%s\n' "$2" >"/run/slipway/ran/$1" || exit; shift 2; done`

// declaration is what of a unit's text a process is started from.
type declaration struct {
	sum   string
	stays bool // it is not to be restarted when its text changes
	reads bool // it is to read the new text itself, when it is told to reload
}

// managed are settings that systemd follows as soon as it has read them, for
// processes that run already too.
var managed = []string{"Restart", "Timeout", "ExecStop", "ExecReload", "SuccessExitStatus", "StartLimit", "KillMode", "KillSignal", "FileDescriptorStoreMax"}

// declare reads the text of a unit, with all that adds to it. The marks in it
// are those of NixOS, by which its switch decides what is to be restarted.
func declare(text string) declaration {
	var d declaration
	var kept []string
	section := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		name, value, _ := strings.Cut(line, "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		switch {
		case line == "" || line[0] == '#' || line[0] == ';':
		case line[0] == '[':
			section = line
		case name == "X-RestartIfChanged":
			d.stays = !truth(value)
		case name == "RefuseManualStop", name == "X-OnlyManualStart":
			d.stays = d.stays || truth(value)
		case name == "X-ReloadIfChanged":
			d.reads = truth(value)
		case section == "[Unit]" && name == "X-Restart-Triggers",
			section == "[Service]" && !strings.HasPrefix(name, "X-") && !slices.ContainsFunc(managed, func(p string) bool { return strings.HasPrefix(name, p) }):
			kept = append(kept, line)
		}
	}
	sum := sha256.Sum256([]byte(strings.Join(kept, "\n")))
	d.sum = hex.EncodeToString(sum[:])
	return d
}

// truth reads a boolean of a unit's text (systemd.syntax(7)).
func truth(value string) bool {
	return slices.Contains([]string{"1", "yes", "y", "true", "t", "on"}, strings.ToLower(value))
}

// declarations reads the texts of units.
func declarations(ctx context.Context, host Host, units []Unit) (map[key]declaration, error) {
	var files []string
	for _, u := range units {
		files = append(files, u.Files...)
	}
	all := map[key]declaration{}
	if len(files) == 0 {
		return all, nil
	}
	slices.Sort(files)
	files = slices.Compact(files)
	out, err := host.Output(ctx, textsScript, files...)
	if err != nil {
		return nil, err
	}
	text := splitFiles(string(out), files)
	for _, u := range units {
		var whole strings.Builder
		for _, file := range u.Files {
			whole.WriteString(text[file] + "\n")
		}
		all[u.key()] = declare(whole.String())
	}
	return all, nil
}

// splitFiles takes what tail printed apart.
func splitFiles(out string, files []string) map[string]string {
	all := map[string]string{}
	file := ""
	for line := range strings.Lines(out) {
		name, head := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "==> ")
		name, whole := strings.CutSuffix(name, " <==")
		if _, known := slices.BinarySearch(files, name); head && whole && known {
			file = name
			continue
		}
		all[file] += line
	}
	return all
}

// processes are the units whose process could be of another text than theirs.
func processes(s Sample) []Unit {
	var all []Unit
	for _, u := range s.Units {
		if u.ofMachine() && u.kind() == "service" && u.Load == "loaded" && len(u.Files) > 0 && !u.Transient {
			all = append(all, u)
		}
	}
	return all
}

// old tells whether the process began before the texts of the present system
// were read: for certain where it began before they were there at all.
func (s Sample) old(u Unit, reloads int) bool {
	if u.Active != "active" || u.Started == 0 || u.Invocation == "" {
		return false
	}
	return u.Started < s.Activated || (u.Overtaken && reloads == 1)
}

// outdated finds processes that were started from another text than their unit
// has now: of a change, by the texts before it, and otherwise by the marks that
// are on the machine.
func outdated(ctx context.Context, host Host, now Sample, ran map[string]string) ([]Finding, error) {
	var units []Unit
	for _, u := range processes(now) {
		if ran[u.Invocation] != "" && u.Active == "active" {
			units = append(units, u)
		}
	}
	if len(units) == 0 {
		return nil, nil
	}
	declared, err := declarations(ctx, host, units)
	if err != nil {
		return nil, err
	}
	var all []Finding
	for _, u := range units {
		d := declared[u.key()]
		if d.reads || d.sum == ran[u.Invocation] {
			continue
		}
		f := Finding{Unit: u, Fault: Outdated, Since: now.at(u.Started), Why: "its unit has changed since it was started"}
		if d.stays {
			f.Class, f.Why = Remark, f.Why+", and is declared not to be restarted"
		}
		all = append(all, f)
	}
	return all, nil
}

// ran tells of each process that is older than the present texts what it was
// started from, by invocation.
func (w *Watch) ran(now Sample, reloads int) map[string]string {
	all := map[string]string{}
	if w.base.Boot != now.Boot {
		return all
	}
	for _, u := range processes(now) {
		d, known := w.declared[u.key()]
		if mark := w.base.Ran[u.Invocation]; mark != "" {
			all[u.Invocation] = mark
		} else if known && now.old(u, reloads) {
			all[u.Invocation] = d.sum
		}
	}
	return all
}

// outdated finds what this run left running as it was, and marks it.
func (w *Watch) outdated(ctx context.Context, host Host, now Sample) ([]Finding, error) {
	reloads := 0
	if w.bus != nil && w.bus.alive() {
		reloads = w.bus.reloaded()
	}
	ran := w.ran(now, reloads)
	found, err := outdated(ctx, host, now, ran)
	if err != nil || (len(found) == 0 && len(now.Ran) == 0) {
		return found, err
	}
	var marks []string
	for _, f := range found {
		marks = append(marks, f.Unit.Invocation, ran[f.Unit.Invocation])
	}
	if _, err := host.Output(ctx, marksScript, marks...); err != nil {
		return nil, fmt.Errorf("mark what runs on as it was: %w", err)
	}
	return found, nil
}

// withOutdated adds to findings, of which each unit has one: that a process is
// outdated says more than a remark about it.
func withOutdated(findings, more []Finding) []Finding {
	for _, f := range more {
		i := slices.IndexFunc(findings, func(other Finding) bool { return other.Unit.key() == f.Unit.key() })
		switch {
		case i < 0:
			findings = append(findings, f)
		case findings[i].Class == Remark && f.Class != Remark:
			findings[i] = f
		}
	}
	return findings
}

// markedLimit bounds how many marks a machine may have.
const markedLimit = 1000

// marks reads pairs of an invocation and what it was started from.
func marks(text string) map[string]string {
	words := strings.Fields(text)
	all := map[string]string{}
	for i := 0; i+1 < len(words) && i < 2*markedLimit; i += 2 {
		all[words[i]] = words[i+1]
	}
	return all
}

// activated is when the system was made the present one, as a moment since the
// boot: zero where that is not known.
func activated(now time.Duration, clock, at float64) time.Duration {
	if at <= 0 || at > clock {
		return 0
	}
	return max(0, now-time.Duration((clock-at)*float64(time.Second)))
}
