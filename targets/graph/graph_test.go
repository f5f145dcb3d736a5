package graph

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"
	"gotest.tools/v3/golden"

	"fediversity.eu/slipway/checks/reports"
	"fediversity.eu/slipway/targets/report"
)

// declared is a graph with a joint, a line past a column, and two parts.
func declared() Graph {
	return Graph{Title: `group "of a test"`, Nodes: []Node{
		{Program: "web", Label: "web", Note: "published machine", Kind: Published, Needs: []string{"db", "cache"}},
		{Program: "forge", Label: "forge", Note: "published machine", Kind: Published, Needs: []string{"cache", "db"}},
		{Program: "db", Label: "db", Note: "internal machine", Kind: Internal},
		{Program: "cache", Label: "cache", Note: "internal machine", Kind: Internal},
		{Program: "hv", Label: "hv", Note: `back\slash & <angle>`, Kind: Published},
		{Program: "dns", Label: "dns", Note: "effect", Kind: Effect, Needs: []string{"web", "forge", "db", "cache", "hv", "elsewhere"}},
		{Program: "alone", Label: "alone", Note: "published machine", Kind: Published, Needs: []string{"alone"}},
	}}
}

func TestPictures(t *testing.T) {
	for name, g := range map[string]Graph{"declared": declared(), "run": Of(reports.Combined(5))} {
		t.Run(name, func(t *testing.T) {
			picture, err := g.SVG()
			assert.NilError(t, err)
			wellFormed(t, picture)
			for _, n := range g.Nodes {
				assert.Assert(t, bytes.Contains(picture, []byte(">"+n.Label+"</text>")), n.Label)
			}
			golden.AssertBytes(t, picture, name+".svg.golden")
			dot := g.DOT()
			assert.Equal(t, bytes.Count(dot, []byte(" [label=")), len(g.Nodes))
			golden.AssertBytes(t, dot, name+".dot.golden")
		})
	}
}

func wellFormed(t *testing.T, document []byte) {
	t.Helper()
	decoder := xml.NewDecoder(bytes.NewReader(document))
	for {
		if _, err := decoder.Token(); err != nil {
			assert.Assert(t, errors.Is(err, io.EOF), "%v", err)
			return
		}
	}
}

func TestADrawingIsWellFormedWhateverItsRecordHolds(t *testing.T) {
	const hostile = "\x1b[2J\u202ex\u2028\xff\x00\ufffe\n"
	r := reports.Combined(3)
	r.Program, r.Outcome = hostile, hostile
	r.Members[0].Machine, r.Members[1].Outcome, r.Members[1].Program = hostile, hostile, hostile
	r.Members[2].Needs = []string{hostile}
	g := Of(r)
	picture, err := g.SVG()
	assert.NilError(t, err)
	wellFormed(t, picture)
	for _, drawing := range [][]byte{picture, g.DOT()} {
		assert.Assert(t, !bytes.ContainsAny(drawing, "\x1b\u202e\u2028\x00\ufffe"))
	}
}

func TestOnlyLinesThatSayMore(t *testing.T) {
	g := declared()
	got := map[string][]string{}
	for i, needs := range g.needs() {
		for _, j := range needs {
			got[g.Nodes[i].Label] = append(got[g.Nodes[i].Label], g.Nodes[j].Label)
		}
	}
	assert.DeepEqual(t, got, map[string][]string{"web": {"db", "cache"}, "forge": {"cache", "db"}, "dns": {"web", "forge", "hv"}})
}

func TestCirclesAreCut(t *testing.T) {
	g := Graph{Nodes: []Node{
		{Program: "a", Needs: []string{"c"}}, {Program: "b", Needs: []string{"a"}}, {Program: "c", Needs: []string{"b"}},
	}}
	lines := 0
	for _, needs := range g.needs() {
		lines += len(needs)
	}
	assert.Equal(t, lines, 2)
	_, err := g.SVG()
	assert.NilError(t, err)
}

func TestAGraphOfNothingIsAPicture(t *testing.T) {
	picture, err := Graph{Title: "nothing"}.SVG()
	assert.NilError(t, err)
	wellFormed(t, picture)
}

func TestToneOfEveryCode(t *testing.T) {
	tones := map[report.Code]Tone{
		report.Healthy: Good, report.Failed: Bad, report.Usage: Bad, report.Unhealthy: Bad, report.Refused: Caution, report.Unknown: Unsure,
		report.RebootNeeded: Caution, report.Busy: Caution, report.Interrupted: Unsure, report.Terminated: Unsure,
	}
	for code, want := range tones {
		assert.Equal(t, ToneOf(&report.Record{ExitCode: code, Outcome: code.String()}), want, code.String())
	}
	assert.Equal(t, ToneOf(&report.Record{ExitCode: report.Failed, Outcome: report.NotStarted}), Idle)
	marks := map[string]bool{}
	for _, tone := range []Tone{Good, Bad, Caution, Unsure, Idle} {
		marks[tone.Mark()] = true
	}
	assert.Assert(t, cmp.Len(marks, 5), "no two tones have one mark")
}

// TestLayout holds every drawing to what makes it readable: lines go from left to
// right, one column at a time, and nothing lies on anything else.
func TestLayout(t *testing.T) {
	for _, c := range []struct {
		name      string
		needs     [][]int
		crossings int
	}{
		{"one", [][]int{nil}, 0},
		{"a chain", [][]int{{1}, {2}, nil}, 0},
		{"crossed when declared", [][]int{nil, nil, {1}, {0}}, 0},
		{"a line past two columns", [][]int{nil, {0}, {1}, {2, 4}, nil}, 0},
		{"a joint", [][]int{nil, nil, nil, {0, 1, 2}, {0, 1, 2}, {0, 1, 2}}, 0},
		{"parts", [][]int{nil, {0}, nil, {2}, nil}, 0},
		{"what can't be drawn without", [][]int{nil, nil, nil, {0, 1}, {1, 2}, {0, 2}}, 2},
		{"many", many(), 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := layout(c.needs)
			at := map[int]float64{}
			for _, column := range d.columns {
				for i, v := range column {
					at[v] = d.vertices[v].y
					if i == 0 {
						assert.Assert(t, at[v]-d.half(v) > -0.01)
						continue
					}
					before := column[i-1]
					assert.Assert(t, at[v]-d.half(v) > at[before]+d.half(before)+gap-0.01, "%d lies on %d", v, before)
				}
			}
			for i, v := range d.vertices {
				for _, to := range v.out {
					assert.Equal(t, d.vertices[to].rank, v.rank+1, "%d to %d", i, to)
				}
			}
			assert.Equal(t, d.crossings(d.columns, at), c.crossings)
		})
	}
}

// many is 20 that all of 400 wait for, and one that waits for these.
func many() [][]int {
	needs := make([][]int, 421)
	for i := range 400 {
		for j := range 20 {
			needs[20+i] = append(needs[20+i], j)
		}
		needs[420] = append(needs[420], 20+i)
	}
	return needs
}

func TestAJointSavesLines(t *testing.T) {
	d := layout(many())
	lines := 0
	for _, v := range d.vertices {
		lines += len(v.out)
	}
	assert.Equal(t, lines, 20+400+400)
}

func BenchmarkSVG(b *testing.B) {
	for _, machines := range []int{5, 500} {
		g := Of(reports.Combined(machines))
		b.Run(fmt.Sprint(machines), func(b *testing.B) {
			for b.Loop() {
				if _, err := g.SVG(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
