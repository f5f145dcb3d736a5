package graph

import (
	"fmt"
	"slices"
)

// vertex is something with a place in a drawing: a node, a junction where many
// lines meet, or a bend of a line that passes a column.
type vertex struct {
	node  int // of the graph, or -1
	joint bool
	rank  int // column
	y     float64
	in    []int // vertices
	out   []int
}

// drawing is vertices in columns, from what comes first to what comes last.
type drawing struct {
	vertices []vertex
	columns  [][]int // vertices, from above
}

// layout places a graph in layers: every vertex in the column after the last of
// those that it waits for, and within a column where its lines are straightest.
// The parts of a graph that nothing connects stand below each other.
func layout(needs [][]int) drawing {
	d := withJoints(needs)
	parts := d.parts()
	d.rank()
	d.bend()
	for _, v := range d.vertices[len(parts):] { // a bend is of the part that it comes from
		parts = append(parts, parts[v.in[0]])
	}
	below := 0.0
	columns := make([][]int, 0)
	for part := range slices.Max(append(parts, -1)) + 1 {
		of := d.part(parts, part)
		d.order(of)
		below = d.place(of, below) + gap
		for len(columns) < len(of) {
			columns = append(columns, nil)
		}
		for i, column := range of {
			columns[i] = append(columns[i], column...)
		}
	}
	d.columns = columns
	return d
}

// withJoints makes vertices of the nodes. Where several wait for the same several,
// their lines meet in a joint: 20 lines instead of 100 between 10 and 10.
func withJoints(needs [][]int) drawing {
	d := drawing{vertices: make([]vertex, len(needs))}
	waiting := map[string][]int{}
	for i, before := range needs {
		d.vertices[i].node = i
		slices.Sort(before)
		if len(before) > 1 {
			waiting[fmt.Sprint(before)] = append(waiting[fmt.Sprint(before)], i)
		}
	}
	for i, before := range needs {
		alike := waiting[fmt.Sprint(before)]
		if len(alike) < 2 {
			for _, j := range before {
				d.link(j, i)
			}
			continue
		}
		if alike[0] != i {
			continue
		}
		joint := len(d.vertices)
		d.vertices = append(d.vertices, vertex{node: -1, joint: true})
		for _, j := range before {
			d.link(j, joint)
		}
		for _, j := range alike {
			d.link(joint, j)
		}
	}
	return d
}

func (d *drawing) link(from, to int) {
	d.vertices[from].out = append(d.vertices[from].out, to)
	d.vertices[to].in = append(d.vertices[to].in, from)
}

// parts numbers for each vertex the connected part that it is in.
func (d *drawing) parts() []int {
	parts := make([]int, len(d.vertices))
	next := 0
	for i := range parts {
		if parts[i] != 0 {
			continue
		}
		next++
		reach := []int{i}
		for len(reach) > 0 {
			v := reach[len(reach)-1]
			reach = reach[:len(reach)-1]
			if parts[v] == 0 {
				parts[v] = next
				reach = append(append(reach, d.vertices[v].in...), d.vertices[v].out...)
			}
		}
	}
	for i := range parts {
		parts[i]--
	}
	return parts
}

// rank puts every vertex into a column.
func (d *drawing) rank() {
	left := make([]int, len(d.vertices))
	var free []int
	for i, v := range d.vertices {
		if left[i] = len(v.in); left[i] == 0 {
			free = append(free, i)
		}
	}
	for len(free) > 0 {
		v := d.vertices[free[0]]
		free = free[1:]
		for _, to := range v.out {
			d.vertices[to].rank = max(d.vertices[to].rank, v.rank+1)
			if left[to]--; left[to] == 0 {
				free = append(free, to)
			}
		}
	}
}

// bend cuts lines that pass columns into pieces from one column to the next.
func (d *drawing) bend() {
	for from := range len(d.vertices) {
		for k, to := range d.vertices[from].out {
			last := from
			for rank := d.vertices[from].rank + 1; rank < d.vertices[to].rank; rank++ {
				bend := len(d.vertices)
				d.vertices = append(d.vertices, vertex{node: -1, rank: rank, in: []int{last}, out: []int{to}})
				if last == from {
					d.vertices[from].out[k] = bend
				} else {
					d.vertices[last].out[0] = bend
				}
				last = bend
			}
			if last != from {
				in := d.vertices[to].in
				in[slices.Index(in, from)] = last
			}
		}
	}
}

// part lists the columns of one part.
func (d *drawing) part(parts []int, part int) [][]int {
	var columns [][]int
	for i, v := range d.vertices {
		if parts[i] != part {
			continue
		}
		for len(columns) <= v.rank {
			columns = append(columns, nil)
		}
		columns[v.rank] = append(columns[v.rank], i)
	}
	return columns
}
