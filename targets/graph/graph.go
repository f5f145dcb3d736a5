// Package graph draws in which order the members of a group are taken up: what was
// declared, or one run with how each member ended and how long it took. It writes
// SVG, laid out here, and DOT for those who want to lay it out themselves.
package graph

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"fediversity.eu/slipway/internal/plaintext"
	"fediversity.eu/slipway/targets/report"
)

// Graph is programs and what each of them waits for.
type Graph struct {
	Title string
	Nodes []Node
}

// Node is one program.
type Node struct {
	Program string
	Label   string // machine or effect
	Note    string // one line about it
	Kind    Kind
	Tone    Tone     // of a run; empty when there was none
	Needs   []string // programs of the same graph; others are not drawn
}

// Kind is what a node stands for.
type Kind string

// The kinds of nodes.
const (
	Published Kind = "published machine"
	Internal  Kind = "internal machine"
	Effect    Kind = "effect"
)

// Of is the graph of a run, as its record tells it.
func Of(r *report.Record) Graph {
	g := Graph{Title: r.Program + ": " + r.Outcome}
	g.add(r, severalGroups(r.Members))
	return g
}

// severalGroups tells whether machines of one name, or effects, may be of different
// groups.
func severalGroups(members []*report.Record) bool {
	return slices.ContainsFunc(members, func(m *report.Record) bool { return m.Group != members[0].Group })
}

func (g *Graph) add(r *report.Record, several bool) {
	for _, member := range r.Members {
		g.add(member, several || severalGroups(r.Members))
	}
	if len(r.Members) > 0 || slices.ContainsFunc(g.Nodes, func(n Node) bool { return n.Program == r.Program }) {
		return
	}
	n := Node{Program: r.Program, Label: r.Machine, Kind: Published, Tone: ToneOf(r), Needs: r.Needs}
	switch {
	case r.Effect != "":
		n.Label, n.Kind = r.Effect, Effect
	case r.Machine == "":
		n.Label = r.Program
	}
	if several && n.Label != r.Program {
		n.Label = r.Group + " " + n.Label
	}
	n.Note = n.Tone.Mark() + " " + r.Outcome
	if n.Tone != Idle {
		n.Note += " · " + report.Duration(r.Ended.Sub(r.Started))
	}
	g.Nodes = append(g.Nodes, n)
}

// shown is the graph with texts that may stand in a drawing, whoever wrote the
// record that they are from.
func (g Graph) shown() Graph {
	g.Title, g.Nodes = plaintext.Shown(g.Title), slices.Clone(g.Nodes)
	for i := range g.Nodes {
		n := &g.Nodes[i]
		n.Program, n.Label, n.Note = plaintext.Shown(n.Program), plaintext.Shown(n.Label), plaintext.Shown(n.Note)
		n.Needs = slices.Clone(n.Needs)
		for k, need := range n.Needs {
			n.Needs[k] = plaintext.Shown(need)
		}
	}
	return g
}

// needs lists what each node waits for, as indices: only what nothing else that it
// waits for waits for already, so that the order is the same with fewer lines.
func (g Graph) needs() [][]int {
	at := map[string]int{}
	for i, n := range g.Nodes {
		at[n.Program] = i
	}
	direct := make([][]int, len(g.Nodes))
	for i, n := range g.Nodes {
		for _, need := range n.Needs {
			if j, ok := at[need]; ok && j != i && !slices.Contains(direct[i], j) {
				direct[i] = append(direct[i], j)
			}
		}
	}
	all := closure(direct)
	reduced := make([][]int, len(g.Nodes))
	for i, needs := range direct {
		for _, j := range needs {
			if !slices.ContainsFunc(needs, func(k int) bool { return k != j && all[k][j] }) {
				reduced[i] = append(reduced[i], j)
			}
		}
	}
	return reduced
}

// closure gives everything that each node waits for, directly or not. A circle,
// which only a record that nobody's run wrote can have, is cut where it closes.
func closure(direct [][]int) []map[int]bool {
	const visiting, done = 1, 2
	all, state := make([]map[int]bool, len(direct)), make([]int, len(direct))
	var visit func(i int)
	visit = func(i int) {
		all[i], state[i] = map[int]bool{}, visiting
		direct[i] = slices.DeleteFunc(direct[i], func(j int) bool {
			if state[j] == visiting {
				return true
			}
			if state[j] != done {
				visit(j)
			}
			all[i][j] = true
			maps.Copy(all[i], all[j])
			return false
		})
		state[i] = done
	}
	for i := range direct {
		if state[i] != done {
			visit(i)
		}
	}
	return all
}

// words says the order in words, for those who don't see a picture.
func (g Graph) words() string {
	needs := g.needs()
	var b strings.Builder
	for i, n := range g.Nodes {
		fmt.Fprintf(&b, "%s (%s", n.Label, n.Kind)
		if n.Note != "" && n.Note != string(n.Kind) {
			b.WriteString(", " + n.Note)
		}
		b.WriteString(")")
		for k, j := range needs[i] {
			b.WriteString([]string{" after ", ", "}[min(k, 1)] + g.Nodes[j].Label)
		}
		b.WriteString(". ")
	}
	return strings.TrimSpace(b.String())
}
