package graph

import (
	"fmt"
	"strings"
)

// tints are the fills of outcomes in DOT, which knows one kind of page.
var tints = map[Tone]string{"": "#eef0f2", Good: "#e3f3e8", Bad: "#fde7e4", Caution: "#fdf0d2", Unsure: "#ebe7f8", Idle: "#eef0f2"}

// DOT writes the graph in the language of Graphviz (graphviz.org, "DOT Language").
func (g Graph) DOT() []byte {
	g = g.shown()
	var b strings.Builder
	b.WriteString("digraph " + quoted(g.Title) + " {\n")
	b.WriteString("  graph [rankdir=LR, label=" + quoted(g.Title) + ", labelloc=t, fontname=\"sans-serif\"];\n")
	b.WriteString("  node [shape=box, style=\"rounded,filled\", fontname=\"sans-serif\"];\n")
	for _, n := range g.Nodes {
		label := n.Label
		if n.Note != "" {
			label += "\n" + n.Note
		}
		style := ""
		switch n.Kind {
		case Internal:
			style = ", style=\"rounded,filled,dashed\""
		case Effect:
			style = ", shape=ellipse"
		case Published:
		}
		fmt.Fprintf(&b, "  %s [label=%s, tooltip=%s, fillcolor=%s%s];\n",
			quoted(n.Program), quoted(label), quoted(string(n.Kind)), quoted(tints[n.Tone]), style)
	}
	for i, needs := range g.needs() {
		for _, j := range needs {
			fmt.Fprintf(&b, "  %s -> %s;\n", quoted(g.Nodes[j].Program), quoted(g.Nodes[i].Program))
		}
	}
	b.WriteString("}\n")
	return []byte(b.String())
}

// quoted is a string of DOT, in which a backslash begins an escape of Graphviz.
func quoted(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(text) + `"`
}
