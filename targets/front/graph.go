package front

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"fediversity.eu/slipway/internal/durable"
	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/graph"
	"fediversity.eu/slipway/targets/program"
	"fediversity.eu/slipway/targets/report"
	"fediversity.eu/slipway/targets/task"
)

// graphKeys are what the command reads.
type graphKeys struct {
	Format string   `env:"GRAPH_FORMAT,default=svg" scope:"run" oneof:"svg,dot" desc:"form of a graph: a picture, or the language of Graphviz"`
	File   env.Path `env:"GRAPH_FILE" scope:"run" desc:"file to write a graph to, instead of standard output"`
}

// graph draws the order in which a group is taken up, or what a record tells of a
// run.
func (f Front) graph(words []string) report.Code {
	if err := f.drawGraph(context.Background(), env.Process(), words); err != nil {
		explain(plainly(), err)
		return report.CodeOf(err)
	}
	return report.Healthy
}

func (f Front) drawGraph(ctx context.Context, environment env.Environment, words []string) error {
	var keys graphKeys
	if err := environment.Load(ctx, env.For{Alone: true}, &keys); err != nil {
		return &report.Fault{Code: report.Usage, What: "read the coordinates", Why: err, Hint: "slipway help says what it takes"}
	}
	if keys.File != "" {
		if err := durable.Writable(string(keys.File)); err != nil {
			return &report.Fault{Code: report.Usage, What: "read the coordinates", Why: fmt.Errorf("GRAPH_FILE: %w", err), Hint: "GRAPH_FILE names a file in a folder that is there"}
		}
	}
	g, err := f.graphOf(words)
	if err != nil {
		return err
	}
	text := g.DOT()
	if keys.Format == "svg" {
		if text, err = g.SVG(); err != nil {
			return err
		}
	}
	if keys.File == "" {
		err = deliver(os.Stdout, text)
	} else {
		err = durable.Write(string(keys.File), text)
	}
	if err != nil {
		return report.Fail("write the graph", err, "GRAPH_FILE names a file in a folder that is there")
	}
	return nil
}

// graphOf finds what is to be drawn: every group, one group, what one program runs,
// or the run that a record tells of.
func (f Front) graphOf(words []string) (graph.Graph, error) {
	if len(words) > 1 {
		return graph.Graph{}, &report.Fault{
			Code: report.Usage, What: "read the command line", Why: errors.New("graph: one group, program or record at a time"),
		}
	}
	registry, err := f.Registry()
	if err != nil {
		return graph.Graph{}, err
	}
	var g graph.Graph
	for _, group := range registry.Groups() {
		if len(words) > 0 && !strings.EqualFold(words[0], group.Name) {
			continue
		}
		if len(words) == 0 && len(group.Parts) > 0 {
			continue // its parts are drawn
		}
		if p, ok := registry.Find(group.Name + "-" + string(program.Combined)); ok {
			g.Nodes = append(g.Nodes, nodesOf(registry, p, len(words) == 0)...)
			g.Title = p.Short
		}
	}
	switch {
	case len(words) == 0:
		g.Title = "every group"
		return g, nil
	case len(g.Nodes) > 0:
		return g, nil
	}
	if p, ok := registry.Find(words[0]); ok {
		return graph.Graph{Title: p.Name, Nodes: nodesOf(registry, p, false)}, nil
	}
	return graphOfRecord(registry, words[0])
}

// nodesOf lists the programs that one runs; itself, when it runs no others.
func nodesOf(r *program.Registry, p program.Program, several bool) []graph.Node {
	members := r.Members(p)
	if !p.Aggregate() {
		members = []program.Program{p}
	}
	needs := r.Needs(p)
	var nodes []graph.Node
	for _, m := range members {
		n := graph.Node{Program: m.Name, Label: m.Machine + m.Effect, Kind: graph.Published, Needs: needs[m.Name]}
		switch {
		case m.Effect != "":
			n.Kind = graph.Effect
		case m.Internal:
			n.Kind = graph.Internal
		}
		n.Note = string(n.Kind)
		if several || m.Group != p.Group {
			n.Label = m.Group + " " + n.Label
		}
		if m.Verb != task.Apply && m.Verb != "" {
			n.Note = m.Verb + ", " + n.Note
		}
		nodes = append(nodes, n)
	}
	return nodes
}

func graphOfRecord(r *program.Registry, path string) (graph.Graph, error) {
	record, err := report.ReadRecord(path)
	switch {
	case err == nil:
		return graph.Of(record), nil
	case errors.Is(err, os.ErrNotExist):
		var names []string
		for _, group := range r.Groups() {
			names = append(names, group.Name)
		}
		err = fmt.Errorf("%q is no group (%s), no program and no file", path, strings.Join(names, ", "))
	}
	return graph.Graph{}, &report.Fault{
		Code: report.Usage, What: "find what to draw", Why: err, Hint: "slipway list shows every program; REPORT makes a run write its record",
	}
}
