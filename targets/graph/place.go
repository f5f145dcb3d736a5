package graph

import (
	"cmp"
	"slices"
)

// Sizes of a drawing, in CSS pixels.
const (
	boxHeight = 46.0
	gap       = 14.0 // between boxes of a column
	thin      = 10.0 // what a line or a joint takes of a column
	sweeps    = 12   // after which drawings of groups no longer change
)

// order sorts each column by where the neighbours of its vertices are, from the
// left and from the right in turn, and keeps the order with the fewest crossings.
func (d *drawing) order(columns [][]int) {
	at := make(map[int]float64)
	number := func(column []int) {
		for i, v := range column {
			at[v] = float64(i)
		}
	}
	for _, column := range columns {
		number(column)
	}
	best, fewest := clone(columns), d.crossings(columns, at)
	for sweep := 0; sweep < sweeps && fewest > 0; sweep++ {
		for i := range columns {
			side := func(v int) []int { return d.vertices[v].in }
			if sweep%2 == 1 {
				i = len(columns) - 1 - i
				side = func(v int) []int { return d.vertices[v].out }
			}
			middle := map[int]float64{}
			for _, v := range columns[i] {
				middle[v] = mean(side(v), at, at[v])
			}
			slices.SortStableFunc(columns[i], func(a, b int) int { return cmp.Compare(middle[a], middle[b]) })
			number(columns[i])
		}
		if n := d.crossings(columns, at); n < fewest {
			best, fewest = clone(columns), n
		}
	}
	for i := range columns {
		copy(columns[i], best[i])
	}
}

func clone(columns [][]int) [][]int {
	all := make([][]int, len(columns))
	for i, column := range columns {
		all[i] = slices.Clone(column)
	}
	return all
}

// mean is the middle of where vertices are, and otherwise where there are none.
func mean(vertices []int, at map[int]float64, otherwise float64) float64 {
	if len(vertices) == 0 {
		return otherwise
	}
	sum := 0.0
	for _, v := range vertices {
		sum += at[v]
	}
	return sum / float64(len(vertices))
}

// crossings counts the pairs of lines that cross between neighbouring columns.
func (d *drawing) crossings(columns [][]int, at map[int]float64) int {
	count := 0
	for _, column := range columns {
		var ends []float64 // of the lines so far, sorted
		for _, v := range column {
			mine := make([]float64, 0, len(d.vertices[v].out))
			for _, to := range d.vertices[v].out {
				mine = append(mine, at[to])
			}
			for _, end := range mine {
				i, _ := slices.BinarySearch(ends, end+0.5) // those that end below
				count += len(ends) - i
			}
			ends = append(ends, mine...)
			slices.Sort(ends)
		}
	}
	return count
}

// place gives the vertices of a part their heights, from top on, and returns where
// the part ends. Each moves as near to the middle of its neighbours as the others
// of its column let it.
func (d *drawing) place(columns [][]int, top float64) float64 {
	at := map[int]float64{}
	for _, column := range columns {
		d.settle(column, at, func(int) float64 { return 0 })
	}
	for sweep := range sweeps {
		for i := range columns {
			if sweep%2 == 1 {
				i = len(columns) - 1 - i
			}
			d.settle(columns[i], at, func(v int) float64 {
				return mean(slices.Concat(d.vertices[v].in, d.vertices[v].out), at, at[v])
			})
		}
	}
	above, below := 0.0, 0.0
	for i, column := range columns {
		first, last := column[0], column[len(column)-1]
		if i == 0 {
			above, below = at[first], at[last]
		}
		above = min(above, at[first]-d.half(first))
		below = max(below, at[last]+d.half(last))
	}
	for v, y := range at {
		d.vertices[v].y = y - above + top
	}
	return top + below - above
}

func (d *drawing) half(v int) float64 {
	if d.vertices[v].node < 0 {
		return thin / 2
	}
	return boxHeight / 2
}

// settle moves the vertices of a column to where they want to be, in their order
// and apart from each other, so that the squares of what is left are least: those
// that would overlap move as one block, to the mean of their wishes.
func (d *drawing) settle(column []int, at map[int]float64, wish func(int) float64) {
	type block struct{ sum, count float64 }
	offsets := make([]float64, len(column))
	var blocks []block
	for i, v := range column {
		if i > 0 {
			offsets[i] = offsets[i-1] + d.half(column[i-1]) + gap + d.half(v)
		}
		blocks = append(blocks, block{wish(v) - offsets[i], 1})
		for n := len(blocks); n > 1 && blocks[n-2].sum/blocks[n-2].count >= blocks[n-1].sum/blocks[n-1].count; n-- {
			blocks[n-2] = block{blocks[n-2].sum + blocks[n-1].sum, blocks[n-2].count + blocks[n-1].count}
			blocks = blocks[:n-1]
		}
	}
	i := 0
	for _, b := range blocks {
		for range int(b.count) {
			at[column[i]] = b.sum/b.count + offsets[i]
			i++
		}
	}
}
