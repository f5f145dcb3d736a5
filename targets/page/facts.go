package page

import (
	"fmt"
	"strings"

	"fediversity.eu/slipway/targets/report"
)

// fact is something that a record holds of a run.
type fact struct {
	Name  string
	Texts []string // one a line
	Code  bool     // paths, hashes and names, as a machine writes them
}

// facts are collected in the order of the page.
type facts []fact

func (f *facts) say(name, text string) {
	if text != "" {
		*f = append(*f, fact{Name: name, Texts: []string{text}})
	}
}

func (f *facts) code(name string, texts ...string) {
	if len(texts) > 0 && texts[0] != "" {
		*f = append(*f, fact{Name: name, Texts: texts, Code: true})
	}
}

// factsOf says what a record holds beside how it ended, what is wrong and how long
// its steps took.
func factsOf(r *report.Record) []fact {
	var f facts
	f.code("program", r.Program)
	f.say("what", strings.Join(words("group", r.Group, "method", r.Method, "effect", r.Effect, "machine", r.Machine, "verb", r.Verb), ", "))
	f.code("after", r.Needs...)
	f.say("changed", map[bool]string{true: "yes", false: "no, nothing"}[r.Changed])
	f.code("system", r.Toplevel)
	if r.Generation != 0 {
		f.say("generation", fmt.Sprint(r.Generation))
	}
	f.code("ran before", r.Running)
	f.source(r.Source)
	f.code("layers", report.Layers(r.Layers)...)
	f.code("addresses", r.Addresses...)
	if r.Copied != nil {
		f.say("copied", plural(r.Copied.Paths, "path")+", "+size(r.Copied.Bytes))
	}
	if r.Switch != nil {
		f.say("switch", fmt.Sprintf("exit code %d", *r.Switch))
	}
	if back := r.Reverted; back != nil {
		names := []string{"went back", "gave up", "runs again"}
		if back.Failed {
			names = []string{"was to go back, and did not", "from", "to"}
		}
		f.say(names[0], back.Why+", at "+back.At)
		f.code(names[1], back.From)
		f.code(names[2], back.To)
	}
	f.plan(r.Plan)
	if i := r.Inventory; i != nil {
		f.say("inventory", fmt.Sprintf("%d to create, %d to change, %d to delete", i.Create, i.Change, i.Delete))
	}
	f.state(r.State)
	return f
}

// words pairs names with values that are there.
func words(pairs ...string) []string {
	var list []string
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			list = append(list, pairs[i]+" "+pairs[i+1])
		}
	}
	return list
}

func (f *facts) source(s *report.Source) {
	if s == nil {
		return
	}
	f.code("modules", s.Modules)
	f.code("nixpkgs", s.Nixpkgs)
	f.code("evaluated", s.Hash)
	f.say("evaluation", map[bool]string{true: "known from before", false: "made anew"}[s.Cached])
}

func (f *facts) plan(p *report.Plan) {
	if p == nil {
		return
	}
	if !p.Changes {
		f.say("plan", "no changes")
		return
	}
	grows := "grows by " + size(p.Bytes)
	if p.Bytes < 0 {
		grows = "shrinks by " + size(-p.Bytes)
	}
	f.say("plan", fmt.Sprintf("%s added, %d removed; the closure %s", plural(p.Added, "path"), p.Removed, grows))
	f.code("would stop", p.Stop...)
	f.code("would start", p.Start...)
	f.code("would restart", p.Restart...)
	f.code("would reload", p.Reload...)
	f.code("left alone", p.Skip...)
	f.code("needs a reboot", p.Reboot...)
}

func (f *facts) state(s *report.State) {
	if s == nil {
		return
	}
	if s.Lineage != "" {
		f.code("state", fmt.Sprintf("lineage %s, serial %d", s.Lineage, s.Serial))
	} else {
		f.say("state", "none")
	}
	if p := s.Plan; p != nil {
		text := fmt.Sprintf("%d to add, %d to change, %d to remove, %d to import", p.Add, p.Change, p.Remove, p.Import)
		if !p.Changes {
			text = "no changes"
		}
		f.say("resources", text)
	}
}

// size writes bytes.
func size(n int64) string {
	units := []string{"KiB", "MiB", "GiB", "TiB"}
	if n < 1<<10 {
		return plural(int(n), "byte")
	}
	amount, i := float64(n)/(1<<10), 0
	for amount >= 1<<10 && i < len(units)-1 {
		amount, i = amount/(1<<10), i+1
	}
	return fmt.Sprintf("%.1f %s", amount, units[i])
}
