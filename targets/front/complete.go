package front

import (
	"bufio"
	"cmp"
	"io"
	"slices"
	"strings"

	"fediversity.eu/slipway/targets/program"
	"fediversity.eu/slipway/targets/report"
	"fediversity.eu/slipway/targets/shell"
)

// candidate is a word that may stand where one is being typed.
type candidate struct{ word, description string }

// complete answers a completion script: words are the name of a shell, and what
// was typed, of which the last is not ended. It prints a word a line; but for
// bash, which shows no more, a description after a tab.
func (f Front) complete(to io.Writer, words []string) report.Code {
	if len(words) < 2 {
		return report.Usage
	}
	described, words := words[0] != "bash", words[1:]
	registry, err := f.Registry()
	if err != nil {
		return report.Failed // a completion that spoke would spoil the line that is typed
	}
	current := words[len(words)-1]
	var list []candidate
	if words[0] == "--mage" {
		list = f.magefile(registry)
	} else {
		list = f.candidates(registry, words[:len(words)-1], current)
	}
	list = slices.DeleteFunc(list, func(c candidate) bool { return !strings.HasPrefix(c.word, current) })
	slices.SortStableFunc(list, func(a, b candidate) int { return cmp.Compare(a.word, b.word) })
	list = slices.CompactFunc(list, func(a, b candidate) bool { return a.word == b.word })
	out := bufio.NewWriter(to)
	defer out.Flush() //nolint:errcheck // the shell is gone
	for _, c := range list {
		_, _ = out.WriteString(c.word)
		if described {
			_, _ = out.WriteString("\t" + c.description)
		}
		_ = out.WriteByte('\n')
	}
	return report.Healthy
}

// candidates are what may follow the words before.
func (f Front) candidates(r *program.Registry, before []string, current string) []candidate {
	if len(before) == 0 {
		return append(f.names(r, current), commandNames()...)
	}
	switch before[0] {
	case "contract":
		return words(before, "programs", "keys", "schema")
	case "schema":
		return words(before, "record", "event", "contract")
	case "completion":
		return words(before, shell.Kinds()...)
	case "shell":
		return deployments(r, before)
	case "tofu":
		if len(before) == 1 {
			return deployments(r, before)
		}
		return words(before[1:], tofuReads()...)
	case "help":
		return slices.Concat(f.names(r, current), commandNames(), f.keys(current))
	case "pipeline":
		if len(before) == 1 {
			return words(before, pipelineSystems()...)
		}
		return append(groupNames(r), aggregates(r)...)
	case "module":
		return groupNames(r)
	case "graph":
		return append(groupNames(r), f.names(r, current)...)
	case "apps", "list", "man", "version":
		return nil
	}
	return f.names(r, current)
}

// commandNames are those of the commands that are for people.
func commandNames() []candidate {
	var list []candidate
	for _, c := range commands() {
		if c.description != "" {
			list = append(list, candidate{c.name, c.description})
		}
	}
	return list
}

func groupNames(r *program.Registry) []candidate {
	var list []candidate
	for _, group := range r.Groups() {
		list = append(list, candidate{group.Name, group.Description})
	}
	return list
}

func aggregates(r *program.Registry) []candidate {
	var list []candidate
	for _, p := range r.Programs() {
		if p.Aggregate() {
			list = append(list, candidate{p.Name, p.Description})
		}
	}
	return list
}

// words are those that may stand in the first place after a command.
func words(before []string, all ...string) []candidate {
	if len(before) > 1 {
		return nil
	}
	list := make([]candidate, 0, len(all))
	for _, word := range all {
		list = append(list, candidate{word: word})
	}
	return list
}

// names are those of programs and tasks: of Mage's targets where a colon was
// typed.
func (f Front) names(r *program.Registry, current string) []candidate {
	if strings.ContainsRune(current, ':') {
		return f.targets(r)
	}
	var list []candidate
	for _, p := range r.Programs() {
		list = append(list, candidate{p.Name, p.Description})
		if p.Short != "" {
			list = append(list, candidate{p.Short, p.Description})
		}
	}
	for _, t := range f.Tasks {
		list = append(list, candidate{t.Name, t.Description})
	}
	return list
}

// targets are Mage's, as this binary takes them too.
func (f Front) targets(r *program.Registry) []candidate {
	var list []candidate
	for _, p := range r.Programs() {
		list = append(list, candidate{p.Target, p.Description})
		if p.Short != "" {
			list = append(list, candidate{program.Target(p.Group, p.Short), p.Description})
		}
	}
	for _, t := range f.Tasks {
		list = append(list, candidate{t.Target(), t.Description})
	}
	for _, c := range commands() {
		for _, part := range c.parts {
			list = append(list, candidate{c.name + ":" + part, c.description})
		}
		if c.mage && len(c.parts) == 0 {
			list = append(list, candidate{c.name, c.description})
		}
	}
	return list
}

// magefile is what the word mage may be followed by.
func (f Front) magefile(r *program.Registry) []candidate {
	list := f.targets(r)
	for _, t := range f.Targets {
		list = append(list, candidate{t.Name, t.Description})
	}
	return list
}

// deployments are the names without a verb of what a shell can be opened for.
func deployments(r *program.Registry, before []string) []candidate {
	if len(before) > 1 {
		return nil
	}
	var list []candidate
	for _, p := range r.Programs() {
		if p.Short != "" {
			list = append(list, candidate{p.Short, p.Description})
		}
	}
	return list
}

// keys are the variables that anything reads, which are typed in capitals.
func (f Front) keys(current string) []candidate {
	if current == "" || current != strings.ToUpper(current) {
		return nil
	}
	all, err := f.variables()
	if err != nil {
		return nil
	}
	var list []candidate
	for _, key := range all {
		list = append(list, candidate{key.Name, key.Description})
	}
	return list
}
