package front

import (
	"fmt"
	"io"
	"strings"

	"fediversity.eu/slipway/targets/env"
)

// writeKeys explains keys and how they stand. Those of several machines go by
// their variables, others by their names.
func writeKeys(to io.Writer, keys []env.Shown, several bool) {
	count := map[string]int{}
	for _, shown := range keys {
		count[shown.Key.Name]++
	}
	for _, shown := range keys {
		key := shown.Key
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
		name := key.Name
		if several || count[key.Name] > 1 {
			name = shown.Variable
		}
		_, _ = fmt.Fprintf(to, "\n  %s\n      %s\n      (%s)\n", name, key.Description, strings.Join(marks, "; "))
		if text := standing(shown, name); text != "" {
			_, _ = fmt.Fprintf(to, "      %s\n", text)
		}
	}
}

// standing says what is set, or what is wrong with it, of a key that is called
// name; nothing of what may stay unset.
func standing(shown env.Shown, name string) string {
	text := "now " + shown.Value
	switch {
	case shown.Problem != nil:
		text = shown.Problem.What
	case shown.Value == "":
		return ""
	}
	if shown.Variable != name {
		text += ", from " + shown.Variable
	}
	return text
}

// lacking names the variables that are missing or malformed.
func lacking(keys []env.Shown) []string {
	var names []string
	for _, shown := range keys {
		if shown.Problem != nil {
			names = append(names, shown.Variable)
		}
	}
	return names
}
