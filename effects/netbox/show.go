package netbox

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"fediversity.eu/slipway/targets/report"
)

// write prints the way for a person: what is created (+), changed (~), deleted (-)
// or left alone (!), each with the fields that matter.
func (c *changes) write(out io.Writer) error {
	var b strings.Builder
	for _, t := range c.creates {
		fmt.Fprintf(&b, "+ %s\n", t)
		for _, f := range t.fields {
			if value := f.shown(); value != "" && f.name != "slug" && !strings.HasSuffix(f.name, "_type") {
				fmt.Fprintf(&b, "    %s: %s\n", f.name, value)
			}
		}
	}
	for _, u := range c.shown() {
		fmt.Fprintf(&b, "~ %s\n", u.thing)
		for _, d := range u.differences {
			fmt.Fprintf(&b, "    %s: %s → %s\n", d.field.name, orNothing(d.old), orNothing(d.new))
		}
	}
	for _, l := range c.deletes {
		fmt.Fprintf(&b, "- %s (id %d)\n", l, l.id())
	}
	for _, l := range c.kept {
		fmt.Fprintf(&b, "! %s (id %d): bears the tag and is not the group's; NETBOX_PRUNE=true deletes it\n", l, l.id())
	}
	fmt.Fprintln(&b, c.summary())
	_, err := io.WriteString(out, b.String())
	return err
}

// summary counts in words.
func (c *changes) summary() string {
	if c.none() {
		return "nothing to change"
	}
	n := c.counts()
	return fmt.Sprintf("%d to create, %d to change, %d to delete", n.Create, n.Change, n.Delete)
}

func (c *changes) counts() *report.Objects {
	return &report.Objects{Create: len(c.creates), Change: len(c.shown()), Delete: len(c.deletes)}
}

// shown are the updates as a person sees them: one an object.
func (c *changes) shown() []update {
	var list []update
	add := func(u update) {
		at := slices.IndexFunc(list, func(other update) bool { return other.kind == u.kind && other.name == u.name && other.id == u.id })
		if at < 0 {
			list = append(list, update{u.thing, slices.Clone(u.differences)})
			return
		}
		for _, d := range u.differences {
			same := func(other difference) bool { return other.field.name == d.field.name }
			if !slices.ContainsFunc(list[at].differences, same) {
				list[at].differences = append(list[at].differences, d)
			}
		}
	}
	for _, u := range slices.Concat(c.updates, c.primaries, c.releases) {
		if slices.Contains(c.creates, u.thing) {
			continue // goes without saying
		}
		add(u)
	}
	return list
}

func orNothing(text string) string {
	if text == "" {
		return "nothing"
	}
	return text
}
