package gen

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"fediversity.eu/slipway/groups"
	"fediversity.eu/slipway/targets/contract"
	"fediversity.eu/slipway/targets/front"
	"fediversity.eu/slipway/targets/program"
	"fediversity.eu/slipway/targets/task"
)

// Tables gives the text of a document with the tables between its marks
// ("<!-- generated: groups -->" to "<!-- end -->") written from a registry:
// groups, methods, keys and commands, which are the keys that commands of the binary
// read. A mark of another name is an error.
func Tables(text []byte, r *program.Registry) ([]byte, error) {
	const begin, end = "<!-- generated: ", "<!-- end -->"
	var out bytes.Buffer
	for {
		before, rest, ok := bytes.Cut(text, []byte(begin))
		out.Write(before)
		if !ok {
			return out.Bytes(), nil
		}
		name, rest, ok := bytes.Cut(rest, []byte(" -->\n"))
		_, after, closed := bytes.Cut(rest, []byte(end))
		if !ok || !closed {
			return nil, fmt.Errorf("mark %q is not closed", begin+string(name))
		}
		table, err := tableOf(string(name), r)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&out, "%s%s -->\n%s%s", begin, name, table, end)
		text = after
	}
}

func tableOf(name string, r *program.Registry) (string, error) {
	switch name {
	case "groups":
		return groupTable(r), nil
	case "methods":
		return methodTable(r), nil
	case "keys":
		return keyTable(r)
	case "commands":
		return commandTable()
	}
	return "", fmt.Errorf("no table is called %q; there are groups, methods, keys and commands", name)
}

func row(b *strings.Builder, cells ...string) {
	for i, cell := range cells {
		cells[i] = strings.ReplaceAll(cell, "|", `\|`)
	}
	b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
}

func groupTable(r *program.Registry) string {
	var b strings.Builder
	row(&b, "group", "machine", "what it is", "published", "methods")
	row(&b, "---", "---", "---", "---", "---")
	for _, group := range r.Groups() {
		for _, machine := range group.Machines {
			published := "yes"
			if machine.Internal {
				published = "internal"
			}
			row(&b, "`"+group.Name+"`", "`"+machine.Name+"`", machine.Description, published, strings.Join(group.Methods, ", "))
		}
		for _, part := range group.Parts {
			row(&b, "`"+group.Name+"`", "all of `"+part.Group+"`", group.Description, "as there", part.Method)
		}
	}
	return b.String()
}

func methodTable(r *program.Registry) string {
	var b strings.Builder
	row(&b, "method or effect", "verb", "what it does")
	row(&b, "---", "---", "---")
	for _, method := range r.Methods() {
		verbs := method.Verbs(groups.Local{})
		if len(verbs) == 0 {
			verbs = method.Verbs(groups.External{}) // one that has no use for what Slipway boots
		}
		for _, verb := range verbs {
			does := verb.Description + " the machine"
			if !slices.ContainsFunc(method.Verbs(groups.External{}), func(v task.Verb) bool { return v.Name == verb.Name }) {
				does += ", where Slipway booted it"
			}
			row(&b, "`"+method.Name()+"`", "`"+verb.Usage()+"`", does)
		}
	}
	for _, effect := range r.Effects() {
		for _, group := range r.Groups() {
			if !slices.Contains(group.Effects, effect.Name()) {
				continue
			}
			for _, verb := range effect.Verbs(group) {
				row(&b, "`"+effect.Name()+"`", "`"+verb.Usage()+"`", verb.Description+" "+effect.Description())
			}
			break // the verbs are alike in every group that has the effect
		}
	}
	return b.String()
}

func keyTable(r *program.Registry) (string, error) {
	c, err := contract.New(r)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	row(&b, "variable", "what it is", "valid", "default")
	row(&b, "---", "---", "---", "---")
	for _, key := range c.Keys() {
		row(&b, variablesOf(key), key.Description, key.Type, valueOf(key))
	}
	return b.String(), nil
}

func commandTable() (string, error) {
	keys, err := front.CommandKeys()
	if err != nil {
		return "", err
	}
	var b strings.Builder
	row(&b, "variable", "read by", "what it is", "valid", "default")
	row(&b, "---", "---", "---", "---", "---")
	for _, key := range keys {
		row(&b, variablesOf(key), "`"+strings.Join(key.Readers, "`, `")+"`", key.Description, key.Type, valueOf(key))
	}
	return b.String(), nil
}

func variablesOf(key contract.Key) string {
	return "`" + strings.Join(key.Variables(), "` or `") + "`"
}

// valueOf is what a key has where nothing is set.
func valueOf(key contract.Key) string {
	switch {
	case key.Required:
		return "required"
	case key.Default != "":
		return "`" + key.Default + "`"
	}
	return ""
}

// WriteTables brings the tables of a document up to date.
func WriteTables(path string, r *program.Registry) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	wanted, err := Tables(text, r)
	if err != nil || bytes.Equal(text, wanted) {
		return err
	}
	return os.WriteFile(path, wanted, 0o644) //nolint:gosec // a document
}

// CheckTables tells whether the tables of a document are up to date.
func CheckTables(path string, r *program.Registry) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	wanted, err := Tables(text, r)
	if err != nil {
		return err
	}
	if !bytes.Equal(text, wanted) {
		return fmt.Errorf("%s: tables out of date: go generate ./... writes it anew", filepath.Base(path))
	}
	return nil
}
