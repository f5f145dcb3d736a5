package graph

import (
	"bytes"
	_ "embed" // the template
	"fmt"
	"html/template"
	"unicode/utf8"
)

//go:embed graph.svg.tmpl
var svgText string

var svg = template.Must(template.New("graph.svg").Parse(svgText))

// Widths of a drawing, in CSS pixels.
const (
	letter   = 8.0  // of the widest usual sans-serif, at the size of a label
	padding  = 14.0 // left and right of a label
	narrow   = 110.0
	between  = 56.0 // columns, for the curves
	margin   = 8.0
	jointDot = 3.0
)

// picture is what the template draws.
type picture struct {
	Title, Words  string
	Width, Height float64
	Lines         []line
	Dots          []point
	Boxes         []box
	Radius        float64
	Run           bool
}

type point struct{ X, Y float64 }

type line struct {
	Path  string
	Arrow bool
}

type box struct {
	Node
	X, Y, Width, Height float64
	Round               float64
}

// SVG draws the graph: a picture that needs nothing beside it, in light colours or
// dark ones as its reader prefers.
func (g Graph) SVG() ([]byte, error) {
	var b bytes.Buffer
	if err := svg.Execute(&b, g.picture()); err != nil {
		return nil, fmt.Errorf("draw graph: %w", err)
	}
	return b.Bytes(), nil
}

func (g Graph) picture() picture {
	g = g.shown()
	d := layout(g.needs())
	p := picture{Title: g.Title, Words: g.words(), Radius: jointDot, Width: 2 * margin, Height: 2 * margin}
	lefts, widths := make([]float64, len(d.columns)), make([]float64, len(d.columns))
	x := margin
	for i, column := range d.columns {
		for _, v := range column {
			if n := d.vertices[v].node; n >= 0 {
				widths[i] = max(widths[i], g.Nodes[n].width())
			}
		}
		lefts[i] = x
		x += widths[i] + between
		p.Width = lefts[i] + widths[i] + margin
	}
	left := func(v int) point { return point{lefts[d.vertices[v].rank], d.vertices[v].y + margin} }
	right := func(v int) point {
		return point{left(v).X + widths[d.vertices[v].rank], left(v).Y}
	}
	for i, v := range d.vertices {
		p.Height = max(p.Height, left(i).Y+d.half(i)+margin)
		for _, to := range v.out {
			p.Lines = append(p.Lines, line{curve(right(i), left(to)), d.vertices[to].node >= 0})
		}
		switch {
		case v.node >= 0:
			n := g.Nodes[v.node]
			b := box{Node: n, X: left(i).X, Y: left(i).Y - boxHeight/2, Width: widths[v.rank], Height: boxHeight, Round: 6}
			if n.Kind == Effect {
				b.Round = boxHeight / 2
			}
			p.Run = p.Run || n.Tone != ""
			p.Boxes = append(p.Boxes, b)
		case widths[v.rank] > 0: // the line goes on under the boxes beside it
			p.Lines = append(p.Lines, line{curve(left(i), right(i)), false})
		}
		if v.joint {
			p.Dots = append(p.Dots, right(i))
		}
	}
	return p
}

// width is that of the box around the texts of a node.
func (n Node) width() float64 {
	letters := max(utf8.RuneCountInString(n.Label), utf8.RuneCountInString(n.Note))
	return max(narrow, float64(letters)*letter+2*padding)
}

// curve leads from one point to another, level at both ends.
func curve(from, to point) string {
	if from.Y == to.Y {
		return fmt.Sprintf("M%.1f %.1fH%.1f", from.X, from.Y, to.X)
	}
	middle := (from.X + to.X) / 2
	return fmt.Sprintf("M%.1f %.1fC%.1f %.1f %.1f %.1f %.1f %.1f", from.X, from.Y, middle, from.Y, middle, to.Y, to.X, to.Y)
}
